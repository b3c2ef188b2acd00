#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What banyan reads of machines: objects of each level, the CPUs and memories of NUMA nodes, what is near
# to devices; against a reader of hwloc's XML that was written from doc/placement.rst alone. Of the
# machines of test/data, and where HWLOC_MACHINES names a copy of hwloc's tests/hwloc
# (contrib/testbed/hwloc-machines.sh) of all in there: XML, and copies of /sys, which lstopo reads for
# the comparison: AMD of several NUMA nodes in a package, Intel with sub-NUMA clusters and NVM, KNL with
# MCDRAM, SGI, POWER, GPUs, networks.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"

command -v python3 >/dev/null || skip_all "there is no python3"

# reads NAME MACHINE...
reads() {
    local name=$1
    shift
    run python3 -B "$srcdir/test/tool/topology_reference.py" "$banyan" "$@"
    is "$status" 0 "$name are read as the documentation says"
    diag "$out$err"
}

reads "own machines" "$srcdir"/test/data/*.xml
if [ ! -d "${HWLOC_MACHINES:-/nowhere}" ]; then
    skip "HWLOC_MACHINES names no copy of hwloc's tests/hwloc (contrib/testbed/hwloc-machines.sh makes one)"
    done_testing
fi
reads "XML files of hwloc's tests" "$HWLOC_MACHINES"/xml/*.xml
like "$out" '[2-9][0-9] machines, 0 differ$' "which are many"
if ! command -v lstopo-no-graphics >/dev/null; then
    skip "lstopo-no-graphics is missing: package hwloc-nox"
    done_testing
fi
for archive in "$HWLOC_MACHINES"/linux/*.tar.bz2 "$HWLOC_MACHINES"/x86+linux/*.tar.bz2; do
    mkdir -p "$scratch/machines/${archive##*/}"
    tar -xjf "$archive" -C "$scratch/machines/${archive##*/}"
done
mapfile -t machines < <(find "$scratch/machines" -mindepth 3 -maxdepth 4 -type d -name sys -printf '%h\n')
reads "copies of /sys of hwloc's tests" "${machines[@]}"
like "$out" '[2-9][0-9] machines, 0 differ$' "which are many, too"
done_testing

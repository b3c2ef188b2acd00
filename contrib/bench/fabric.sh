#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# fabric.sh [NODES [BYTES [RUNS]]]: a PMIx fence that collects BYTES of each of NODES ranks, one per
# virtual node, over TLS links alone and with libfabric beside them, in turn: medians and the ratio.
# Every rank checks the bytes of the next. `make bench-fabric` runs it.
set -eu
nodes=${1:-64}
bytes=${2:-65536}
runs=${3:-3}
provider=${PROVIDER:-tcp;ofi_rxm}
: "${top_builddir:?make bench-fabric sets it}"
export BANYAN_PKGLIBDIR=$top_builddir/.libs BANYAN_DAEMON=$top_builddir/banyand

declare -A times
# one NAME FABRIC
one() {
    local line
    line=$("$top_builddir/banyan" run --virtual-nodes "$nodes" -n "$nodes" --per-node 1 \
        --fabric "$2" --start-timeout 120 --timeout 300 "$top_builddir/contrib/bench/fence" "$nodes" "$bytes" \
        </dev/null)
    read -r _ _ _ nanoseconds <<<"$line"
    times[$1]+="$((nanoseconds / 1000)) "
}

median() {
    tr ' ' '\n' <<<"$1" | grep . | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

for ((i = 0; i < runs; i++)); do
    one tcp tcp
    one ofi "ofi:$provider"
done
tcp=$(median "${times[tcp]}")
ofi=$(median "${times[ofi]}")
printf 'fence of %s ranks, %s bytes each: tcp %s us, %s %s us, ratio %s\n' "$nodes" "$bytes" \
    "$tcp" "$provider" "$ofi" "$(awk -v a="$ofi" -v b="$tcp" 'BEGIN { printf "%.2f", a / b }')"

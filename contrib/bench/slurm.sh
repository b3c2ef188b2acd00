#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# slurm.sh [RUNS]: `true`, one on each of 16 nodes, in a real Slurm on this machine: by srun, by banyan, which starts its
# daemons by srun, and by banyan in an instance. In turn; medians, and banyan's ratio to srun. `make bench-slurm` runs it.
set -eu
runs=${1:-7}
nodes=16
srcdir=$(cd "${srcdir:-$(dirname "$0")/../..}" && pwd)
: "${top_builddir:?make bench-slurm sets it}"
export srcdir top_builddir BANYAN_PKGLIBDIR=$top_builddir/.libs BANYAN_DAEMON=$top_builddir/banyand BANYAN_CONFIG=none
if [ -z "${SLURM_TESTBED:-}" ]; then
    exec "$srcdir/contrib/testbed/with-slurm.sh" $nodes 4 bash "$srcdir/contrib/bench/slurm.sh" "$runs"
fi
if [ -z "${SLURM_JOB_ID:-}" ]; then
    exec salloc -Q -N$nodes -n$nodes bash "$srcdir/contrib/bench/slurm.sh" "$runs"
fi
export TMPDIR=$SLURM_TESTBED

declare -A times
# one NAME COMMAND...
one() {
    local name=$1 start_ns
    shift
    start_ns=$(date +%s%N)
    "$@" </dev/null
    times[$name]+="$((($(date +%s%N) - start_ns) / 1000)) "
}

# median NAME
median() {
    tr ' ' '\n' <<<"${times[$1]}" | grep . | tail -n +2 | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

instance=$("$top_builddir/banyan" start --daemonize </dev/null)
trap '"$top_builddir/banyan" stop --instance "$instance"' EXIT
# The first of each is not counted.
for ((i = 0; i <= runs; i++)); do
    one srun srun --overlap -N$nodes -n$nodes --ntasks-per-node=1 true
    one cold "$top_builddir/banyan" run --instance none --per-node 1 true
    one warm "$top_builddir/banyan" run --instance "$instance" --per-node 1 true
done
srun_us=$(median srun)
for name in cold warm; do
    awk -v name=$name -v us="$(median $name)" -v srun="$srun_us" -v nodes=$nodes 'BEGIN {
        printf "true on %d nodes of Slurm: banyan %s %.1f ms, srun %.1f ms, ratio %.2f\n", nodes, name, us / 1000, srun / 1000, us / srun }'
done

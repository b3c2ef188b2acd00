#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# bench.sh [--runs N] [--only PATTERN] [--systems LIST] [--json FILE] [--list]
#
# banyan beside the launchers of Debian, on this machine: cold starts on virtual nodes behind one
# and the same fake ssh, many processes on one node, MPI programs, PMIx fences, and what a daemon
# costs. Per case the systems take turns, one run not counted and then N (5); the table has the
# medians and banyan's ratio to each. Every run is checked: exit status, number of processes that
# really ran, nothing left running. Beside each case stand the yardsticks of the same minute.
#
# Nothing else should run meanwhile. `make bench` builds what is needed and calls this.
set -u
srcdir=$(cd "${srcdir:-$(dirname "$0")/../..}" && pwd)
top_builddir=$(cd "${top_builddir:-$srcdir}" && pwd)
export srcdir top_builddir
here=$srcdir/contrib/bench
tools=$top_builddir/contrib/bench
ssh_agent=$top_builddir/contrib/testbed/fakessh

# orterun wants names that resolve; everyone gets them.
if [ -z "${BANYAN_BENCH_HOSTS:-}" ]; then
    BANYAN_BENCH_HOSTS=1 exec "$srcdir/contrib/testbed/with-hosts.sh" 512 bash "$here/bench.sh" "$@"
fi

runs=5
only=
wanted="banyan hydra orterun prterun"
json=
list=no
while [ $# -gt 0 ]; do
    case $1 in
    --runs) runs=$2; shift ;;
    --only) only=$2; shift ;;
    --systems) wanted=${2//,/ }; shift ;;
    --json) json=$2; shift ;;
    --list) list=yes ;;
    *) sed -n '4p' "$here/bench.sh" | cut -c3- >&2; exit 2 ;;
    esac
    shift
done

. "$here/systems.sh"
. "$here/measure.sh"
. "$here/instance.sh"

# CASE UNIT KIND NODES PER_NODE SYSTEMS TITLE; measure.sh and instance.sh say what each kind does.
# Some give several cases.
cases() {
    cat <<'TABLE'
start-16 ms start 16 1 banyan,hydra,orterun,prterun true, 1 on each of 16 nodes
start-64 ms start 64 1 banyan,hydra,orterun,prterun true, 1 on each of 64 nodes
start-256 ms start 256 1 banyan,hydra,orterun,prterun true, 1 on each of 256 nodes
local-2 ms start 0 2 banyan,hydra,orterun,prterun true, 2 on this node
local-64 ms start 0 64 banyan,hydra,orterun,prterun true, 64 on this node
local-256 ms start 0 256 banyan,hydra,orterun,prterun true, 256 on this node
openmpi-64 ms openmpi 64 1 banyan,orterun,prterun Open MPI hello, 1 on each of 64 nodes
openmpi-local ms openmpi 0 64 banyan,orterun,prterun Open MPI hello, 64 on this node
mpich-64 ms mpich 64 1 banyan,hydra MPICH hello, 1 on each of 64 nodes
mpich-local ms mpich 0 64 banyan,hydra MPICH hello, 64 on this node
fence-16x2 us fence 16 2 banyan,orterun,prterun PMIx fence, 2 on each of 16 nodes
fence-64x2 us fence 64 2 banyan,orterun,prterun PMIx fence, 2 on each of 64 nodes
fence-256x1 us fence 256 1 banyan,orterun,prterun PMIx fence, 1 on each of 256 nodes
fence-8k us fence_8k 64 4 banyan,orterun,prterun PMIx fence, 4 on each of 64 nodes
tasks-16 ms tasks 16 4 banyan 10,000 tasks of true, 4 slots on each of 16 nodes
daemon-16 ms daemon 16 1 banyan,hydra,orterun,prterun daemon on 16 nodes
start-512 ms start 512 1 banyan,hydra true, 1 on each of 512 nodes
warm-64 ms warm 64 1 banyan job of one process, instance of 64 nodes
warm-256 ms all 256 1 banyan true on all nodes of an instance of 256
idle-512 KiB idle 512 1 banyan idle daemon of 512 nodes
output-16 ms output 16 4 banyan 32 MiB of lines, 4 ranks on each of 16 nodes
push-32 ms push 32 1 banyan push of 64 MiB to 32 nodes
TABLE
}
if [ $list = yes ]; then
    cases
    exit 0
fi

scratch=$(mktemp -d "${TMPDIR:-/tmp}/bb.XXXXXX") || exit 1
leave() {
    [ -z "${BANYAN_INSTANCE:-}" ] || "$top_builddir/banyan" stop --now
    rm -rf "$scratch"
}
trap leave EXIT
raw=$scratch/raw
prepare || exit 1

systems=()
for system in $wanted; do
    version=$("version_$system" 2>/dev/null)
    if [ -n "$version" ]; then
        systems+=("$system")
        record machine "$system" "$version"
        record system "$system"
    else
        echo "bench.sh: $system is not here: left out" >&2
    fi
done

# takes_part SYSTEM LIST
takes_part() {
    [[ ,$2, == *,$1,* ]]
}

while read -r name unit kind nodes per_node who title; do
    [[ -z $only || $name =~ $only ]] || continue
    announce_"$kind" "$name" "$unit" "$title"
    yardsticks "$name" "$kind"
    for ((turn = 0; turn <= runs; turn++)); do
        # Each round starts with another system.
        for ((i = 0; i < ${#systems[@]}; i++)); do
            system=${systems[(i + turn) % ${#systems[@]}]}
            takes_part "$system" "$who" || continue
            echo "bench.sh: $name, $system, run $turn of $runs" >&2
            measure_"$kind" "$name" "$system" "$nodes" "$per_node" $((turn > 0))
        done
    done
done < <(cases)

awk -f "$here/report.awk" "$raw"
[ -z "$json" ] || awk -v format=json -f "$here/report.awk" "$raw" >"$json"
! grep -q $'^sample\t[^\t]*\tbanyan\t-' "$raw"

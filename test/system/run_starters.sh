#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The commands with which schedulers start something on one node: each is a stand-in here that treats words, shell, input
# and environment as the real one does, and starts the daemon on a virtual node of its own (fakessh).
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/leftovers.sh"

export FAKESSH=$top_builddir/contrib/testbed/fakessh FAKESSH_BASE=$TMPDIR/nodes FAKESSH_ISOLATE=no
export CALLS=$scratch/calls FAKESSH_KEEP=CALLS,FAKESSH
mkdir "$scratch/bin" "$scratch/boot"
for host in n1 n2 n3 n4; do mkdir -p "$FAKESSH_BASE/$host"; done
files_before=$(left_files)
nodes="n1"$'\n'n2$'\n'n3$'\n'n4
printf '%s\n' "$nodes" >"$scratch/nodefile"
sed 's/$/ 1 all.q UNDEFINED/' "$scratch/nodefile" >"$scratch/pe"

# stand_in NAME: a program of that name; the body is on stdin.
stand_in() {
    {
        echo '#!/bin/bash'
        echo 'echo "${0##*/} $*" >>"$CALLS"'
        # Words as they are, without another shell: what execve would do.
        echo 'quoted() { local word; for word; do printf "%q " "$word"; done; }'
        cat
    } >"$scratch/bin/$1"
    chmod +x "$scratch/bin/$1"
}

stand_in pbs_tmrsh <<'A'
exec "$FAKESSH" "$@"
A
# Starts without a shell, and without input.
stand_in pbsdsh <<'A'
[ "$1" = -h ] || { echo "pbsdsh: -h HOST is missing" >&2; exit 1; }
host=$2
shift 2
exec "$FAKESSH" "$host" "$(quoted "$@")" </dev/null
A
stand_in blaunch <<'A'
host=$1
shift
exec "$FAKESSH" "$host" "$(quoted "$@")"
A
stand_in qrsh <<'A'
[ "$1 $2" = "-inherit -V" ] || { echo "qrsh: -inherit is missing" >&2; exit 1; }
shift 2
[ -z "${FAKESSH_HOST:-}" ] || { echo "qrsh: only the master host may start tasks" >&2; exit 1; }
exec "$FAKESSH" "$@"
A
stand_in kubectl <<'A'
[ "$1 $2 $4" = "exec -i --" ] || { echo "kubectl: exec -i POD -- COMMAND is expected" >&2; exit 1; }
[ -z "${FAKESSH_HOST:-}" ] || { echo "kubectl: there is none in a pod" >&2; exit 1; }
host=$3
shift 4
exec "$FAKESSH" "$host" "$(quoted "$@")"
A

# start [NAME=VALUE...] -- [OPTION...]: each node prints its name.
start() {
    local settings=()
    while [ "$1" != -- ]; do settings+=("$1"); shift; done
    shift
    new_mark
    : >"$CALLS"
    run env PATH="$scratch/bin:$PATH" "${settings[@]}" "$banyan" run --banyand "$BANYAN_DAEMON" --net lo \
        --start-timeout 120 --per-node 1 --timeout 300 -x BT_MARK="$mark" "$@" sh -c 'echo "${TMPDIR##*/}"' </dev/null
}

# works PROGRAM WHAT: all nodes run, by that program, and nothing is said.
works() {
    is "$status $(sort <<<"$out" | paste -sd' ') $err" "0 n1 n2 n3 n4 " "$2: all nodes run"
    is "$(cut -d' ' -f1 "$CALLS" | sort -u)" "$1" "$2: by $1"
    nothing_left "$2: nothing is left"
}

# grows PROGRAM WHAT [NAME=VALUE...] -- [OPTION...]: an instance of two nodes, and then of four.
grows() {
    local program=$1 what=$2 settings=() dir
    shift 2
    while [ "$1" != -- ]; do settings+=("$1"); shift; done
    shift
    new_mark
    : >"$CALLS"
    dir=$(env PATH="$scratch/bin:$PATH" "${settings[@]}" "$banyan" start --daemonize --banyand "$BANYAN_DAEMON" --net lo \
        --start-timeout 120 --host 'n[1-2]' "$@")
    run "$banyan" node add --instance "$dir" 'n[3-4]' </dev/null
    is "$status$err" 0 "$what: two nodes are added"
    run "$banyan" run --instance "$dir" --per-node 1 -x BT_MARK="$mark" sh -c 'echo "${TMPDIR##*/}"' </dev/null
    is "$status $(sort <<<"$out" | paste -sd' ') $err" "0 n1 n2 n3 n4 " "$what: all nodes run"
    is "$(cut -d' ' -f1 "$CALLS" | sort | uniq -c | xargs)" "4 $program" "$what: a call for each"
    run "$banyan" stop --instance "$dir"
    is "$status$err" 0 "$what: the instance ends"
    nothing_left "$what: nothing is left"
}

pbs=(PBS_JOBID=5 PBS_NODEFILE="$scratch/nodefile")
start "${pbs[@]}" -- --radix 2
works pbs_tmrsh "PBS"
grows pbs_tmrsh "PBS, added" "${pbs[@]}" --
rm "$scratch/bin/pbs_tmrsh"
start "${pbs[@]}" -- --boot "file:$scratch/boot"
works pbsdsh "Torque"
grows pbsdsh "Torque, added" "${pbs[@]}" -- --boot "file:$scratch/boot"
lsf=(LSB_JOBID=5 LSB_MCPU_HOSTS="n1 1 n2 1 n3 1 n4 1 ")
start "${lsf[@]}" -- --radix 2
works blaunch "LSF"
grows blaunch "LSF, added" "${lsf[@]}" --
start "${lsf[@]}" -- --radix 2 --boot "file:$scratch/boot"
works blaunch "LSF, start-up data in files"
start JOB_ID=5 SGE_ROOT=/sge ARC=lx PE_HOSTFILE="$scratch/pe" --
works qrsh "Grid Engine"
grows qrsh "Grid Engine, added" JOB_ID=5 SGE_ROOT=/sge ARC=lx PE_HOSTFILE="$scratch/pe" --
start -- --ssh-agent "kubectl exec -i" --host 'n[1-4]'
works kubectl "Kubernetes"
grows kubectl "Kubernetes, added" -- --ssh-agent "kubectl exec -i"

# What a starter cannot follow is said once, and the run goes on.
start -- --virtual-nodes 2 --start-retries 3
is "$status" 0 "an option that the starter cannot follow does no harm"
is "$err" "banyan: warning: --start-retries has no effect with the starter virtual: only agents are called again" \
    "and is one line"

done_testing

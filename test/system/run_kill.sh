#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# kill -9 of any part, at the start and in the run: within 5 s no process of the job lives and no
# file is left. The ranks ignore SIGTERM, have a child and a child in a session of its own.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/leftovers.sh"

nodes=${NODES:-5}

cat >"$scratch/stubborn" <<'SH'
#!/bin/sh
trap '' TERM
sleep 1000 &
setsid sleep 1000 &
echo up
wait
wait
SH
chmod +x "$scratch/stubborn"

all_up() {
    [ "$(grep -c '^up$' "$scratch/out")" -eq "$nodes" ]
}

# some ROLE: it runs. The system's lists of children are incomplete while processes come and go.
some() {
    [ -n "$(pids_of "$1")" ]
}

name_of() {
    cat "/proc/$1/comm" 2>/dev/null
}

# pids_of ROLE: of the run that $front leads.
pids_of() {
    local pid
    case $1 in
    front) echo "$front" ;;
    *)
        for pid in $(descendants "$front"); do
            case $1:$(name_of "$pid") in
            root:banyan-root | daemon:banyand | helper:banyan-helper) echo "$pid" ;;
            esac
        done
        ;;
    esac
}

# kill_case ROLE WHEN [OPTION...]: WHEN is start or run; the options say where the nodes are.
kill_case() {
    local victims begin
    local -a where=("${@:3}")
    [ ${#where[@]} -gt 0 ] || where=(--virtual-nodes "$nodes")
    new_mark
    "$banyan" run "${where[@]}" --per-node 1 -x BT_MARK="$mark" \
        "$scratch/stubborn" >"$scratch/out" 2>"$scratch/err" </dev/null &
    front=$!
    if [ "$2" = run ]; then
        until_true 20 all_up || diag "not all ranks came up: $(cat "$scratch/err")"
    else
        until_true 5 some daemon
    fi
    case $1 in
    both) until_true 5 some daemon ;;
    pair | everything) until_true 5 some root ;;
    *) until_true 5 some "$1" ;;
    esac
    case $1 in
    both)
        victims=$(pids_of daemon | tail -n 1)
        victims="$victims $(cat "/proc/$victims/task/$victims/children")"
        ;;
    pair)
        victims=$(pids_of root)
        victims="$victims $(cat "/proc/$victims/task/$victims/children")"
        ;;
    everything) victims="$(pids_of root) $(pids_of front)" ;;
    *) victims=$(pids_of "$1" | tail -n 1) ;;
    esac
    begin=$(date +%s%N)
    # shellcheck disable=SC2086
    ok "$1 killed at the $2" kill -9 $victims
    if until_true 60 no_marked; then
        local took_ms=$((($(date +%s%N) - begin) / 1000000))
        ok "$1 killed at the $2: no process lives after $took_ms ms" [ $took_ms -le 30000 ]
    else
        fail "$1 killed at the $2: processes live on: $(marked_pids | tr '\n' ' ')"
    fi
    until_true 10 gone "$front" || { fail "banyan ends"; kill -9 "$front"; }
    wait "$front"
    status=$?
    case $1 in
    front | everything) ;;
    root | pair) is $status 125 "$1 killed at the $2: banyan says that it failed" ;;
    *) ok "$1 killed at the $2: banyan fails" [ $status -ne 0 ] ;;
    esac
    if [ "$1" != front ] && [ "$1" != everything ]; then
        is "$(grep -c '^banyan: ' "$scratch/err")" 1 "$1 killed at the $2: one line says why"
        diag "$(cat "$scratch/err")"
    fi
    nothing_left "$1 killed at the $2: nothing is left"
}

gone() {
    [ ! -e "/proc/$1" ] || grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null
}

# both: a daemon and its helper; pair: those of the root.
for role in daemon helper both root pair front everything; do
    for when in run start; do
        kill_case $role $when
    done
done
# Nodes that share TMPDIR and /dev/shm: what a dead daemon made there is left for others to remove.
for role in daemon both root pair everything; do
    kill_case $role run --starter local --host "n[1-$nodes]"
done
done_testing

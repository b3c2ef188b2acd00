#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Credentials of PMIx by a real client of libpmix (test/tool/pmix_credential.c) and a munged of this test's own: on one
# node and across two, what is refused, credentials that are no good, a munged that hangs, and one that is not there.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

program=$top_builddir/test/tool/pmix_credential
[ -x "$program" ] || skip_all "pmix_credential is not built"

one=(--virtual-nodes 1 --per-node 2 -n 2)
two=(--virtual-nodes 2 --per-node 1 -n 2)
four=(--virtual-nodes 4 --per-node 2 -n 8)
export BANYAN_MUNGE_SOCKET=$scratch/munge/socket
owner="uid=$(id -u) gid=$(id -g)"

# credential LINES NAME OPTION... -- CALL...: the ranks' lines, in any order, without how long a call took; standard error
# is in $err.
credential() {
    local lines=$1 name=$2
    shift 2
    run_client "$@"
    is "$status: $(sed 's/ after .*//' <<<"$out" | sort)" "0: $(sort <<<"$lines")" "$name"
}

quietly() {
    credential "$@"
    is "$err" "" "and the user reads nothing"
}

# ---- Without munged ----

credential "rank 0: get=NOT-SUPPORTED
rank 1: get=NOT-SUPPORTED
rank 0: file=NOT-SUPPORTED" "no munged: not supported" "${one[@]}" -- get r0:file:/etc/passwd fence
if [[ $err == *"built without MUNGE"* ]]; then
    skip "this banyan is built without MUNGE"
    done_testing
    exit 0
fi
like "$(head -n 1 <<<"$err")" \
    '^banyan: MUNGE cannot make a credential on .*: .*socket.*: No such file or directory \(.*munged.*\?\)$' \
    "and the user reads why"
is "$(grep -c 'make a credential' <<<"$err"):$(grep -c 'validate a credential' <<<"$err")" 1:1 "once for each call"
credential "$(for rank in 0 1 2 3 4 5 6 7; do echo "rank $rank: get=NOT-SUPPORTED"; done)" "no munged on any of four nodes" \
    "${four[@]}" -- get fence
is "$(wc -l <<<"$err")" 4 "one line for each node"

command -v munged >/dev/null && command -v munge >/dev/null || {
    skip "there is no munged here"
    done_testing
    exit 0
}

# start_munged NAME: with a key of its own, in the directory $scratch/NAME.
start_munged() {
    local dir=$scratch/$1
    mkdir -p "$dir"
    [ -e "$dir/key" ] || head -c 1024 /dev/urandom >"$dir/key"
    chmod 600 "$dir/key"
    chmod 755 "$scratch" "$dir"
    munged --foreground --force --key-file="$dir/key" --socket="$dir/socket" --pid-file="$dir/pid" \
        --log-file="$dir/log" --seed-file="$dir/seed" >"$dir/out" 2>&1 &
    daemons[$1]=$!
    until_true 10 [ -S "$dir/socket" ]
}

declare -A daemons
clean_up() {
    local pid
    for pid in "${daemons[@]}"; do
        kill -CONT "$pid" 2>/dev/null
        kill "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
    done
}
if ! start_munged munge || ! start_munged other; then
    diag "$(cat "$scratch/munge/out")"
    skip "munged does not start here"
    done_testing
    exit 0
fi

# ---- Served ----

for nodes in one two; do
    declare -n options=$nodes
    quietly "rank 0: get=SUCCESS type=munge
rank 1: check=SUCCESS type=munge $owner" "on $nodes: rank 1 validates what rank 0 has got" \
        "${options[@]}" -- r0:get give r1:check:0 fence
    quietly "rank 0: plain=SUCCESS
rank 1: get=SUCCESS type=munge
rank 0: check=SUCCESS type=munge $owner
rank 1: check=SUCCESS type=munge $owner" "on $nodes: each validates the other's" \
        "${options[@]}" -- r0:plain r1:get:t30 give:data r0:check:1:t30 r1:check:0:type=munge fence
done
quietly "$(for rank in 0 1 2 3 4 5 6 7; do
    echo "rank $rank: get=SUCCESS type=munge"
    echo "rank $rank: check=SUCCESS type=munge $owner"
done)" "eight on four nodes, at once" "${four[@]}" -- get give:data r0:check:7 r1:check:6 r2:check:5 r3:check:4 \
    r4:check:3 r5:check:2 r6:check:1 r7:check:0 fence
quietly "rank 0: get=SUCCESS type=munge
rank 0: get=SUCCESS type=munge
rank 0: get=NOT-SUPPORTED
rank 0: get=NOT-SUPPORTED
rank 0: get=NOT-SUPPORTED
rank 0: get=SUCCESS type=munge
rank 0: check=NOT-SUPPORTED
rank 0: check=NOT-SUPPORTED
rank 0: check=SUCCESS type=munge $owner" "lists of types, and directives that are not known" "${two[@]}" -- \
    r0:get:type=native,munge r0:get:type=munge,native r0:get:type=native r0:get:type=munge2 r0:get:y r0:get:x give \
    r0:check:0:type=none r0:check:0:y r0:check:0:x

# ---- What is no good ----

make_credential() { # SOCKET FILE OPTION...
    local socket=$1 file=$2
    shift 2
    munge --socket="$scratch/$socket/socket" --string=payload "$@" | tr -d '\n' >"$scratch/$file"
}
make_credential munge good
make_credential other foreign
make_credential munge old --ttl=1
sed 's/........\(.\)$/AAAAAAAA\1/' "$scratch/good" >"$scratch/changed"
too_old() { # EMUNGE_CRED_EXPIRED
    unmunge --socket="$scratch/munge/socket" --no-output <"$scratch/old" >/dev/null 2>&1
    [ $? = 15 ]
}
until_true 60 too_old
quietly "rank 1: file=INVALID-CRED
rank 1: file=INVALID-CRED
rank 1: file=INVALID-CRED
rank 0: file=SUCCESS type=munge $owner
rank 1: file=INVALID-CRED" "a foreign, an old and a changed one; and one again" "${two[@]}" -- \
    "r1:file:$scratch/foreign" "r1:file:$scratch/old" "r1:file:$scratch/changed" "r0:file:$scratch/good" fence "r1:file:$scratch/good"
quietly "rank 0: bytes=INVALID-CRED
rank 0: bytes=INVALID-CRED
rank 0: bytes=INVALID-CRED
rank 0: bytes=INVALID-CRED
rank 0: get=SUCCESS type=munge
rank 0: nul=INVALID-CRED" "garbage of all lengths" "${two[@]}" -- r0:bytes:0 r0:bytes:1 r0:bytes:1000000 r0:bytes:2000000 \
    r0:get r0:nul fence
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    make_credential munge restricted --restrict-uid=65534
    setpriv --reuid=65534 --regid=65534 --clear-groups munge --socket="$scratch/munge/socket" --no-input | tr -d '\n' \
        >"$scratch/another"
    quietly "rank 0: file=NO-PERMISSIONS
rank 0: file=SUCCESS type=munge uid=65534 gid=65534" "one for another user only, and another user's" "${two[@]}" -- \
        "r0:file:$scratch/restricted" "r0:file:$scratch/another"
else
    skip "only root can be another user"
fi

# ---- A munged that hangs ----

# What others do goes on: fences, and the next request.
kill -STOP "${daemons[munge]}"
credential "rank 0: get=TIMEOUT
rank 1: get=TIMEOUT" "it hangs: the time limits are kept" \
    "${one[@]}" -- r0:begin:t2 r1:begin:t1 fence fence fence "r0:make:$scratch/fenced" r0:end r1:end fence
is "$(grep -c 'after [1-9][0-9]* s$' <<<"$out")" 2 "not at once"
like "$err" 'MUNGE cannot make a credential on .*: munged has not answered within 1 s' "and the user reads why"
ok "processes have met meanwhile" [ -e "$scratch/fenced" ]
"$banyan" run --timeout 240 --mpi pmix "${two[@]}" "$program" r0:begin fence "r0:make:$scratch/hangs" r0:end r0:get give r1:check:0 fence \
    </dev/null >"$scratch/out" 2>&1 &
job=$!
ok "a request without a time limit waits" until_true 30 [ -e "$scratch/hangs" ]
kill -CONT "${daemons[munge]}"
wait $job
# On a machine that stands still for 10 s libmunge has given up before.
is "$(grep -v -e '^rank 0: get=' -e '^banyan: MUNGE' "$scratch/out")" "rank 1: check=SUCCESS type=munge $owner" \
    "when it goes on the credentials come"
kill -STOP "${daemons[munge]}"
credential "" "a job that ends while munged hangs" "${two[@]}" -- r0:begin
kill -CONT "${daemons[munge]}"

# ---- Secrets ----

"$banyan" run --timeout 240 -v -v --mpi pmix "${two[@]}" "$program" r0:get give r1:check:0 "r0:make:$scratch/up" \
    "await:$scratch/go" </dev/null >"$scratch/out" 2>&1 &
job=$!
ok "a job that logs everything has passed one on" until_true 30 [ -e "$scratch/up" ]
is "$(grep -rlsa 'MUNGE:' "$TMPDIR" "$scratch/out" | xargs)" "" "no credential is in a file of banyan, or in what it says"
touch "$scratch/go"
wait $job

kill "${daemons[munge]}"
wait "${daemons[munge]}"
nothing_left_within 10 "" "nothing is left"
done_testing

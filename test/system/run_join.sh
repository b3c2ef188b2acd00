#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The starter `join`: daemons that somebody starts with tokens. A job runs on nodes that came in any
# order; a token that was used, is garbled, of another instance or too old is refused in one line on
# both sides; signals and whoever does not come end in one line; nothing is left.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/leftovers.sh"

cd "$scratch" || exit 1

# begin NODES ARGUMENT...: a run in the background; $tokens is a copy of its file.
begin() {
    local nodes=$1
    shift
    new_mark
    rm -f banyan.join tokens
    "$banyan" run --starter join --net lo --host "$nodes" -x BT_MARK="$mark" --timeout 240 "$@" \
        </dev/null >out 2>err &
    runner=$!
    ok "the tokens are written" until_true 20 [ -e banyan.join ]
    cp banyan.join tokens
}

# finish: the run's end, in $status, $out and $err.
finish() {
    status=0
    wait $runner || status=$?
    out=$(cat out)
    err=$(cat err)
}

# come NODE [FILE]: its daemon, in the background.
come() {
    BT_MARK=$mark "$BANYAN_DAEMON" --join "${2:-tokens}" --node "$1" </dev/null >"$1.out" 2>"$1.err" &
    daemons[${#daemons[@]}]=$!
}

# gone NAME: all daemons have ended; their exit statuses are in $statuses.
gone() {
    local pid code
    statuses=
    for pid in "${daemons[@]}"; do
        code=0
        wait "$pid" || code=$?
        statuses="$statuses$code "
    done
    daemons=()
    nothing_left "$1"
}
daemons=()

# refused STATUS REGEX NAME ARGUMENT...: banyand says one line and ends.
refused() {
    local expected=$1 regex=$2 name=$3
    shift 3
    run timeout 300 "$BANYAN_DAEMON" "$@" <&0
    is "$status $out" "$expected " "$name: exit status $expected"
    like "$err" "^banyand: [^
]*$regex[^
]*\$" "$name: and one line says why"
}

# ---- A job ----

begin n1,n2,n3,n4 --radix 2 --per-node 1 sh -c 'echo "$BANYAN_NODE"'
is "$(stat -c %a banyan.join) $(grep -vc '^#' tokens)" "600 4" "nobody else can read the four tokens"
come n4
come n3
grep '^n2 ' tokens | cut -d' ' -f2 >n2.token
come n2 n2.token
BT_MARK=$mark "$BANYAN_DAEMON" --join - < <(grep '^n1 ' tokens) >n1.out 2>n1.err &
daemons+=($!)
finish
is "$status $(sort <<<"$out" | tr '\n' ' ')" "0 n1 n2 n3 n4 " "a job runs on the four that came"
like "$err" '^banyan: waiting up to 600 s for 4 nodes: run `banyand --join FILE` on each[^
]*$' "the user is told what to do, in one line"
gone "nothing is left, nor the tokens"
is "$statuses$(cat n?.out n?.err)" "0 0 0 0 " "the daemons end well and say nothing"
ok "the file is gone" [ ! -e banyan.join ]

# ---- What is refused while it lives ----

cp tokens old-tokens
begin n1,n2 --per-node 1 sh -c 'echo here; while [ ! -e '"$scratch"'/go ]; do sleep 0.05; done'
come n1
come n2
ok "two nodes have joined" until_true 30 eval '[ "$(grep -c here out)" = 2 ]'
ok "no token is left when all are there" [ ! -e banyan.join ]
refused 125 'cannot join session .*the token is in use: place 1 is alive' "a second use" \
    --join tokens --node n1
like "$(cat err)" 'refused a daemon that wants to join from 127.0.0.1:[0-9]+: the token is in use' \
    "a second use: and the root says so"
sed 's/\(.\)$/x/' tokens >bad
refused 125 'the token is garbled: it is truncated or mistyped' "a garbled one" --join bad --node n1
cut -c1-100 tokens >bad
refused 125 'the token is garbled: it is truncated or mistyped' "a cut one" --join bad --node n2
refused 125 'cannot join session .*Connection refused' "one of an instance that has ended" \
    --join old-tokens --node n1
refused 125 'none of its 2 tokens is for "n3": use --node NAME' "a node that has none" \
    --join tokens --node n3
: >go
finish
is "$status" 0 "the job goes on through all that"
is "$(grep -c '^banyan: ' <<<"$err")" 2 "and the user has seen one line of each thing"
gone "nothing is left"
rm -f go

# ---- Ends ----

refused 125 'cannot join session .*Connection refused' "an instance that has ended" \
    --join tokens --node n1
refused 125 'cannot read the token from /no/file: No such file' "no file" --join /no/file
refused 125 'standard input: it contains no token' "an empty one" --join - </dev/null
refused 125 'not a token: a token begins with banyan-join-' "no token" --join - <<<hello
refused 125 'needs a file' "no argument" --join
refused 125 'needs --join FILE' "a node alone" --node n1

begin n1,n2 --start-timeout 10 true
come n1
finish
is "$status" 125 "who does not come: exit status 125"
like "$err" 'cannot start the daemon on n2: no daemon joined with its token within 10 s' \
    "who does not come is named"
gone "nothing is left of who came"

begin n1 true
kill -TERM $runner
finish
is "$status" 143 "SIGTERM before anyone has come: exit status 143"
gone "nothing is left"
ok "nor the tokens" [ ! -e banyan.join ]

begin n1 true
"$BANYAN_DAEMON" --join - < <(exec sleep 60) >n1.out 2>n1.err &
daemon=$!
catches() { # it is no bash any more, and has its handler
    [ "$(cat "/proc/$1/comm")" = banyand ] &&
        (((16#$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status") >> 1) & 1))
}
ok "a daemon without a token waits for it" until_true 10 catches $daemon
kill -INT $daemon
status=0
wait $daemon || status=$?
is "$status $(cat n1.err)" "130 banyand: interrupted before joining" "Ctrl-C of a daemon"
kill -TERM $runner
finish
gone "nothing is left"

begin n1,n2 --per-node 1 sh -c 'echo here; exec sleep 60'
come n1
come n2
until_true 30 eval '[ "$(grep -c here out)" = 2 ]'
kill -TERM "${daemons[1]}"
finish
is "$status" 125 "a daemon that is ended: the job ends"
like "$err" 'n2' "and its node is named"
gone "nothing is left"
is "${statuses#* }" "143 " "it says what it ended of"
like "$(cat n2.err)" '^banyand: it received Terminated: leaving the instance[^
]*$' "in one line"

# ---- Options ----

: >banyan.join
run "$banyan" run --starter join --net lo --host n1 true </dev/null
is "$status $out" "125 " "a file that is there: exit status 125"
is "$err" "banyan: option --join-file: banyan.join already exists: remove it or name another file" \
    "one line names the option and the file, and no node"
is "$(stat -c %s banyan.join)" 0 "it is as it was"
run "$banyan" run --starter join --join-file /no/such/place --net lo --host n1 true </dev/null
is "$status $out" "125 " "a file that cannot be written: exit status 125"
is "$err" "banyan: option --join-file: cannot write /no/such/place: No such file or directory" \
    "one line names the option, the file and what the system says, and no node"
run "$banyan" doctor --starter join --join-file /no/such/place --net lo --host n1 </dev/null
is "$status $out$err" \
    "125 banyan: option --join-file: cannot write /no/such/place: No such file or directory" \
    "banyan doctor says the same"
run "$banyan" start --starter join --join-file /no/such/place --net lo --host n1 </dev/null
is "$status $out$err" \
    "125 banyan: option --join-file: cannot write /no/such/place: No such file or directory" \
    "and so does banyan start"
gone "nothing is left"
run "$banyan" run --join-file x --host n1 true </dev/null
like "$err" '^banyan: option --join-file: it needs --starter join$' "a file without the starter"
run "$banyan" run --starter join --boot munge --host n1 true </dev/null
like "$err" '^banyan: option --boot: ' "--boot makes no sense"
rm -f banyan.join
done_testing

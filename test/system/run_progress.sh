#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The line on a terminal that says what a run waits for: after a second, in the foreground, on terminals only, and gone
# before anything else is printed.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"
fakessh=$top_builddir/contrib/testbed/fakessh
export TERM=xterm
unset NO_COLOR

# at_terminal [REGEX FILE]... -- ARGUMENT...: banyan run at a terminal of 70 columns; files are made when the
# expressions have come. $out and $status as of run.
at_terminal() {
    local marks=()
    while [ "$1" != -- ]; do
        marks+=("$1")
        shift
    done
    shift
    run python3 "$srcdir/test/tool/terminal.py" 70 "${marks[@]}" -- "$banyan" run --timeout 240 "$@"
}

# An agent that reaches n3 only when there is a file.
cat >"$scratch/agent" <<SH
#!/bin/bash
for word in "\$@"; do
    [ "\$word" = n3 ] || continue
    for i in {1..2400}; do [ -e "$scratch/go" ] || sleep 0.1; done
done
exec "$fakessh" "\$@"
SH
chmod +x "$scratch/agent"
hosts=(--host n1,n2,n3 --net lo --ssh-agent "$scratch/agent" --banyand "$BANYAN_DAEMON" --start-timeout 240)

at_terminal 'starting: 2 of 3 nodes up' "$scratch/go" -- "${hosts[@]}" -n 3 echo hello
is "$status" 0 "a run that waits for a node"
like "$out" 'ESC\[2mbanyan: starting: 2 of 3 nodes up \([0-9]+ s\)ESC\[0m' "says so, in dim letters"
is "$(sed 's/.*ESC\[K//' <<<"$out")" $'hello\nhello\nhello' "and the line is gone when output comes"

rm "$scratch/go"
export NO_COLOR=1
at_terminal 'starting: 2 of 3 nodes up' "$scratch/go" -- "${hosts[@]}" -v -n 3 echo hello
unset NO_COLOR
like "$out" 'CRESC\[Kbanyan: starting: 2 of 3 nodes up \([0-9]+ s\)CR' "NO_COLOR: without colours"
is "$(grep -c 'ESC\[[0-9]' <<<"$out")" 0 "none at all"
is "$(sed 's/.*ESC\[K//' <<<"$out" | grep -c '.banyan:')" 0 "each message has a line of its own"

rm "$scratch/go"
{ sleep 2; : >"$scratch/go"; } &
run python3 "$srcdir/test/tool/terminal.py" 70 -- sh -c \
    '"$@" 2>"$0"' "$scratch/errors" "$banyan" run --timeout 240 "${hosts[@]}" -n 1 echo hello
is "$status $out $(cat "$scratch/errors")" "0 hello " "nothing where stderr is a file"
wait

# Processes that initialise by PMI: rank 1 later.
cat >"$scratch/pmi1" <<'SH'
#!/bin/bash
say() {
    printf '%s\n' "$1" >&"$PMI_FD"
    read -r answer <&"$PMI_FD"
}
[ "$BANYAN_RANK" = 0 ] || for i in {1..2400}; do [ -e "$1" ] || sleep 0.1; done
say 'cmd=init pmi_version=1 pmi_subversion=1'
say 'cmd=barrier_in'
say 'cmd=finalize'
SH
chmod +x "$scratch/pmi1"
at_terminal 'initializing: 1 of 2 processes' "$scratch/init" -- \
    --virtual-nodes 2 --per-node 1 "$scratch/pmi1" "$scratch/init"
is "$status" 0 "a run whose processes initialise"
like "$out" 'banyan: initializing: 1 of 2 processes connected by PMI \([0-9]+ s\)' "says how many have"
is "$(sed 's/.*ESC\[K//' <<<"$out")" "" "and the line is gone at the end"

TERM=dumb at_terminal -- --virtual-nodes 1 -n 1 sleep 2
is "$status$out" 0 "nothing at a terminal that cannot clear it"
nothing_left_within 60 none "nothing is left"
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Files of configuration and variables: their order, which counts for which command, what the command line
# does to them, and what is wrong with one, in one line with its place.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

export HOME=$scratch/home XDG_CONFIG_HOME=$scratch/xdg
mkdir -p "$HOME/.config" "$XDG_CONFIG_HOME"
conf=$XDG_CONFIG_HOME/banyan.conf
# Only the scripts of this project read no configuration; a site's file on this machine has no say here either.
unset BANYAN_CONFIG ONE TWO
site=$("$banyan" help config </dev/null | sed -n 's/^Files: \([^,]*\),.*/\1/p')
if [ -e "$site" ]; then
    skip_all "this machine has $site"
fi

# ranks OPTION...: the sorted output of two ranks, which print two variables.
ranks() {
    run "$banyan" run --timeout 240 --mpi none -n 2 "$@" sh -c 'echo "<$ONE$TWO>"' </dev/null
    out=$(sort <<<"$out")
    [ $status -eq 0 ] || diag "$err"
}

ranks --virtual-nodes 1
is "$out" $'<>\n<>' "no file, no difference"
cat >"$conf" <<'END'
# what this user wants
label = yes
env = ONE=1
virtual-nodes = 2
radix = 100
END
ranks
is "$out" $'[0] <1>\n[1] <1>' "a user's file"
BANYAN_ENV=TWO=2 BANYAN_LABEL=no ranks
is "$out" $'<12>\n<12>' "variables replace its values, or add to them"
ranks -x ONE=9
is "$out" $'[0] <9>\n[1] <9>' "the command line has precedence"
ranks --host localhost:2
is "$status $out" $'0 [0] <1>\n[1] <1>' "given nodes replace configured ones"
run "$banyan" map </dev/null
is "$status $(grep -c 'v[12]' <<<"$out")" "0 2" "banyan map has the same nodes"
run "$banyan" alloc </dev/null
is "$status $(grep -c 'v\[1-2\]' <<<"$out")" "0 1" "banyan alloc, too"
run "$banyan" tree </dev/null
like "$status $out" '^0 .*v\[1-2\].*2 nodes, radix ' "and banyan tree"
run "$banyan" alloc --host 'a[1-3]' </dev/null
like "$status $out" '^0 .*a\[1-3\]' "given nodes replace configured ones there"
printf 'radix = 3\nssh-agent = other -x\n' >"$scratch/other"
BANYAN_CONFIG=$scratch/other run "$banyan" tree --nodes 'n[1-12]' </dev/null
like "$status $out" '^0 .*12 nodes, radix 3, ' "a tree of nodes that need not exist has the configured radix"
BANYAN_CONFIG=$scratch/other run "$banyan" tree --nodes 'n[1-2]' </dev/null
like "$status $out" '^0 .*2 nodes, radix 2, ' "or what they allow of it"
BANYAN_CONFIG=$scratch/other run "$banyan" alloc --host 'a[1-3]' </dev/null
like "$status $out" '^0 .*other -x' "nodes are reached by the configured agent"
printf 'env = ONE=file\n' >"$scratch/other"
BANYAN_CONFIG=$scratch/other ranks --virtual-nodes 1
is "$out" $'<file>\n<file>' "another file"
BANYAN_CONFIG=none ranks --virtual-nodes 1
is "$out" $'<>\n<>' "or none"

# ---- what is there ----

run "$banyan" config </dev/null
like "$out" "label +*= yes +\($conf:2\)" "a value with its line"
like "$out" "kill-grace +\(default\)" "one that nothing sets"
BANYAN_KILL_GRACE=7 run "$banyan" config </dev/null
like "$out" 'kill-grace +*= 7 +\(\$BANYAN_KILL_GRACE\)' "a variable's"
BANYAN_KILL_GRACE=7 run "$banyan" config --json </dev/null
is "$(python3 -c '
import json, sys
print([row["value"] for row in json.load(sys.stdin) if row["origin"] == "$BANYAN_KILL_GRACE"])' <<<"$out")" \
    "['7']" "the same as JSON"

# ---- sections ----

printf '[doctor]\nlabel = no\nradix = 2\n[run]\nenv = ONE=section\n' >"$conf"
ranks --virtual-nodes 1
is "$out" $'<section>\n<section>' "a section of a command"
run "$banyan" config start </dev/null
is "$(grep -c "$conf" <<<"$out")" 0 "has no effect on others"

# ---- what is wrong ----

# wrong REGEX NAME TEXT
wrong() {
    printf "$3" >"$conf"
    refuses 125 "$conf:$1" "$2" run -n 1 true
}
wrong "2: unknown option 'labl': did you mean 'label'" "a misspelt name" '# x\nlabl = yes\n'
wrong "1: unknown option 'frobnicate'" "an unknown name" 'frobnicate = 1\n'
wrong "1: option kill-grace: must be a whole number" "an invalid number" 'kill-grace = soon\n'
wrong "1: option label: must be yes or no" "an invalid flag" 'label = perhaps\n'
wrong "1: option 'alloc' can be given on the command line only" "an option of one command" 'alloc = slurm:\n'
wrong "1: unknown section \[rnu\]: did you mean \[run\]" "a misspelt section" '[rnu]\n'
wrong "3: 'label' is not NAME = VALUE" "a line without a value" '\n\nlabel\n'
rm "$conf"
BANYAN_KILL_GRACE=soon refuses 125 '\$BANYAN_KILL_GRACE: option kill-grace: must be' "an invalid variable" run -n 1 true
BANYAN_CONFIG=$scratch/none refuses 125 "\\\$BANYAN_CONFIG: cannot read $scratch/none: No such file" \
    "a file that is named and not there" run -n 1 true
refuses 125 "unexpected argument 'stop': give one of run, start, map and doctor" "a command without one" \
    config stop
nothing_left_within 60 none "nothing is left"
done_testing

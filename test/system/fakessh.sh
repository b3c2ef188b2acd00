#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The fake ssh is trusted by every comparison with other launchers: does it do as ssh does?
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"

fakessh=$top_builddir/contrib/testbed/fakessh
export HOME=$scratch
[ -x "$fakessh" ] || skip_all "contrib/testbed/fakessh is not built"

run "$fakessh" v1 echo one two
is "$status $out" "0 one two" "a plain command runs"
run "$fakessh" -x -oFoo=bar -p 22 -l user user@v1 -q -- echo -n x
is "$status $out" "0 x" "options before and after the host are dropped"
run "$fakessh" v1 'exit 7'
is "$status" 7 "the exit status is the command's"
run "$fakessh" v1 pwd
is "$out" "$scratch" "the command starts at home"

# What a shell would do with the joined words, fakessh does too.
while IFS= read -r command; do
    expected=$(cd "$scratch" && sh -c "$command" 2>&1)
    run "$fakessh" v1 "$command"
    is "$out$err" "$expected" "as a shell: $command"
done <<'COMMANDS'
printf "%s|" a   b  c
printf '%s|' "a  b" 'c"d' e\ f "" ''
printf '%s|' a"b c"'d e'f
printf '%s|' "$HOME" '$HOME' \$HOME
printf '%s|' 'single $(not run)' "double $(echo run)"
printf '%s|' "a\"b" "a\\b" a\\b
A=1 B=2 env | grep -c '^[AB]='
echo a; echo b
echo a && echo b
echo [x]* {a,b}
echo ~
echo a#b
cd / && pwd
exec printf '%s|' x y
exec "printf" '%s|' x
"printf" "%s|" "x=y"
true | false || echo failed
echo a > out && cat out
printf '%s|' é ß "ü ö"
printf '%s|' a\
COMMANDS

is "$("$fakessh" v1 "$(printf 'printf "%%s|" a\nb() { echo c; }; b')" 2>&1)" "a|c" "several lines"
run "$fakessh" v1 "echo 'open"
is "$((status != 0))" 1 "an open quote is the shell's error"

run "$fakessh" v1 no-such-program x
like "$status $err" "^127 .*no-such-program" "an unknown program: 127 and the shell's words"

SECRET=1 FAKESSH_KEEP=ONE,TWO ONE=1 TWO=2 TWOS=3 run "$fakessh" v9 env
like "$out" "FAKESSH_HOST=v9" "the command is told its host"
like "$out" "PATH=" "PATH is kept"
unlike "$out" "SECRET|TWOS" "nothing else is forwarded"
like "$out" "ONE=1" "but what FAKESSH_KEEP names"
like "$out" "TWO=2" "all of it"
unlike "$out" "TMPDIR" "no TMPDIR without FAKESSH_BASE"
FAKESSH_BASE=$scratch/base run "$fakessh" v9 'echo $TMPDIR; test -d $TMPDIR && echo there'
is "$out" "$scratch/base/v9
there" "TMPDIR is the node's own, and made"

is "$(echo in | "$fakessh" v1 cat)" "in" "input is passed on"
is "$(echo in | "$fakessh" -n v1 cat)" "" "unless -n is given"
run "$fakessh" v1 'ls /proc/self/fd | wc -l' 8</dev/null 9</dev/null
is "$out" 4 "descriptors above 2 are closed (ls has one of its own)"

for bad in "" "v1" ".. true" "a/b true"; do
    # Words on purpose: each is a command line.
    # shellcheck disable=SC2086
    run "$fakessh" $bad
    like "$status $err" "^255 fakessh: " "refused with 255: fakessh $bad"
done

if [ "$("$fakessh" v1 hostname)" = v1 ]; then
    run "$fakessh" v77 'hostname; ls -A /dev/shm; echo x > /dev/shm/banyan-test'
    is "$out" v77 "its host name is the node's, its /dev/shm empty"
    is "$(ls /dev/shm/banyan-test 2>/dev/null)" "" "and nothing in it is seen outside"
    run "$fakessh" v1 "$fakessh" v2 hostname
    is "$out" v2 "a virtual node may start another"
    unlike "$(FAKESSH_ISOLATE=no "$fakessh" v77 hostname)" v77 "FAKESSH_ISOLATE=no switches it off"
else
    skip "this system allows neither root nor user namespaces"
fi
done_testing

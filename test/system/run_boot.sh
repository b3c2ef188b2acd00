#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Boot records that do not go over stdin: by MUNGE on the command line (with a munged of this test's
# own) and by files of mode 0600. What has been read or opened by others is refused.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/leftovers.sh"

fakessh=$top_builddir/contrib/testbed/fakessh
export FAKESSH_BASE=$scratch/nodes
mkdir -p "$FAKESSH_BASE" "$scratch/shared"

# An agent that gives its daemons no stdin, and notes what it was called with.
cat >"$scratch/agent" <<A
#!/bin/bash
printf '%s\n' "\${@: -1}" >>"$scratch/commands"
for path in \$(sed -n 's/.*--boot file://p' <<<"\${@: -1}"); do
    stat -c '%a' "\$path" "\${path%/*}" >>"$scratch/modes"
done
exec $fakessh "\${@:1:\$#-1}" "env BANYAN_MUNGE_SOCKET=$scratch/socket \${@: -1}" </dev/null
A
chmod +x "$scratch/agent"

# job WAY NAME...: three nodes, the third below the second.
job() {
    new_mark
    : >"$scratch/commands"
    run "$banyan" run --boot "$1" --banyand "$BANYAN_DAEMON" --ssh-agent "$scratch/agent" --net lo \
        --host n1,n2,n3,n4 --radix 2 -n 4 --per-node 1 --timeout 240 -x BT_MARK="$mark" \
        sh -c 'echo "$BANYAN_NODE"' </dev/null
}

works() {
    is "$status $(sort <<<"$out" | tr '\n' ' ')" "0 n1 n2 n3 n4 " "$1: a job runs on four nodes"
    [ -z "$err" ] || diag "$err"
    is "$(grep -c -- '--boot' "$scratch/commands")" 4 "$1: each daemon was told by a word"
    nothing_left "$1: nothing is left"
}

# refused WORD REGEX NAME: a daemon that is given that word.
refused() {
    run env BANYAN_MUNGE_SOCKET="$scratch/socket" "$BANYAN_DAEMON" --boot "$1" </dev/null
    is "$status" 1 "$3: the daemon exits"
    like "$out" "BANYAN-ERROR .*$2" "$3: and says why"
}

# ---- Files ----

job "file:$scratch/shared"
works file
is "$(sort -u "$scratch/modes" | tr '\n' ' ')" "600 700 " "file: nobody else can read the records"
is "$(find "$scratch/shared" -mindepth 1)" "" "file: they are gone"

# The directory of the records, when the helper that was to remove it is killed.
new_mark
"$banyan" run --boot "file:$scratch/shared" --banyand "$BANYAN_DAEMON" --ssh-agent "$scratch/agent" --net lo \
    --host n1,n2 --per-node 1 -x BT_MARK="$mark" sh -c 'echo up; exec sleep 1000' </dev/null >"$scratch/up" 2>&1 &
pid=$!
ok "file: a job runs" until_true 20 eval '[ "$(grep -cx up "$scratch/up")" = 2 ]'
kill -KILL "$(pgrep -P "$(pgrep -P "$pid" -x banyan-root)" -x banyan-helper)"
wait "$pid"
ok "file: with the helper killed they are gone as well" until_true 10 eval '[ -z "$(ls "$scratch/shared")" ]'
nothing_left "file: nothing is left"
job file:/no/such/directory
is "$status" 125 "file: a directory that is not there: exit status 125"
like "$err" 'cannot start (the daemon|daemons) on n.*: cannot write the boot record to /no/such/directory/' \
    "file: and it says so"
head -c 100 /dev/zero >"$scratch/record"
refused "file:$scratch/none" 'cannot read the boot record from .*/none: No such file' \
    "file: one that is not there"
chmod 644 "$scratch/record"
refused "file:$scratch/record" 'its mode is 644, not 600' "file: one that others can read"
chmod 600 "$scratch/record"
ln -s record "$scratch/link"
refused "file:$scratch/link" 'Too many levels of symbolic links' "file: a symbolic link"
refused "file:$scratch" 'it is not a regular file' "file: a directory"
refused "file:$scratch/record" 'cannot decode the boot record' "file: no record"
refused "nonsense" 'neither munge:CREDENTIAL nor file:PATH' "a word of no kind"
run "$banyan" run --boot nonsense true </dev/null
is "$status" 125 "an option of no kind: exit status 125"
like "$err" "option --boot: 'nonsense' is neither munge nor file:DIR" "and it says what is one"

# ---- MUNGE ----

export BANYAN_MUNGE_SOCKET=$scratch/socket
if ! command -v munged >/dev/null || ! command -v munge >/dev/null; then
    skip "MUNGE: there is no munged here"
    done_testing
fi
run "$banyan" run --boot munge true </dev/null
if [[ $err == *"built without MUNGE"* ]]; then
    skip "MUNGE: this banyan is built without it"
    done_testing
fi
head -c 1024 /dev/urandom >"$scratch/key"
chmod 600 "$scratch/key"
chmod 755 "$scratch"
munged --foreground --force --key-file="$scratch/key" --socket="$scratch/socket" \
    --pid-file="$scratch/pid" --log-file="$scratch/munged.log" --seed-file="$scratch/seed" \
    >"$scratch/munged.out" 2>&1 &
munged=$!
clean_up() {
    kill $munged 2>/dev/null
    wait $munged 2>/dev/null
}
if ! until_true 10 [ -S "$scratch/socket" ]; then
    diag "$(cat "$scratch/munged.out")"
    skip "MUNGE: munged does not start here"
    done_testing
fi
job munge
works MUNGE
ok "MUNGE: all four words are credentials" \
    [ "$(grep -c -- "--boot.*munge:MUNGE:" "$scratch/commands")" = 4 ]
wrap() {
    printf 'munge:%s' "$(munge --socket="$scratch/socket" --string=record "$@")"
}
refused "$(wrap)" 'cannot decode the boot record' "MUNGE: no record"
word=$(wrap)
refused "${word%????????}AAAAAAA:" 'MUNGE cannot open the boot record' "MUNGE: one that was changed"
old=$(wrap --ttl=1)
too_old() { # EMUNGE_CRED_EXPIRED
    unmunge --socket="$scratch/socket" --no-output <<<"${old#munge:}" >/dev/null 2>&1
    [ $? = 15 ]
}
until_true 60 too_old
refused "$old" 'Expired' "MUNGE: one that is too old"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    word=$(wrap --restrict-uid=0)
    run setpriv --reuid=65534 --clear-groups "$BANYAN_DAEMON" --boot "$word" </dev/null
    like "$out" 'BANYAN-ERROR MUNGE cannot open the boot record: .*nauthorized' \
        "MUNGE: another user's"
else
    skip "MUNGE: another user's: only root can be another user"
fi
kill $munged
wait $munged 2>/dev/null
job munge
is "$status" 125 "MUNGE: without a munged: exit status 125"
like "$err" 'cannot start (the daemon|daemons) on n.*MUNGE cannot wrap the boot record: .*is munged running' \
    "MUNGE: and it says so"
nothing_left "MUNGE: and nothing is left"
done_testing

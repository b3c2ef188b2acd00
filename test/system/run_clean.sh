#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `banyan clean` removes what dead instances have left, and nothing else. In name spaces of its own:
# what others have left on this machine is none of its business.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"

if [ -z "${BT_CLEAN:-}" ]; then
    export BT_CLEAN=1
    spaces=(--mount --pid --fork --kill-child --mount-proc)
    unshare "${spaces[@]}" true 2>/dev/null || skip_all "no name spaces of its own"
    rm -rf "$scratch"
    exec unshare "${spaces[@]}" sh -c '
        mount -t tmpfs -o mode=1777 none /dev/shm
        mount -t tmpfs none /sys/fs/cgroup && mkdir /sys/fs/cgroup/unified &&
            mount -t cgroup2 none /sys/fs/cgroup/unified
        exec "$0"' "$0"
fi
export BT_PRIVATE_SHM=1
. "$srcdir/test/support/leftovers.sh"

clean() {
    run timeout 300 "$banyan" clean --tmpdir "$TMPDIR" "$@" </dev/null
}

# Cgroups of helpers in this name space.
name_space=$(stat -Lc %i /proc/self/ns/pid)
cgroups() {
    find /sys/fs/cgroup/unified -name "banyan-$name_space-*" -type d 2>/dev/null
}

# start_run PROGRAM...: a run whose rank has come so far as to say "up"; its front end is $front.
start_run() {
    new_mark
    rm -f "$scratch/run.out"
    timeout 300 "$banyan" run --tmpdir "$TMPDIR" -x BT_MARK="$mark" "$@" \
        >"$scratch/run.out" 2>/dev/null </dev/null &
    front=$!
    until_true 60 grep -qs up "$scratch/run.out"
}

clean
is "$status $out$err" "0 nothing to remove" "where nothing is left"

# ---- Those who live ----

start_run --virtual-nodes 2 -n 2 sh -c "echo up; until [ -e $scratch/release ]; do sleep 0.05; done"
files=$(left_files)
clean
is "$status $out$err" "0 nothing to remove" "a living instance has left nothing"
is "$(left_files)" "$files" "its files stay"
touch "$scratch/release"
wait $front
is $? 0 "and it ends well"
run timeout 300 "$banyan" run --tmpdir "$TMPDIR" --virtual-nodes 2 --ppn 1 "$banyan" clean \
    --tmpdir "$TMPDIR" </dev/null
is "$status $out" $'0 nothing to remove\nnothing to remove' "as a job on each node"
nothing_left "which leaves nothing"

# ---- A dead one ----

start_run -n 1 sh -c 'setsid sleep 300 & echo up; exec sleep 300'
victims=
for pid in $front $(descendants $front); do
    case $(cat "/proc/$pid/comm") in
    banyan*) victims="$victims $pid" ;;
    esac
done
# shellcheck disable=SC2086 # a list
kill -STOP $victims
# shellcheck disable=SC2086
kill -KILL $victims
wait $front
until_true 20 eval '[ "$(marked_pids | wc -w)" -le 1 ]'
is "$(marked_pids | wc -w)" 1 "of a run that is killed as a whole a process is left"
files=$(left_files)
like "$files" '/dev/shm/banyan-[0-9a-f]{16}\.0' "and a directory"
session=$(sed -n 's|.*/dev/shm/banyan-\([0-9a-f]*\)\.0.*|\1|p' <<<"$files")
groups=$(cgroups | wc -l)
clean -n
like "$status $out" "^0 would remove of session $session: [0-9]+ director(y|ies), 1 process" "--dry-run shows both"
is "$(marked_pids | wc -w)" 1 "the process stays"
is "$(left_files)" "$files" "the files, too"
is "$(cgroups | wc -l)" "$groups" "and the cgroups"
if [ -d /sys/fs/cgroup/unified ] && [ "$groups" -gt 0 ]; then
    like "$out" "would remove: 1 cgroup" "it shows the cgroup"
else
    skip "no cgroups of version 2"
fi
clean
like "$status $out" "^0 removed of session $session: [0-9]+ director(y|ies), 1 process" "clean removes both"
is "$err" "" "without a word more"
nothing_left "nothing is left"
is "$(cgroups)" "" "no cgroup, either"
clean
is "$status $out$err" "0 nothing to remove" "there is no more to do"

# ---- One that is just being made ----

young=/dev/shm/banyan-00112233445566aa.1
mkdir $young
"$banyan" clean --tmpdir "$TMPDIR" >"$scratch/young.out" &
cleaning=$!
until_true 30 grep -q nanosleep /proc/$cleaning/wchan
is $? 0 "it gives one that is new a few seconds"
flock -o -x $young sleep 300 &
holding=$!
wait $cleaning
ok "a directory that somebody comes to hold stays" test -d $young
kill $holding
wait $holding 2>/dev/null
clean
like "$out" '^removed of session 00112233445566aa: 1 directory$' "nobody holds it any more"
ok "so it goes" test ! -e $young

# ---- Of other users ----

chmod 755 "$scratch"
if [ "$(id -u)" -eq 0 ] &&
    setpriv --reuid 65534 --clear-groups timeout 300 "$banyan" --version >/dev/null 2>&1; then
    theirs=/dev/shm/banyan-ffeeddccbbaa9988.1
    mkdir -m 700 $theirs
    touch -d "1 hour ago" $theirs
    chown 65534 $theirs
    BANYAN_HELPER=99999.1 BANYAN_SESSION=ffeeddccbbaa9988 \
        setpriv --reuid 65534 --clear-groups sleep 300 &
    their_process=$!
    their_group=/sys/fs/cgroup/unified/banyan-$name_space-99999.1
    mkdir "$their_group" 2>/dev/null && chown 65534 "$their_group"
    until_true 20 eval "tr '\\0' ' ' </proc/$their_process/cmdline | grep -q ^sleep"
    clean
    is "$status $out$err" "0 nothing to remove" "what others have left is not found by root"
    ok "their directory stays" test -d $theirs
    ok "their process stays" kill -0 $their_process
    [ ! -e "$their_group" ] || rmdir "$their_group"
    run setpriv --reuid 65534 --clear-groups timeout 300 "$banyan" clean --tmpdir "$TMPDIR" </dev/null
    is "$status $out" "0 removed of session ffeeddccbbaa9988: 1 directory, 1 process" "but by themselves"
    wait $their_process 2>/dev/null
    ok "and removed" test ! -e $theirs
else
    skip "not root, or no other user can run what is built here"
fi

# ---- What is wrong ----

run "$banyan" clean now
is "$status $err" "125 banyan: unexpected argument 'now'; see 'banyan help clean'" "an argument"
run "$banyan" clean --help
like "$status $out" '^0 Usage: banyan clean' "help"
run "$banyan" help clean
like "$status $out" '^0 Usage: banyan clean' "help, too"

done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Ranks that fail are started again (--on-failure restart): how often, what they and the user see, and when they are not,
# since the others count on what they had exchanged with them.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

two=(--virtual-nodes 2 --per-node 1 -n 2)

# restart OPTION... PROGRAM...: sets $status, $out and $err.
restart() {
    run "$banyan" run --timeout 240 --kill-grace 5 --on-failure "$@"
}

# ---- It ends well ----

restart restart "${two[@]}" sh -c 'echo "rank $BANYAN_RANK, restart $BANYAN_RESTART"
    [ "$BANYAN_RESTART" = "$BANYAN_RANK" ] || exit 7' </dev/null
is "$status:$(sort <<<"$out")" "0:$(printf 'rank %s\n' "0, restart 0" "1, restart 0" "1, restart 1")" \
    "a rank that fails is started again, and counts; all end well"
is "$err" "banyan: rank 1 on v2 exited with status 7; restart 1 of 3 in 1 s" "the user reads one line"

restart restart:1 --virtual-nodes 1 -n 8 --oversubscribe sh -c '[ $BANYAN_RESTART = 1 ] || kill -KILL $$' </dev/null
is $status 0 "ranks that are killed are started again"
is "$(grep -c restart <<<"$err")" "$(grep -c . <<<"$err")" "and nothing else is said of them"
like "$err" '^banyan: rank [0-7] on v1 was killed by signal 9 \(Killed\)(, and ranks? .* there failed as well)?; restart 1 of 1 in 1 s' \
    "those that fail within a moment share a line"

# ---- The limit ----

restart restart:1 "${two[@]}" sh -c '[ "$BANYAN_RANK" = 0 ] || exit 5
    exec sleep 600' </dev/null
is $status 5 "at the limit the job ends with the status of that rank"
is "$err" "banyan: rank 1 on v2 exited with status 5; restart 1 of 1 in 1 s
banyan: rank 1 on v2 exited with status 5 after 1 restart" "and the line has the rank, its node and the number"

# ---- What goes on, and what does not ----

# The first process leaves one that would keep its lock, and makes both ends non-blocking for whoever has them, too.
cat >"$scratch/first" <<'SH2'
import fcntl, os, subprocess, sys, time
line = os.read(0, 2).decode()
os.write(1, ("%s read %s" % (os.environ["BANYAN_RESTART"], line)).encode())
if line == "a\n":
    for fd in (0, 1):
        fcntl.fcntl(fd, fcntl.F_SETFL, os.O_NONBLOCK)
    child = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL)
    open(sys.argv[1], "w").write(str(child.pid))
    os.write(1, b"half a line")
    sys.exit(3)
if fcntl.fcntl(1, fcntl.F_GETFL) & os.O_NONBLOCK or fcntl.fcntl(0, fcntl.F_GETFL) & os.O_NONBLOCK:
    print("non-blocking")
os.write(1, ("%s read %s" % (os.environ["BANYAN_RESTART"], os.read(0, 2).decode())).encode())
SH2
restarted() { grep -q 'restart 1 of 3' "$scratch/.err"; }
mkfifo "$scratch/in"
"$banyan" run --timeout 240 --on-failure restart -n 1 python3 "$scratch/first" "$scratch/left" \
    <"$scratch/in" >"$scratch/.out" 2>"$scratch/.err" &
pid=$!
exec 9>"$scratch/in"
echo a >&9
until_true 60 restarted
printf 'b\nc\n' >&9
exec 9>&-
status=0
wait $pid || status=$?
is "$status:$(cat "$scratch/.out")" "0:0 read a
half a line1 read b
1 read c" "a restarted rank reads on where the one before it has stopped, and its output follows"
is_gone() { ! kill -0 "$(cat "$scratch/left")" 2>/dev/null; }
ok "what the failed process had left in its group was killed" until_true 10 is_gone

# It waits for the second restart for longer than this.
"$banyan" run --on-failure restart:9 -n 1 sh -c 'exit 1' </dev/null >"$scratch/.out" 2>"$scratch/.err" &
pid=$!
second() { grep -q 'restart 2 of 9' "$scratch/.err"; }
until_true 60 second
kill -TERM $pid
status=0
wait $pid || status=$?
is $status 143 "a job whose rank waits to be started again can be ended"

printf '#!/bin/sh\nrm -f "$0"\nexit 1\n' >"$scratch/gone"
chmod +x "$scratch/gone"
restart restart -n 1 "$scratch/gone" </dev/null
is "$status" 127 "a program that is gone when it is to be started again ends the job"
like "$err" "cannot run $scratch/gone on .* \\(rank 0\\): No such file or directory\$" "and is reported"
restart restart "${two[@]}" /no/such/program </dev/null
is "$status:$(grep -c restart <<<"$err")" 127:0 "a program that cannot be started is not tried again"

# ---- PMI ----

# Rank 1 fails before it says a word: the others wait for it in their barrier.
cat >"$scratch/pmi1" <<'SH2'
#!/bin/bash
say() {
    printf '%s\n' "$1" >&"$PMI_FD"
    read -r answer <&"$PMI_FD"
}
fail() {
    if [ "$BANYAN_RANK:$BANYAN_RESTART:$when" = "1:0:$1" ]; then exit 4; fi
}
when=$1
fail before
say 'cmd=init pmi_version=1 pmi_subversion=1'
fail after
say 'cmd=barrier_in'
echo "rank $BANYAN_RANK: $answer"
say 'cmd=finalize'
fail finalized
SH2
chmod +x "$scratch/pmi1"
for nodes in 1 2; do
    restart restart --virtual-nodes $nodes --per-node $((2 / nodes)) -n 2 "$scratch/pmi1" before </dev/null
    is "$status:$(sort <<<"$out")" "0:$(printf 'rank %d: cmd=barrier_out rc=0\n' 0 1)" \
        "PMI-1, $nodes nodes: a rank that fails before it connects is restarted; the others meet it in the barrier"
done
for when in after finalized; do
    restart restart "${two[@]}" "$scratch/pmi1" $when </dev/null
    is "$status:$err" "4:banyan: rank 1 on v2 exited with status 4; it had connected to PMI, so it is not restarted" \
        "PMI-1: one that fails later ($when) ends the job, which says why"
done

program=$top_builddir/test/tool/pmix_events
if [ -x "$program" ]; then
    for nodes in 1 2; do
        restart restart --mpi pmix --virtual-nodes $nodes --per-node $((4 / nodes)) -n 4 sh -c \
            '[ "$BANYAN_RANK:$BANYAN_RESTART" != 3:0 ] || exit 4; exec "$@"' sh "$program" fence r3:put:a fence r0:get:3:a \
            </dev/null
        is "$status:$out" "0:" "PMIx, $nodes nodes: a rank that fails before it connects is restarted, and fences"
    done
    restart restart --mpi pmix "${two[@]}" "$program" fence r1:exit:4 fence </dev/null
    is "$status:$err" "4:banyan: rank 1 on v2 exited with status 4; it had connected to PMI, so it is not restarted" \
        "PMIx: one that fails later ends the job, which says why"
else
    skip "pmix_events is not built"
fi

nothing_left_within 30 none "nothing is left"
done_testing

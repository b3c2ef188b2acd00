#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `banyan top`: what the nodes and jobs of an instance use, as a page, as JSON, and again and again on a terminal.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

instance=$("$banyan" start --virtual-nodes 7 --radix 2 --slots 2 --daemonize 2>"$scratch/start.err" </dev/null)
like "$instance" '^/.*banyan-' "an instance is there"
# A rank on v1 works, one on v2 sleeps; both say whose processes they are.
run "$banyan" run --detach -n 2 -N 1 sh -c 'echo $PPID >'"$scratch"'/helper.$BANYAN_RANK
    if [ "$BANYAN_RANK" = 0 ]; then while :; do :; done; else exec sleep 1000; fi'
is "$status" 0 "a job runs"
both_run() { [ -s "$scratch/helper.0" ] && [ -s "$scratch/helper.1" ]; }
until_true 60 both_run || fail "both processes run"

# On a machine that is very busy a node may be too late for a page.
full() {
    run "$banyan" top "$@"
    [[ $out != *"no answer"* && $out =~ ^nodes|'"silent": ""' ]]
}
until_true 60 full --once
is "$status-$err" "0-" "a page"
like "$out" '^nodes     7 up; 2 of 14 slots in use; 1 job'$'\n''programs  2 processes, ' "what is there"
like "$out" $'\n''daemons   8, ' "daemons of the nodes and the root"
like "$out" $'\n''    1  running           2 +[0-9.]+ +[0-9.]+ [KM]iB  v\[1-2\] +sh -c ' "its jobs"
is "$(grep -cE '^(v[1-7]|\(root\)) ' <<<"$out")" 8 "its nodes"
until_true 60 full
like "$status $out" '^0 nodes     7 up' "no terminal: once, too"

# A node that is busy comes first; the machine may be so busy that it is not seen at once.
works() { "$banyan" top --once | grep -A1 '^NODE' | grep -qE '^v1 +1 +[0-9]*[1-9]'; }
until_true 60 works && pass "the node with the most work comes first" || fail "the node with the most work comes first"

if command -v python3 >/dev/null; then
    until_true 60 full --json
    echo "$out" >"$scratch/top.json"
    is "$(python3 - "$scratch/top.json" <<'E2'
import json, sys
d = json.load(open(sys.argv[1]))
print(d["states"]["up"], d["slots"], d["slots_in_use"], d["all"]["daemons"], len(d["busiest"]),
      [j["processes"] for j in d["jobs"]], d["all"]["processes_kib"] > 0, repr(d["silent"]))
E2
)" "7 14 2 8 8 [2] True ''" "JSON"
    # on_terminal KEY|SIGNAL: what happens after two pages; prints how it ended and what is left of the terminal.
    on_terminal() {
        python3 - "$banyan" "$1" <<'E2'
import fcntl, os, pty, select, sys, termios
fd, slave = pty.openpty()  # this end of it keeps the terminal after the end of the program
pid = os.fork()
if pid == 0:
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for descriptor in range(3):
        os.dup2(slave, descriptor)
    os.environ["TERM"] = "xterm"
    os.execv(sys.argv[1], [sys.argv[1], "top", "--interval", "1"])
modes, seen, what = None, b"", sys.argv[2]
while True:
    readable, _, _ = select.select([fd], [], [], 0.2)
    if readable:
        seen += os.read(fd, 65536)
    elif os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        break
    if seen.count(b"\033[J") >= 2 and what:
        modes = termios.tcgetattr(slave)[3] & (termios.ICANON | termios.ECHO)
        os.write(fd, what.encode()) if len(what) == 1 else os.kill(pid, int(what))
        what = ""
status = os.waitpid(pid, 0)[1]
after = termios.tcgetattr(slave)[3] & (termios.ICANON | termios.ECHO)
print(os.waitstatus_to_exitcode(status), modes, after == termios.ICANON | termios.ECHO,
      seen.startswith(b"\033[?1049h"), seen.endswith(b"\033[?25h\033[?1049l"), b"7 up" in seen)
E2
    }
    is "$(on_terminal q)" "0 0 True True True True" "q ends it and gives the terminal back"
    is "$(on_terminal $'\003')" "0 0 True True True True" "Ctrl-C, too"
    is "$(on_terminal 15)" "-15 0 True True True True" "and a signal"
else
    skip "no python3 to read JSON"
    for way in q Ctrl-C SIGTERM; do skip "no python3 to play a terminal: $way"; done
fi

# A daemon that is stopped: neither it nor what it was to ask is waited for.
daemon=$(ps -o ppid= -p "$(cat "$scratch/helper.1")")
kill -STOP "$daemon"
run "$banyan" top --once
like "$status $out" '^0 .*no answer from v.*'$'\n''NODE' "a node that is silent is named"
kill -CONT "$daemon"
until_true 60 full --once && pass "later it answers again" || fail "later it answers again"
run "$banyan" node remove --force v2
until_true 60 full --once
like "$status $out" '^0 nodes     6 up' "one that is removed"
is "$(grep -cE '^(v[1-7]|\(root\)) ' <<<"$out")" 7 "has no row"

run "$banyan" stop
is "$status" 0 "the instance ends"
run "$banyan" top --once --instance "$instance"
like "$status $err" "^125 banyan: .*$instance" "an instance that has ended"
refuses 125 'option --interval: must be a whole number from 1 to 3600' "no time between pages" top --interval 0
refuses 125 'expected: banyan top' "a word" top 3
nothing_left_within 30 none "nothing is left"
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `banyan run --pty`: a rank with a terminal.  The user's is played by test/support/terminal.py.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"
unset BANYAN_INSTANCE
export TERM=xterm INPUTRC=/dev/null PYTHON_HISTORY=/dev/null

# at_terminal NAME: does that to a terminal, in Python on stdin; `run` starts banyan run --pty with arguments.
at_terminal() {
    {
        cat <<'P'
import os, signal, sys, time
sys.path.insert(0, os.environ["support"])
from terminal import Terminal
def run(*arguments, rows=24, columns=80):
    return Terminal([os.environ["banyan"], "run", "--pty", *arguments], rows, columns)
P
        cat
    } >"$scratch/script.py"
    if support=$srcdir/test/support banyan=$banyan timeout 300 python3 "$scratch/script.py" 2>"$scratch/why"; then
        pass "$1"
    else
        fail "$1"
        diag "$(cat "$scratch/why")"
    fi
}

# ---- what a terminal is ----
at_terminal "standard input, output and error are one terminal, of the same size, at one process" <<'P'
t = run("sh", "-c", "tty <&0; tty <&1; tty <&2; stty size; echo $BANYAN_SIZE", rows=31, columns=97)
first = t.sees(r"(/dev/pts/\d+)\r\n").group(1)
assert first == t.sees(r"(/dev/pts/\d+)\r\n").group(1) == t.sees(r"(/dev/pts/\d+)\r\n").group(1)
t.sees("31 97\r\n1\r\n")
assert t.ends() == 0
P
at_terminal "the user's terminal sends every key, and the rank's echoes once" <<'P'
t = run("sh", "-c", "read line; echo got $line; exit 7")
t.until(t.is_raw, "raw")
t.type("abc\r")
t.sees("^abc\r\ngot abc\r\n")
assert t.ends() == 7
P
at_terminal "the size follows" <<'P'
t = run("sh", "-c", "trap 'stty size' WINCH; echo ready; while :; do sleep 0.1; done")
t.sees("ready")
t.resize(40, 132)
t.sees("40 132")
t.type("\x03")
assert t.ends() == 130
P
at_terminal "another rank may have it, on another node" <<'P'
t = run("--virtual-nodes", "2", "-N", "1", "--stdin", "1", "sh", "-c", "[ -t 0 ] && read x && echo $BANYAN_RANK$x; true")
t.until(t.is_raw, "raw")
t.type("a\r")
t.sees("1a\r\n")
assert t.ends() == 0
P

# ---- what people run there ----
at_terminal "a prompt of Python, which Ctrl-C interrupts" <<'P'
t = run("python3", "-q")
t.sees(">>> ")
t.type("import time; print('slee' + 'ps', flush=True); time.sleep(1000)\r")
t.sees("sleeps")
t.type("\x03")
t.sees("KeyboardInterrupt")
t.sees(">>> ")
t.type("import os; os._exit(3)\r")
assert t.ends() == 3
P
# The job is one process: a shell that waits in vfork() for a child that is stopped before it executes never stops.
at_terminal "a shell with job control: Ctrl-Z stops its job, not banyan" <<'P'
t = run("bash", "--norc", "--noediting", "-i")
t.sees("[#$] ")
t.type("sh -c 'echo run''ning; exec sleep 1000'\r")
t.sees("running\r\n")
t.type("\x1a")
t.sees("Stopped")
t.type("echo $((6 * 7)); exit 5\r")
t.sees("42")
t.sees("stopped jobs")
t.type("exit 5\r")
assert t.ends() == 5
P
if type gdb >/dev/null 2>&1; then
    at_terminal "gdb, which has the program in the foreground" <<'P'
t = run("gdb", "-q", "--nx", "--args", "cat")
t.sees(r"\(gdb\) ")
t.type("run\r")
t.sees("Starting program")
t.type("to cat\r")
t.sees("to cat\r\n")
t.sees("to cat\r\n")
t.type("\x03")
t.sees("SIGINT")
t.sees(r"\(gdb\) ")
t.type("kill\r")
t.sees("y or n")
t.type("y\r")
t.sees(r"\(gdb\) ")
t.type("quit\r")
assert t.ends() == 0
P
else
    skip "gdb is not installed (package gdb)"
fi
if vi --version >/dev/null 2>&1; then
    at_terminal "an editor" <<P
t = run("vi", "-u", "NONE", "-i", "NONE", "-n", "$scratch/edited")
t.sees("edited")
t.type("ihello\x1b")
t.type(":wq\r")
assert t.ends() == 0
assert open("$scratch/edited").read() == "hello\n"
P
else
    skip "vi is not installed (package vim-tiny)"
fi

# ---- the user's terminal is as it was, whatever happens ----
at_terminal "after signals, also deadly ones" <<'P'
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGABRT):
    t = run("sh", "-c", "echo here; cat")
    t.sees("here")
    t.until(t.is_raw, "raw")
    t.signal(number)
    assert t.ends() in (128 + number, -number)
P
at_terminal "after a program that cannot be run, with one line" <<'P'
t = run("/nonexistent")
t.sees("^banyan: cannot run /nonexistent on .*\r\n")
assert t.ends() == 127
P
at_terminal "after the death of the node" <<'P'
t = run("--virtual-nodes", "1", "sh", "-c", "echo here; read x; read -r a b c daemon d </proc/$PPID/stat; kill -9 $daemon; cat")
t.sees("here")
t.until(t.is_raw, "raw")
t.type("\r")
t.sees("node v1")
assert t.ends() != 0
P
at_terminal "while it is stopped by a signal" <<'P'
t = Terminal(["bash", "--norc", "--noediting", "-i"])
t.sees("[#$] ")
t.type(f"{os.environ['banyan']} run --pty sh -c 'echo h''ere; read x; echo got $x'\r")
t.sees("here\r\n")
t.until(t.is_raw, "raw")
banyan = os.tcgetpgrp(t.master)
t.signal(signal.SIGTSTP, banyan)
t.sees("Stopped")
t.sees("[#$] ")
assert not t.is_raw()
t.type("fg\r")
t.until(t.is_raw, "raw again")
t.type("abc\r")
t.sees("got abc\r\n")
t.sees("[#$] ")
t.type("exit 0\r")
assert t.ends() == 0
P

# ---- what cannot be ----
refuses 125 "option --pty: standard input is not a terminal" "no terminal" run --pty true
for options in "--label" "--timestamp" "--fold" "--merge" "--output=$scratch/x" "--error=$scratch/x" "--output-from=0"; do
    refuses 125 "option ${options%%=*} cannot be used with --pty" "$options changes what it shows" run --pty "$options" true
done
refuses 125 "option --stdin all cannot be used with --pty" "one rank has it" run --pty --stdin all true
refuses 125 "option --stdin none cannot be used with --pty" "and no fewer" run --pty --stdin none true
refuses 125 "options --tasks and --pty cannot be used together" "tasks" run --pty --tasks "$scratch/list" true
refuses 125 "option --pty cannot be used with --detach" "a job that is left" run --pty --detach true
nothing_left_within 60 none "nothing is left"

done_testing

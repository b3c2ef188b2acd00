#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Many small tasks: `banyan run --tasks`, alone and in an instance, with what is recorded, dependencies, retries,
# resume, losses and ends.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

tasks() { run "$banyan" run --virtual-nodes 2 --slots 2 --timeout 240 "$@" </dev/null; }
# column NUMBER: of the joblog, sorted by task.
column() { tail -n +2 "$scratch/log" | sort -n | cut -f "$1" | tr '\n' ' '; }
sorted() { sort <<<"$1"; }

cat >"$scratch/list" <<'LIST'
echo one 'and a half'
sh -c 'echo out; echo err >&2; exit 3'   # a comment

{"argv": ["sh", "-c", "echo $COLOUR $BANYAN_TASK; pwd"], "env": {"COLOUR": "red"}, "wdir": "/", "after": 1, "name": "four"}
banyan-no-such-program
{"argv": ["sh", "-c", "kill -9 $$"], "after": ["four"]}
{"argv": ["echo", "never"], "after": 6}
LIST
tasks --tasks "$scratch/list" --joblog "$scratch/log" --results "$scratch/results"
is "$status" 4 "the status is the number of tasks that did not succeed"
is "$(sorted "$out")" $'/\none and a half\nout\nred 4' "their output"
like "$err" 'banyan: 3 of 6 tasks failed; the first: task [256] on v[12] .*; 1 of 6 tasks was not run$' "a last line"
like "$err" 'cannot run banyan-no-such-program on v[12]: No such file' "a program that does not exist"
is "$(head -n 1 "$scratch/log")" \
    $'Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand' "the joblog's titles"
is "$(column 1)" "1 2 4 5 6 " "its tasks"
is "$(column 7)" "0 3 0 127 0 " "exit statuses"
is "$(column 8)" "0 0 0 0 9 " "signals"
like "$(tail -n +2 "$scratch/log" | cut -f 2 | sort -u | tr '\n' ' ')" '^(v1 |v2 )+$' "nodes"
is "$(python3 -c '
import json, sys
rows = {r["seq"]: r for r in map(json.loads, open(sys.argv[1]))}
print(rows[2]["stdout"], rows[2]["stderr"], rows[2]["exitval"], rows[6]["signal"], rows[1]["command"], sep="|")
print(all(rows[4]["start"] >= rows[1]["start"] + rows[1]["runtime"] - 0.01 for _ in [0]))' "$scratch/results" |
    tr '\n' ' ')" "out |err |3|9|echo one 'and a half' True " "the results as JSON"

# ---- GNU parallel's habits ----
tasks echo 'x{}y{#}' ::: a 'b c'
is "$status $(sorted "$out" | tr '\n' ' ')" "0 xay1 xb cy2 " "arguments after :::"
printf '%s\n' /a/b.c /d.e >"$scratch/files"
tasks --label --tasks "$scratch/files" echo '{/.}' '{//}'
is "$(sorted "$out")" $'[1] b /a\n[2] d /' "lines as arguments, with labels"
run "$banyan" run --virtual-nodes 2 --slots 1 --tasks - echo < <(seq 20)
is "$status $(sort -n <<<"$out" | tr '\n' ' ')" "0 $(seq 20 | tr '\n' ' ')" "a list on standard input"

# A line of a stream is run before the stream ends: the second is written when the first has been.
mkfifo "$scratch/fifo"
"$banyan" run --virtual-nodes 1 --slots 1 --timeout 240 --tasks - <"$scratch/fifo" >"$scratch/stream" &
pid=$!
exec 7>"$scratch/fifo"
echo 'echo first' >&7
until_true 60 grep -qs first "$scratch/stream"
echo 'echo second' >&7
exec 7>&-
wait "$pid"
is "$? $(tr '\n' ' ' <"$scratch/stream")" "0 first second " "a stream is read as it comes"

# ---- whole output ----
cat >"$scratch/loud" <<'LIST'
#!/bin/sh
for i in $(seq 3000); do echo "$1 $i"; done
LIST
chmod +x "$scratch/loud"
tasks "$scratch/loud" ::: a b c d e f g h
is "$(cut -d ' ' -f 1 <<<"$out" | uniq | sort | tr '\n' ' ')" "a b c d e f g h " "output of tasks is not mixed"
is "$(wc -l <<<"$out")" 24000 "and is all there"

# ---- slots: a node of 2 runs one task of 2 at a time ----
cat >"$scratch/wide" <<'LIST'
#!/bin/sh
mkdir "$1/$BANYAN_NODE" || exit 1
rmdir "$1/$BANYAN_NODE"
LIST
chmod +x "$scratch/wide"
mkdir "$scratch/nodes"
for ((i = 0; i < 40; i++)); do
    echo "{\"argv\": [\"$scratch/wide\", \"$scratch/nodes\"], \"slots\": 2}"
done >"$scratch/wide.list"
tasks --tasks "$scratch/wide.list"
is "$status" 0 "tasks that take a whole node are alone on it"
rmdir "$scratch/nodes"

# ---- retries and resume ----
cat >"$scratch/third" <<'LIST'
#!/bin/sh
echo x >>"$1"
[ $(wc -l <"$1") -ge 3 ]
LIST
chmod +x "$scratch/third"
tasks --retries 1 "$scratch/third" ::: "$scratch/tries.1"
is "$status $(wc -l <"$scratch/tries.1")" "1 2" "a task that fails is run once more"
tasks --retries 5 "$scratch/third" ::: "$scratch/tries.2"
is "$status $(wc -l <"$scratch/tries.2")" "0 3" "until it succeeds"
echo "$scratch/third $scratch/tries.3" >"$scratch/list"
echo "sh -c 'echo y >>$scratch/ran'" >>"$scratch/list"
tasks --tasks "$scratch/list" --joblog "$scratch/log"
first=$status
tasks --tasks "$scratch/list" --joblog "$scratch/log" --resume
second=$status
tasks --tasks "$scratch/list" --joblog "$scratch/log" --resume
third=$status
tasks --tasks "$scratch/list" --joblog "$scratch/log" --resume
is "$first $second $third $status" "1 1 0 0" "a list that is resumed"
is "$(wc -l <"$scratch/ran") $(wc -l <"$scratch/tries.3")" "1 3" "runs only what has not succeeded"
is "$(column 1)" "1 1 1 2 " "and adds to its joblog"
sed -i "s/echo y/echo z/" "$scratch/list"
refuses 125 'line 2: --resume: the joblog has another command' "a list that has changed" \
    run --tasks "$scratch/list" --joblog "$scratch/log" --resume

# ---- refused before anything starts ----
printf 'touch %s/started\nbad "line\n' "$scratch" >"$scratch/list"
refuses 125 "option --tasks: cannot read $scratch/none: No such file" "a list that is not there" run --tasks "$scratch/none"
refuses 125 "$scratch/list, line 2: no closing \"" "a bad line" run --tasks "$scratch/list"
refuses 125 'options --tasks and -n .*cannot be used together' "with -n" run -n 2 --tasks "$scratch/list"
refuses 125 'cannot write /no/such/log' "a joblog that cannot be written" \
    run --joblog /no/such/log true ::: a
ok "nothing was started" test ! -e "$scratch/started"

# ---- the end ----
json=$scratch/run.json
cat >"$scratch/hang" <<'LIST'
#!/bin/sh
echo x >>"$1"
exec sleep 1000
LIST
chmod +x "$scratch/hang"
"$banyan" run --virtual-nodes 2 --slots 2 --json "$json" --joblog "$scratch/log" "$scratch/hang" ::: \
    "$scratch"/hang.{1..9} </dev/null 2>"$scratch/err" &
pid=$!
all_hang() { [ "$(cat "$scratch"/hang.? 2>/dev/null | wc -l)" -ge 4 ]; }
until_true 60 all_hang
kill -TERM "$pid" # a job in the background ignores SIGINT
wait "$pid"
is "$?" 143 "SIGTERM ends it"
is "$(cat "$scratch"/hang.? | wc -l)" 4 "without starting more"
nothing_left_within 30 "$(session_of "$json")" "nothing is left"

# ---- losses: a worker, and a node with all it runs ----
cat >"$scratch/victim" <<'LIST'
#!/bin/sh
# The first of all kills what runs it; the others, and it when it is run again, have nothing to do.
mkdir "$1" 2>/dev/null && kill -9 $PPID && exec sleep 1000
exit 0
LIST
chmod +x "$scratch/victim"
tasks --retries 1 --joblog "$scratch/log" "$scratch/victim" ::: "$scratch"/mark{,,,,,,,}
is "$status $(column 7)" "0 0 0 0 0 0 0 0 0 " "what a worker that is killed had is run elsewhere"
rmdir "$scratch/mark"
tasks "$scratch/victim" ::: "$scratch"/mark{,,,,,,,}
is "$status" 1 "without retries the task has failed"

cat >"$scratch/node_victim" <<'LIST'
#!/bin/sh
# The daemon of its node: the parent of the helper, which is the parent of the worker.
parent() { sed 's/.*) . \([0-9]*\) .*/\1/' "/proc/$1/stat"; }
mkdir "$1" 2>/dev/null && kill -9 "$(parent "$(parent "$PPID")")" && exec sleep 1000
exit 0
LIST
chmod +x "$scratch/node_victim"
run "$banyan" run --virtual-nodes 4 --slots 2 --timeout 240 --retries 1 --joblog "$scratch/log" \
    "$scratch/node_victim" ::: "$scratch"/node{,,,,,,,,,,,,,,,,,,,} </dev/null
is "$status $(column 7 | tr -d ' ')" "0 00000000000000000000" "what a lost node had is run elsewhere"
like "$err" 'lost node v[1-4]: .*; the job goes on without ranks' "the loss is reported"

# ---- daemons that are started over ssh, or what stands for it ----
if [ -x "$top_builddir/contrib/testbed/fakessh" ]; then
    run "$banyan" run --ssh-agent "$top_builddir/contrib/testbed/fakessh" --net lo --banyand "$BANYAN_DAEMON" \
        --host n1:2,n2:2 --tasks - sh -c 'echo $BANYAN_NODE' < <(seq 40)
    is "$status $(sort <<<"$out" | uniq | tr '\n' ' ')" "0 n1 n2 " "tasks on nodes of an agent"
else
    skip "contrib/testbed/fakessh is not built"
fi

# ---- in an instance ----
dir=$("$banyan" start --daemonize --virtual-nodes 3 --slots 2)
run "$banyan" run --instance "$dir" --tasks - echo < <(seq 50)
is "$status $(sort -n <<<"$out" | tr '\n' ' ')" "0 $(seq 50 | tr '\n' ' ')" "a list in an instance"
run "$banyan" run --instance "$dir" -N 1 sh -c 'echo $BANYAN_LOCAL_SIZE' ::: a b c
is "$status $(tr '\n' ' ' <<<"$out")" "0 1 1 1 " "with one task per node at a time"
run "$banyan" stop --instance "$dir"
is "$status" 0 "which ends in order"

done_testing

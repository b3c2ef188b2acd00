#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `banyan run --no-daemons`: the processes are started by the starter itself: here, by an agent (fakessh), or by srun (a
# stand-in; run_slurm.sh has a real one), and nothing of them stays.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/leftovers.sh"

export FAKESSH=$top_builddir/contrib/testbed/fakessh FAKESSH_BASE=$TMPDIR/nodes
mkdir "$scratch/bin"
for host in n1 n2 n3; do mkdir -p "$FAKESSH_BASE/$host"; done
files_before=$(left_files)
lacks='banyan: without daemons there are no PMIx, standard input, '

# direct OPTION...: a run; $err is without the line about what there is not.
direct() {
    new_mark
    run "$banyan" run --no-daemons --timeout 240 -x BT_MARK="$mark" "$@" </dev/null
    [[ $err =~ ^$lacks ]] || fail "it says what there is not: $err"
    err=$(tail -n +2 <<<"$err")
}
agent=(--ssh-agent "$FAKESSH" --host n1:2,n2:2,n3:1)

direct "${agent[@]}" --label sh -c 'echo $(hostname) $BANYAN_NODE $BANYAN_LOCAL_RANK/$BANYAN_LOCAL_SIZE of $BANYAN_SIZE'
is "$status:$err" "0:" "by an agent: it runs"
is "$(sort <<<"$out")" "[0] n1 n1 0/2 of 5
[1] n1 n1 1/2 of 5
[2] n2 n2 0/2 of 5
[3] n2 n2 1/2 of 5
[4] n3 n3 0/1 of 5" "each process is on its node and knows who it is"
nothing_left "by an agent: nothing is left"

direct "${agent[@]}" -n 3 --output "$scratch/out.%r" -x VALUE="a 'b" --wdir / sh -c 'echo "$VALUE"; pwd'
is "$status:$out$err:$(cat "$scratch"/out.?)" "0::$(printf "a 'b\n/\na 'b\n/\na 'b\n/")" "variables, a directory and files of output"

direct "${agent[@]}" sh -c '[ "$BANYAN_RANK" != 3 ] || exit 9; exec sleep 1000'
is "$status:$out:$err" "9::banyan: rank 3 on n2 exited with status 9" "one that fails ends all"
nothing_left "after a failure: nothing is left"

printf '#!/bin/bash\n[ "$1" != n2 ] || { echo "no route to n2" >&2; exit 255; }\nexec "$FAKESSH" "$@"\n' >"$scratch/bin/agent"
chmod +x "$scratch/bin/agent"
direct --ssh-agent "$scratch/bin/agent" --host n1:2,n2:1 sleep 1000
is "$status:$out:$err" "125::banyan: cannot start rank 2 on n2: $scratch/bin/agent exited 255: no route to n2" \
    "an agent that fails: its words, and the others are ended"
nothing_left "after a start that has failed: nothing is left"

# An agent that fails, but of which something keeps the pipes open until there is a file.
printf '#!/bin/bash\n(for i in {1..600}; do [ ! -e %s ] || exit; sleep 0.1; done) & echo $! >%s; echo lost >&2; exit 255\n' \
    "$scratch/released" "$scratch/holder" >"$scratch/bin/agent"
direct --ssh-agent "$scratch/bin/agent" --host n1:1 true
is "$status:$out:$err" "125::banyan: cannot start rank 0 on n1: $scratch/bin/agent exited 255: lost" "an agent that holds its pipes: its words"
kill -0 "$(cat "$scratch/holder")" 2>/dev/null
is $? 0 "an agent that holds its pipes: it is not waited for"
touch "$scratch/released"

# begin SIGNALS COMMAND OPTION...: three ranks, which have their processes ready; $pid. bash has its background jobs ignore
# SIGINT.
all_up() { [ -e "$scratch/up.0" ] && [ -e "$scratch/up.1" ] && [ -e "$scratch/up.2" ]; }
begin() {
    local signals=$1 command=$2
    shift 2
    new_mark
    rm -f "$scratch"/up.*
    env $signals "$banyan" run --no-daemons -x BT_MARK="$mark" -x UP="$scratch/up" "$@" -n 3 sh -c "$command" \
        </dev/null >"$scratch/out" 2>"$scratch/err" &
    pid=$!
    until_true 60 all_up || fail "they run: $(cat "$scratch/err")"
}
# ended STATUS NAME
ended() {
    wait "$pid" 2>/dev/null
    is $? "$1" "$2: exit status"
    nothing_left "$2: nothing is left"
}

# Ctrl-C, and a front end that is killed.
for signal in INT KILL; do
    begin --default-signal=INT 'echo >$UP.$BANYAN_RANK; exec sleep 1000' "${agent[@]}"
    kill -$signal "$pid"
    ended $((128 + $(kill -l $signal))) "SIG$signal"
done

# Two Ctrl-C end what does not end when it is asked; once more one that comes later is no harm.
for where in here agent; do
    [ $where = here ] && options=(--slots 3) || options=("${agent[@]}")
    begin --default-signal=INT 'trap "echo >$UP.$BANYAN_RANK.asked" TERM; echo >$UP.$BANYAN_RANK; while :; do sleep 0.1; done' \
        --kill-grace 240 "${options[@]}"
    kill -INT "$pid"
    asked() { [ -e "$scratch/up.0.asked" ] && [ -e "$scratch/up.1.asked" ] && [ -e "$scratch/up.2.asked" ]; }
    until_true 60 asked || fail "they are asked"
    kill -INT "$pid"
    kill -INT "$pid" 2>/dev/null
    ended 130 "two Ctrl-C, $where"
done

# A closed terminal is heard of twice.
begin --default-signal=INT,HUP 'trap "echo >$UP.$BANYAN_RANK.asked; while [ ! -e $UP.go ]; do sleep 0.1; done; echo >$UP.$BANYAN_RANK.done; exit" TERM
    echo >$UP.$BANYAN_RANK; while :; do sleep 0.1; done' --kill-grace 240 --slots 3
kill -HUP "$pid"
until_true 60 asked || fail "they are asked"
kill -HUP "$pid"
sleep 0.3 # for a SIGKILL, if one comes
touch "$scratch/up.go"
ended 129 "SIGHUP twice"
is "$(ls "$scratch"/up.?.done 2>/dev/null | wc -l)" 3 "SIGHUP twice: they had time to end"

# What our caller ignores.
begin --ignore-signal=HUP 'echo >$UP.$BANYAN_RANK; while [ ! -e $UP.go ]; do sleep 0.1; done; echo done' --slots 3
kill -HUP "$pid"
touch "$scratch/up.go"
ended 0 "nohup"
is "$(cat "$scratch/out")" "$(printf 'done\ndone\ndone')" "nohup: they have run to their end"

# A reader that begins late: more than is queued here, and the rest in the pipe of a rank that has ended.
new_mark
is "$("$banyan" run --no-daemons -x BT_MARK="$mark" -n 1 seq 630000 </dev/null 2>"$scratch/err" | (sleep 3; md5sum))" "$(seq 630000 | md5sum)" \
    "a slow reader gets everything"
nothing_left "a slow reader: nothing is left"

# A program that sees the arguments of those that start a rank, and one that sees those of all processes.
for tool in setsid env; do
    printf '#!/bin/sh\nprintf "%%s\\n" "$@" >>%s\nexec %s "$@"\n' "$scratch/arguments" "$(command -v $tool)" >"$scratch/bin/$tool"
    chmod +x "$scratch/bin/$tool"
done
echo "secret of $$" >"$scratch/secret"
new_mark
run env PATH="$scratch/bin:$PATH" TOKEN="$(cat "$scratch/secret")" "$banyan" run --no-daemons -x BT_MARK="$mark" -x TOKEN \
    "${agent[@]}" -n 2 sh -c "echo \"\$TOKEN\"; cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -cF -f $scratch/secret" </dev/null
is "$(sort -u <<<"$out")" "$(printf '0\nsecret of %d' $$)" "a secret: the ranks have it, and no process has it as an argument"
is "$(grep -c '^sh$' "$scratch/arguments"):$(grep -cF -f "$scratch/secret" "$scratch/arguments")" "4:0" "a secret: nor had those that started them"
rm "$scratch/bin/setsid" "$scratch/bin/env"
nothing_left "a secret: nothing is left"

cat >"$scratch/bin/srun" <<'S'
#!/bin/bash
[ "$*" != --version ] || { echo "slurm 23.11.4"; exit; }
printf '%s\n' "$@" >"$SEEN.words"
env | grep -E '^SLURM_(EXACT|EXPORT_ENV|CPU_BIND|NTASKS|MPI_TYPE)' >"$SEEN.options"
rank=0
while [[ $1 = -* ]]; do shift; done
while read -r host; do
    SLURM_PROCID=$rank SLURM_NTASKS=5 SLURM_NODEID=$((rank / 2)) SLURM_STEP_TASKS_PER_NODE='2(x2),1' SLURM_LOCALID=$((rank % 2)) \
        SLURMD_NODENAME=$host "$@" </dev/null &
    rank=$((rank + 1))
done <"$SLURM_HOSTFILE"
wait
S
chmod +x "$scratch/bin/srun"
new_mark
run env PATH="$scratch/bin:$PATH" SEEN="$scratch/srun" SLURM_JOB_ID=7 'SLURM_JOB_NODELIST=n[1-3]' 'SLURM_TASKS_PER_NODE=2(x2),1' \
    SLURM_EXACT=1 SLURM_EXPORT_ENV=NONE SLURM_CPU_BIND=none SLURM_NTASKS_PER_NODE=1 \
    "$banyan" run --no-daemons -x BT_MARK="$mark" -x SLURM_MPI_TYPE=pmix \
    sh -c 'echo $BANYAN_RANK/$BANYAN_SIZE $BANYAN_NODE $BANYAN_LOCAL_RANK/$BANYAN_LOCAL_SIZE' </dev/null
is "$status:$(sort <<<"$out")" "0:0/5 n1 0/2
1/5 n1 1/2
2/5 n2 0/2
3/5 n2 1/2
4/5 n3 0/1" "by srun: one call for all"
is "$(cat "$scratch/srun.options")" "SLURM_MPI_TYPE=pmix" "by srun: what the job has left to it is not obeyed"
like "$err" "^$lacks.*PMI is what srun offers\$" "by srun: it says what there is not"
is "$(head -n 6 "$scratch/srun.words" | xargs)" "--overlap --export=ALL --ntasks=5 --distribution=arbitrary --input=none --kill-on-bad-exit=1" \
    "by srun: each rank on its node"
nothing_left "by srun: nothing is left"

# refuses REGEX NAME OPTION...: nothing runs.
refuses() {
    local regex=$1 name=$2
    shift 2
    run "$banyan" run --no-daemons "$@" touch "$scratch/never" </dev/null
    like "$status:$out$err" "^125:banyan: $regex" "$name"
    is "$(wc -l <<<"$err")" 1 "$name: one line"
}
refuses 'option --stage cannot be used with --no-daemons' "files" --stage /etc/passwd
refuses 'option --detach cannot be used with --no-daemons' "a job that is left alone" --detach
refuses "option --no-daemons: the shells .* cannot set the variable 'a.b'" "a name that no shell can set" -x a.b=c
refuses 'option --mpi cannot be used with --no-daemons' "PMI" --mpi pmix
refuses 'option --stdin cannot be used with --no-daemons' "input" --stdin 0
refuses 'option --no-daemons: ranks are started again by a daemon' "restarts" --on-failure restart
refuses 'option --no-daemons: limits, umask and nice' "limits" --rlimit nofile=9
refuses 'option --no-daemons: the starter virtual starts daemons only' "virtual nodes" --virtual-nodes 2
refuses 'option --no-daemons: this placement or binding needs' "bindings" --bind-to core
is "$(ls "$scratch/never" 2>/dev/null)" "" "nothing has run"
done_testing

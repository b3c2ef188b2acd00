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

# Ctrl-C, and a front end that is killed.
for signal in INT KILL; do
    new_mark
    rm -f "$scratch"/up.*
    # bash has its background jobs ignore SIGINT.
    env --default-signal=INT "$banyan" run --no-daemons -x BT_MARK="$mark" "${agent[@]}" -n 3 \
        sh -c "echo >$scratch/up.\$BANYAN_RANK; exec sleep 1000" </dev/null >"$scratch/out" 2>"$scratch/err" &
    pid=$!
    all_up() { [ -e "$scratch/up.0" ] && [ -e "$scratch/up.1" ] && [ -e "$scratch/up.2" ]; }
    until_true 60 all_up || fail "they run"
    kill -$signal "$pid"
    wait "$pid" 2>/dev/null
    is $? $((128 + $(kill -l $signal))) "SIG$signal: exit status"
    nothing_left "SIG$signal: nothing is left"
done

cat >"$scratch/bin/srun" <<'S'
#!/bin/bash
[ "$*" != --version ] || { echo "slurm 23.11.4"; exit; }
printf '%s\n' "$@" >"$SEEN.words"
rank=0
while [[ $1 = -* ]]; do shift; done
while read -r host; do
    SLURM_PROCID=$rank SLURM_NTASKS=3 SLURM_LOCALID=0 SLURMD_NODENAME=$host "$@" </dev/null &
    rank=$((rank + 1))
done <"$SLURM_HOSTFILE"
wait
S
chmod +x "$scratch/bin/srun"
new_mark
run env PATH="$scratch/bin:$PATH" SEEN="$scratch/srun" SLURM_JOB_ID=7 'SLURM_JOB_NODELIST=n[1-3]' 'SLURM_TASKS_PER_NODE=1(x3)' \
    "$banyan" run --no-daemons -x BT_MARK="$mark" sh -c 'echo $BANYAN_RANK/$BANYAN_SIZE $BANYAN_NODE' </dev/null
is "$status:$(sort <<<"$out" | xargs)" "0:0/3 n1 1/3 n2 2/3 n3" "by srun: one call for all"
like "$err" "^$lacks.*PMI is what srun offers\$" "by srun: it says what there is not"
is "$(head -n 4 "$scratch/srun.words" | xargs)" "--ntasks=3 --distribution=arbitrary --input=none --kill-on-bad-exit=1" \
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
refuses 'option --mpi cannot be used with --no-daemons' "PMI" --mpi pmix
refuses 'option --stdin cannot be used with --no-daemons' "input" --stdin 0
refuses 'option --no-daemons: ranks are started again by a daemon' "restarts" --on-failure restart
refuses 'option --no-daemons: limits, umask and nice' "limits" --rlimit nofile=9
refuses 'option --no-daemons: the starter virtual starts daemons only' "virtual nodes" --virtual-nodes 2
refuses 'option --no-daemons: this placement or binding needs' "bindings" --bind-to core
is "$(ls "$scratch/never" 2>/dev/null)" "" "nothing has run"
done_testing

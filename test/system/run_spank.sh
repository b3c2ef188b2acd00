#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# contrib/slurm: sbatch --banyan and salloc --banyan in a real Slurm of 16 nodes: the instance is there before the
# script, serves its jobs, and is gone after it, however that ends.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"

plugin=$top_builddir/.libs/spank_banyan.so
[ -e "$plugin" ] || skip_all "the plugin is not built: Slurm's header is missing (package libslurm-dev)"
if [ -z "${SLURM_TESTBED:-}" ]; then
    export SLURM_PLUGSTACK="required $plugin banyan=$banyan"
    again_in_slurm run_spank.sh 16 600
fi

export TMPDIR=$scratch banyan
cd "$scratch" || exit 1

no_daemon() {
    ! pgrep -x 'banyan.*' >/dev/null
}

# over NAME: nothing of it is left.
over() {
    ok "$1: no daemon is left" until_true 60 no_daemon
    is "$(find "$scratch" -path '*/banyan-*' -name '*.*' ! -name '*.log' 2>/dev/null | head -n 3)" "" \
        "$1: no directory of it, either"
}

# How long daemons live is seen by their pids: two runs, one set of daemons.
cat >job.sh <<'J'
#!/bin/bash
"$banyan" status --json >$OUT.status_json 2>&1
"$banyan" run -v hostname >$OUT.ranks 2>$OUT.err </dev/null
echo $? >$OUT.status
pgrep -x banyand | sort >$OUT.first
"$banyan" run --per-node 1 true 2>>$OUT.err </dev/null
pgrep -x banyand | sort >$OUT.second
echo "$BANYAN_INSTANCE" >$OUT.instance
"$banyan" tree --json >$OUT.tree 2>&1
exit ${STATUS:-0}
J
chmod +x job.sh

# served NAME NODES RANKS
served() {
    is "$(cat "$OUT.status")" 0 "$1: a program runs"
    is "$(sort -u "$OUT.ranks" | wc -l) $(wc -l <"$OUT.ranks")" "$2 $3" "$1: on the nodes and slots of the job"
    like "$(cat "$OUT.err")" "$(cat "$OUT.instance")" "$1: in the instance"
    like "$(cat "$OUT.instance")" '^/' "$1: which BANYAN_INSTANCE names"
    is "$(cat "$OUT.second")" "$(cat "$OUT.first")" "$1: its daemons stay from program to program"
}

export OUT=$scratch/batch
timeout 300 sbatch -Q --wait -N4 -n8 --banyan -o "$OUT.out" job.sh
is $? 0 "sbatch: the job ends well"
served sbatch 4 8
is "$(without_stalls <"$OUT.out")" "" "sbatch: not a word about it"
over sbatch

OUT=$scratch/radix
STATUS=3 timeout 300 sbatch -Q --wait -N6 -n6 --banyan-radix=2 --banyan-fabric=tcp -o "$OUT.out" job.sh
is $? 3 "with options: the status is the script's"
served "with options" 6 6
like "$(tr -d ' \n' <"$OUT.tree")" '"radix":2' "with options: the tree has the radix"
over "with options"

OUT=$scratch/salloc
STATUS=4 timeout 300 salloc -Q -N3 -n5 --banyan ./job.sh 2>"$OUT.salloc"
is "$? $(without_stalls <"$OUT.salloc")" "4 " "salloc: the status is the command's, and not a word"
served salloc 3 5
over salloc

OUT=$scratch/plain
timeout 300 salloc -Q -N2 ./job.sh 2>"$OUT.salloc"
is "$(cat "$OUT.instance")" "" "without the option there is no instance"
like "$(cat "$OUT.status_json")" 'no instance of yours' "and none is found"

# ---- Wrong words ----

for words in --banyan-radix=1 --banyan-radix=x --banyan-fabric=; do
    run timeout 60 sbatch -Q -N1 "$words" --wrap "touch $scratch/never"
    ok "$words: refused" [ "$status" -ne 0 ]
    like "$err" 'banyan-(radix|fabric): expected' "$words: it says what is expected"
done

OUT=$scratch/broken
run timeout 300 sbatch -Q --wait -N2 --banyan-fabric=nonsense -o "$OUT.out" --wrap "touch $scratch/never"
ok "an instance that cannot be started: the job fails" [ "$status" -ne 0 ]
like "$(cat "$OUT.out")" 'nonsense' "its output has the reason"
like "$(cat "$OUT.out")" 'the script was not run' "and what became of the script"
run timeout 300 salloc -Q -N2 --banyan-fabric=nonsense touch "$scratch/never"
ok "salloc: it fails, too" [ "$status" -ne 0 ]
like "$err" 'nonsense' "with the reason"
none_runs() {
    [ -z "$(squeue -h -t running)" ]
}
ok "salloc has given the nodes back" until_true 30 none_runs
ok "no script was run" [ ! -e "$scratch/never" ]
over "no start"

# ---- Ends ----

cat >sleep.sh <<'J'
#!/bin/bash
"$banyan" run --per-node 1 sh -c 'touch $OUT.up.$BANYAN_RANK; sleep 1000' </dev/null
J

# submit NAME OPTION...: three ranks that sleep; sets id.
submit() {
    export OUT=$scratch/$1
    shift
    id=$(sbatch --parsable --no-requeue --exclusive -N3 --banyan -o "$OUT.out" "$@" sleep.sh)
}

# all_up NAME...: every rank has begun.
all_up() {
    local name
    for name; do
        [ "$(find "$scratch" -name "$name.up.*" | wc -l)" -eq 3 ] || return 1
    done
}

submit late
late=$id
submit cancelled
cancelled=$id
submit lost
lost=$id
ok "three jobs run" until_true 60 all_up late cancelled lost
scancel "$cancelled"
scontrol update "jobid=$late" EndTime=now # looked at twice a minute
node=$(scontrol show hostnames "$(squeue -h -j "$lost" -o %N)" | tail -n 1)
scontrol update "nodename=$node" state=down reason=test
ok "one is cancelled, a node of one fails, the time of one is up" until_true 180 none_runs
like "$(cat late.out)" 'DUE TO TIME LIMIT' "and that was why"
over "jobs that did not end by themselves"
done_testing

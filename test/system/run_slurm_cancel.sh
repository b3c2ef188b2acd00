#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# How a run ends that a real Slurm ends (contrib/testbed/with-slurm.sh): its processes get a SIGTERM and
# their time to save, as under srun; the user reads who has cancelled it; nothing is left, in /dev/shm
# neither.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"

if [ -z "${SLURM_TESTBED:-}" ]; then
    again_in_slurm run_slurm_cancel.sh 4 600
fi

export TMPDIR=$scratch
cd "$scratch" || exit 1
mount -t tmpfs none /dev/shm || skip_all "no tmpfs can be mounted"
export banyan scratch OUT

# What can save: it runs on until it has, and ends with a status of its own. Slurm and the daemon may both
# send the signal: the second comes while it saves.
cat >save.sh <<'J'
#!/bin/bash
trap 'trap "" TERM; sleep 0.3; echo "$BANYAN_RANK saved" >>$OUT.saved; exit 3' TERM
echo "$BANYAN_RANK" >>$OUT.up
while :; do sleep 0.1; done
J
cat >job.sh <<'J'
#!/bin/bash
"$banyan" run --kill-grace 60 -n 4 --per-node 2 --oversubscribe ./save.sh >$OUT.out 2>$OUT.err </dev/null
echo $? >$OUT.status
J
chmod +x save.sh job.sh

all_up() {
    [ "$(wc -l 2>/dev/null <"$OUT.up")" = 4 ]
}
nothing_left() {
    ! pgrep "^banyan" >/dev/null && ! compgen -G '/dev/shm/banyan-*' >/dev/null
}
# saved NAME REGEX: all four have saved, and the line says why. The batch script may have been ended, too.
saved() {
    ok "$1: nothing is left" until_true 20 nothing_left
    is "$(sort "$OUT.saved" 2>&1 | xargs)" "0 saved 1 saved 2 saved 3 saved" "$1: all processes save"
    like "$(grep ^banyan: "$OUT.err" | grep -v slurmstepd | without_stalls)" "$2" "$1: who has cancelled it"
    [ ! -e "$OUT.status" ] || is "$(cat "$OUT.status")" 143 "$1: status"
}

OUT=$scratch/scancel
id=$(sbatch --parsable -N2 -n4 -o "$OUT.batch" job.sh)
until_true 30 all_up
scancel "$id"
saved "scancel of sbatch" "^banyan: cancelled by Slurm \(signal 15 to the (daemon on sim[1-4]|root of this run)\)$"

OUT=$scratch/full
id=$(sbatch --parsable -N2 -n4 -o "$OUT.batch" --wrap 'trap : TERM; ./job.sh & while ! wait; do :; done; wait')
until_true 30 all_up
scancel --full --signal=TERM "$id"
saved "SIGTERM to all of the job" "^banyan: (cancelled by Slurm \(signal 15 to .*\)|terminated)$"
scancel "$id"

# A job that gives way to a more urgent one, which gets its nodes as soon as all have saved, and not only
# when the grace of 20 s is over; srun's ranks save, too.
for mode in cancelled requeued; do
    OUT=$scratch/srun.$mode
    id=$(sbatch --parsable --requeue -p $mode -N2 -n4 -o "$OUT.batch" --wrap \
        'export OUT; srun sh -c "export BANYAN_RANK=\$SLURM_PROCID; exec ./save.sh"')
    until_true 30 all_up
    timeout 300 srun -p urgent -N4 --exclusive true
    until_true 20 eval '[ "$(wc -l 2>/dev/null <"$OUT.saved")" = 4 ]'
    scancel "$id"
    is "$(sort "$OUT.saved" 2>&1 | xargs)" "0 saved 1 saved 2 saved 3 saved" "$mode: as srun does it"

    OUT=$scratch/$mode
    id=$(sbatch --parsable --requeue -p $mode -N2 -n4 -o "$OUT.batch" job.sh)
    until_true 30 all_up
    began=$SECONDS
    timeout 300 srun -p urgent -N4 --exclusive true
    ok "$mode for an urgent job, which runs in less than 20 s ($((SECONDS - began)))" \
        [ $((SECONDS - began)) -lt 20 ]
    state=$(squeue -h -j "$id" -o %T 2>/dev/null)
    scancel "$id"
    saved "$mode for an urgent job" "^banyan: cancelled by Slurm \(signal 15 to .*\)$"
    unlike "$state" RUNNING "$mode for an urgent job: it does not run on"
done

# The time limit.  (It is looked at twice a minute.)
OUT=$scratch/limit
id=$(sbatch --parsable -N2 -n4 -o "$OUT.batch" job.sh)
until_true 30 all_up
scontrol update jobid="$id" EndTime=now
until_true 60 test -e "$OUT.saved"
saved "the time limit" "^banyan: cancelled by Slurm \(signal 15 to .*\)$"

# The daemon of one node, front end and root, each before the others.
for part in banyand banyan-root banyan; do
    OUT=$scratch/$part
    id=$(sbatch --parsable -N2 -n4 -o "$OUT.batch" job.sh)
    until_true 30 all_up
    for pid in $(pgrep -x "$part" | tail -n 1); do
        kill -TERM "$pid"
    done
    case $part in
    banyand) line='cancelled( by [^ ]*)? \(signal 15 to the daemon on sim[1-4]\)' ;;
    banyan-root) line='cancelled( by [^ ]*)? \(signal 15 to the root of this run\)' ;;
    *) line=terminated ;;
    esac
    saved "SIGTERM to $part" "^banyan: $line$"
done

# scancel --signal goes to the daemons, which Slurm has started: the processes get it.
OUT=$scratch/usr1
cat >usr1.sh <<'J'
#!/bin/bash
trap 'echo "$BANYAN_RANK" >>$OUT.got; exit 0' USR1
echo "$BANYAN_RANK" >>$OUT.up
while :; do sleep 0.1; done
J
chmod +x usr1.sh
sed 's/save.sh/usr1.sh/' job.sh >job1.sh
id=$(sbatch --parsable -N2 -n4 -o "$OUT.batch" job1.sh)
until_true 30 all_up
scancel --signal=USR1 "$id"
ok "SIGUSR1 by scancel: the run ends" until_true 20 test -e "$OUT.status"
is "$(cat "$OUT.status") $(sort -u "$OUT.got" | xargs)" "0 0 1 2 3" "all processes get it"

# A step whose tasks are runs of their own.
OUT=$scratch/step
timeout 4 srun -N2 -n2 "$banyan" run sleep 100 >"$OUT.out" 2>&1 </dev/null
ok "a step of runs, ended by SIGTERM to srun: nothing is left" until_true 10 nothing_left
nothing_left || diag "$(pgrep -al banyan) $(ls /dev/shm)"
diag "$(cat "$OUT.out")"
sbatch -Q -N2 -n2 -o "$OUT.out" --wrap 'srun "$banyan" run sleep 100' --job-name step
until_true 20 pgrep -x sleep
scancel -n step
ok "a step of runs, ended by scancel: nothing is left" until_true 10 nothing_left
nothing_left || diag "$(pgrep -al banyan) $(ls /dev/shm)"
done_testing

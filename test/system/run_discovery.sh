#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# To which instance `banyan run` goes whose user names none: the only one, that of the scheduler's job, or a new one.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"
unset BANYAN_INSTANCE

verb() { run "$banyan" "$@" </dev/null; }
# is_in NODE NAME ARGUMENT...: a run goes to the node of that name; "-": to this machine.
is_in() {
    local node=$1 name=$2
    shift 2
    [ "$node" != - ] || node=$(uname -n)
    verb run "$@" -n 1 sh -c 'echo "$BANYAN_NODE"'
    is "$status $out" "0 $node" "$name"
}

is_in - "no instance" -v
first=$("$banyan" start --daemonize --virtual-nodes 2 --slots 2)
is_in v1 "the only instance"
is "$err" "" "without a word"
is_in v1 "the only instance, with -v" -v
like "$err" "^banyan: in the instance $first, the only one of yours" "which says so"
verb run -n 4 sh -c 'echo "$BANYAN_NODE"'
is "$(sort <<<"$out" | uniq -c | tr -s ' \n' ' ')" " 2 v1 2 v2 " "with all of its slots"
verb run -n 5 true
is "$status $(wc -l <<<"$err")" "125 1" "what does not fit there: status and one line"
like "$err" '5 processes requested, but there are 4 slots .*--instance none' "which says what to do"

# Its own.
is_in - "--instance none" --instance none
BANYAN_INSTANCE=none is_in - "BANYAN_INSTANCE=none"
is_in - "options that describe nodes" --slots 4
is_in - "options of the network" --net lo
TMPDIR=$scratch is_in - "another TMPDIR"
SLURM_JOB_ID=7 SLURM_JOB_NODELIST=$(uname -n) SLURM_TASKS_PER_NODE=1 \
    is_in - "a scheduler's job in which it was not started" --starter local
# A job of the instance does not wait for slots that it has itself.
verb run -n 4 sh -c 'TMPDIR='"$TMPDIR"'; export TMPDIR; [ "$BANYAN_RANK" != 0 ] || "$1" run -n 1 echo nested' - "$banyan"
is "$status $out" "0 nested" "a run within a job of the instance"

# Of several none.
second=$("$banyan" start --daemonize --virtual-nodes 3)
ok "two instances of one user" test -d "$first" -a -d "$second"
is_in - "which of two is not known" -v
like "$err" '2 instances of yours run here: making another' "which is said with -v"
BANYAN_INSTANCE=$second is_in v1 "but one can be named"
printf 'version 0.0 (control 1)\n' >"$second/about"
is_in v1 "one of another version does not count"
verb stop --instance "$first"
is_in - "and is not taken" -v
like "$err" "not in the instance $second: it is of banyan 0.0 \(control 1\), this is" "which is said with -v"
verb stop --instance "$second"

# It knows the scheduler's job in which it was started.
scheduler_job='import json, sys
got = json.load(sys.stdin)
print(json.dumps((got if type(got) is dict else got[0])["scheduler_job"]))'
third=$(SLURM_JOB_ID=4711 SLURM_JOB_NAME='two words' SLURM_JOB_NODELIST=$(uname -n) SLURM_TASKS_PER_NODE=1 \
    "$banyan" start --daemonize --virtual-nodes 1)
export BANYAN_INSTANCE=$third
like "$("$banyan" status)" $'\njob of    slurm: 4711, two words\n' "status shows the scheduler's job"
expected='{"scheduler": "slurm", "job": "4711", "name": "two words"}'
is "$("$banyan" status --json | python3 -c "$scheduler_job")" "$expected" "also in JSON"
"$banyan" run --detach sleep 600 >/dev/null
is "$("$banyan" ps --json | python3 -c "$scheduler_job")" "$expected" "so does each job of ps"
verb stop --now
unset BANYAN_INSTANCE
PBS_JOBID=9.server PBS_JOBNAME=night "$banyan" run --host localhost --json "$scratch/record" true
is "$(python3 -c "$scheduler_job" <"$scratch/record")" \
    '{"scheduler": "pbs", "job": "9.server", "name": "night"}' "and the record of a run"

# What a dead root leaves is no instance.
dir=$("$banyan" start --daemonize --virtual-nodes 1)
root=$("$banyan" status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["root"])')
kill -9 "$root"
no_root() { ! grep -qs '^State:.[^Z]' "/proc/$root/status"; }
until_true 30 no_root
is_in - "the root has died"
"$banyan" run --instance "$dir" true 2>"$scratch/err"
is "$? $(wc -l <"$scratch/err")" "125 1" "one that is named and has died: status and one line"
like "$(cat "$scratch/err")" "no instance (runs )?at $dir" "which says so"
nothing_left_within 60 none "nothing is left"
done_testing

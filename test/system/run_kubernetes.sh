#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# contrib/kubernetes: the pods of an indexed Job join by themselves. The command of job.yaml runs here once for each
# index, with the variables that the manifest sets, as pods that share a directory.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/leftovers.sh"

room=$srcdir/contrib/kubernetes
mkdir "$scratch/shared" "$scratch/log"

# manifest KEY: the value of the first such key of job.yaml.
manifest() {
    sed -n "s/^ *$1: *//p" "$room/job.yaml" | head -n 1
}

# variable NAME: its value there.
variable() {
    sed -n "/- name: $1\$/{n;s/^ *value: *//p}" "$room/job.yaml" | tr -d '"'
}

pods=$(manifest completions)
script=$room/$(basename "$(manifest command | tr -d '[]"')")
is "$pods $(manifest parallelism) $(manifest completionMode)" "$(variable BANYAN_PODS) $pods Indexed" \
    "all pods of the Job run at once, and are numbered"
is "$(manifest name)" "$(variable BANYAN_JOB)" "pods are called after the Job"
like "$(cat "$room/job.yaml")" "mountPath: $(variable BANYAN_SHARED)" "where the pods look for the tokens"
ok "the command is there" [ -x "$script" ]

# pod INDEX PROGRAM...: one of them, in the background.
pod() {
    local index=$1
    shift
    env -u BANYAN_INSTANCE JOB_COMPLETION_INDEX="$index" BANYAN_PODS="$pods" BANYAN_JOB="$(variable BANYAN_JOB)" \
        BANYAN_RUN="$run_id" BANYAN_SHARED="$scratch/shared" BANYAN_PATIENCE=200 BANYAN="$banyan" BT_MARK="$mark" \
        BANYAN_OPTIONS="$(variable BANYAN_OPTIONS) --net lo --timeout 240 -x BT_MARK=$mark" \
        "$script" "$@" </dev/null >"$scratch/log/$index.out" 2>"$scratch/log/$index.err" &
    pids[index]=$!
}

# job PROGRAM...: all pods, the last first; their exit statuses in $statuses.
job() {
    local index code
    new_mark
    run_id=$RANDOM
    pids=()
    for index in $(seq $((pods - 1)) -1 0); do pod "$index" "$@"; done
    statuses=
    for index in $(seq 0 $((pods - 1))); do
        code=0
        wait "${pids[index]}" || code=$?
        statuses="$statuses$code "
    done
    out=$(cat "$scratch/log/0.out")
}

job sh -c 'echo "$BANYAN_NODE"'
is "$statuses" "0 0 0 0 " "a Job: all pods end well"
is "$(sort <<<"$out" | paste -sd' ')" \
    "[0] banyan-demo-0 [1] banyan-demo-1 [2] banyan-demo-2 [3] banyan-demo-3" "each pod had a process, pod 0 has the output"
is "$(ls -A "$scratch/shared")" "" "no token is left"
nothing_left "nothing is left"

job sh -c 'exit 7'
is "${statuses%% *}" 7 "a program that fails: pod 0 has its status"
nothing_left "the others end, too"

# What the manifest lacks is said at once, with the key that sets it.
run env -u JOB_COMPLETION_INDEX "$script" true
is "$status" 125 "a Job that is not indexed"
like "$err" 'pod.sh: JOB_COMPLETION_INDEX is not set: the Job needs completionMode: Indexed' "is told so"
run env JOB_COMPLETION_INDEX=0 BANYAN_PODS=2 BANYAN_JOB=x BANYAN_SHARED="$scratch/none" "$script" true
is "$status" 125 "no volume"
like "$err" 'BANYAN_SHARED is not a directory' "is told, too"
run env JOB_COMPLETION_INDEX=1 BANYAN_PODS=2 BANYAN_JOB=x BANYAN_SHARED="$scratch/shared" BANYAN_PATIENCE=0 "$script" true
is "$status" 125 "no pod 0"
like "$err" 'no token for x-1 in .*: is pod 0 running' "is told by the others"

done_testing

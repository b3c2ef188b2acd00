#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# pod.sh PROGRAM [ARGUMENT...]: what each pod of an indexed Job runs (job.yaml). Pod 0 runs the program on all pods with
# `banyan run --starter join`; every pod, pod 0 too, joins as the node of its own name when the tokens are there.
# README.rst describes the variables. Exits as the program does (pod 0), or as its daemon does (others).
set -eu

fail() {
    echo "pod.sh: $1" >&2
    exit 125
}

[ $# -gt 0 ] || fail "no program given"
[ -n "${JOB_COMPLETION_INDEX:-}" ] || fail "JOB_COMPLETION_INDEX is not set: the Job needs completionMode: Indexed"
[ -n "${BANYAN_PODS:-}" ] || fail "BANYAN_PODS is not set: it is the number of pods, spec.completions"
[ -n "${BANYAN_JOB:-}" ] || fail "BANYAN_JOB is not set: it is the name of the Job"
[ -d "${BANYAN_SHARED:-}" ] || fail "BANYAN_SHARED is not a directory: it is a volume that all pods mount"

# Each run of a Job has a file of its own, so that no pod takes the tokens of an earlier one.
tokens=$BANYAN_SHARED/$BANYAN_JOB.${BANYAN_RUN:-0}.join
node=$BANYAN_JOB-$JOB_COMPLETION_INDEX
patience_s=${BANYAN_PATIENCE:-600}

# Waits for this pod's token and becomes its daemon.
join() {
    waited=0
    until grep -q "^$node " "$tokens" 2>/dev/null; do
        [ "$waited" -lt "$patience_s" ] || fail "no token for $node in $tokens within $patience_s s: is pod 0 running?"
        waited=$((waited + 1))
        sleep 1
    done
    exec "${BANYAN_DAEMON:-banyand}" --join "$tokens" --node "$node"
}

[ "$JOB_COMPLETION_INDEX" = 0 ] || join

names=$BANYAN_JOB-0
index=1
while [ "$index" -lt "$BANYAN_PODS" ]; do
    names=$names,$BANYAN_JOB-$index
    index=$((index + 1))
done
join &
daemon=$!
trap 'kill "$run" 2>/dev/null' TERM INT
# shellcheck disable=SC2086 # options are words
"${BANYAN:-banyan}" run --starter join --join-file "$tokens" --start-timeout "$patience_s" --host "$names" \
    ${BANYAN_OPTIONS:-} "$@" &
run=$!
status=0
wait "$run" || status=$?
# A signal ends the wait, not the run.
while kill -0 "$run" 2>/dev/null; do
    status=0
    wait "$run" || status=$?
done
kill "$daemon" 2>/dev/null || true # it waits for a token that no longer comes, or has ended
wait "$daemon" 2>/dev/null || true
exit "$status"

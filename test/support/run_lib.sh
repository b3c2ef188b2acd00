# SPDX-License-Identifier: BSD-3-Clause
#
# What the scripts that test `banyan run` share. Sourced after lib.sh: TMPDIR is then a directory of
# their own, in which nothing may be left.

mkdir "$scratch/tmp"
export TMPDIR=$scratch/tmp

# The command under test leaves a mark in the environment of all its processes.
printf '#!/bin/bash\nBANYAN_TEST_MARK=%s exec %s "$@"\n' "$scratch" "$banyan" >"$scratch/banyan"
chmod +x "$scratch/banyan"
banyan=$scratch/banyan

# one_line TEXT: exactly one line.
one_line() {
    [ -n "$1" ] && [ "$(printf '%s\n' "$1" | wc -l)" -eq 1 ]
}

# refuses STATUS REGEX NAME ARGUMENT...: `banyan ARGUMENT...` ends with that status and one line on
# stderr that matches, and says nothing on stdout.
refuses() {
    local expected=$1 regex=$2 name=$3
    shift 3
    run "$banyan" "$@" </dev/null
    if [ "$status" = "$expected" ] && [[ $err =~ ^banyan:\ .*$regex ]] && one_line "$err" &&
        [ -z "$out" ]; then
        pass "$name"
    else
        fail "$name"
        diag "status $status, expected $expected; stderr (expected '$regex'): $err"
        [ -z "$out" ] || diag "stdout: $out"
    fi
}

# run_client OPTION... -- CALL...: the ranks of $program, a client of libpmix, make the calls; $out, $err and $status as of run.
run_client() {
    local options=()
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    run "$banyan" run --timeout 240 --mpi pmix "${options[@]}" "$program" "$@" </dev/null
}

# ours [SESSION]: all processes of this script's runs, and those of a session.
ours() {
    grep -lzsE "^(BANYAN_TEST_MARK=$scratch|BANYAN_SESSION=${1:-none})\$" /proc/[0-9]*/environ |
        cut -d / -f 3
}

left_files() {
    find "$TMPDIR" -mindepth 1
}
nothing_left() {
    [ -z "$(left_files)" ] && [ -z "$(ours "$1")" ] && ! compgen -G "/dev/shm/banyan-$1.*" >/dev/null
}

# nothing_left_within SECONDS SESSION NAME
nothing_left_within() {
    if until_true "$1" nothing_left "$2"; then
        pass "$3"
    else
        fail "$3"
        diag "files: $(left_files) $(compgen -G "/dev/shm/banyan-$2.*")"
        for process in $(ours "$2"); do
            diag "process $process: $(tr '\0' ' ' <"/proc/$process/cmdline")"
        done
    fi
}

# session_of FILE: of a record that --json wrote.
session_of() {
    sed -n 's/.*"session": "\(.*\)".*/\1/p' "$1"
}

# start ARGUMENT...: `banyan run ARGUMENT...` in the background, in $pid, once a rank has printed
# "ready SESSION" (session is then set). Output is in $scratch/.out and $scratch/.err.
start() {
    : >"$scratch/.out"
    "$banyan" run "$@" >"$scratch/.out" 2>"$scratch/.err" </dev/null &
    pid=$!
    until_true 10 grep -q '^ready ' "$scratch/.out" || diag "it did not start: $(cat "$scratch/.err")"
    session=$(sed -n 's/^ready //p' "$scratch/.out" | head -n 1)
}

# finish: waits for it; sets $status, $err and $took (seconds since the call or $began).
finish() {
    local start=${began:-$(now)}
    wait "$pid"
    status=$?
    took=$(elapsed "$start")
    err=$(without_stalls <"$scratch/.err")
}

now() {
    date +%s.%N
}

elapsed() {
    awk -v from="$1" -v to="$(now)" 'BEGIN { printf "%.2f", to - from }'
}

# less A B: as numbers.
less() {
    awk -v a="$1" -v b="$2" 'BEGIN { exit !(a < b) }'
}

# SPDX-License-Identifier: BSD-3-Clause
#
# The parts of bench.sh that measure banyan alone, against the yardsticks or a bound: what an instance costs and how
# fast its jobs are, output, and files. measure.sh says what the functions are.

# begin NODES [OPTION...]: an instance behind the fake ssh, which BANYAN_INSTANCE then names; end: it ends. Both set
# problem ("": none).
begin() {
    local nodes=$1
    shift
    problem=
    BANYAN_INSTANCE=$("$top_builddir/banyan" start --ssh-agent "$ssh_agent" --host "v[1-$nodes]" \
        --daemonize "$@" 2>"$scratch/out" </dev/null)
    export BANYAN_INSTANCE
    [ -n "$BANYAN_INSTANCE" ] || problem="no instance: $(tail -n 1 "$scratch/out" | cut -c1-200)"
}
end() {
    [ -z "$BANYAN_INSTANCE" ] || "$top_builddir/banyan" stop 2>"$scratch/out" ||
        problem=${problem:-"stop: $(tail -n 1 "$scratch/out" | cut -c1-200)"}
    unset BANYAN_INSTANCE
}

# note_share CASE SYSTEM COUNTS JOBS: how long one of so many took.
note_share() {
    note "$3" "$1" "$2" "$([ -z "$problem" ] && echo $((wall_ns / $4)) || echo -)" "${problem:-ok}"
}

announce_warm() {
    record case "$1" "$2" "$3, one after the other"
    record case "$1-8" "$2" "  8 at a time"
}

measure_warm() {
    local one='"$0" run -n 1 true </dev/null || exit'
    begin "$3"
    if [ -z "$problem" ]; then
        timed bash -c "for ((i = 0; i < 200; i++)); do $one; done" "$top_builddir/banyan"
        note_share "$1" "$2" "$5" 200
        timed bash -c 'seq 400 | xargs -P 8 -n 1 sh -c "\"$top_builddir/banyan\" run -n 1 true </dev/null || exit 255"'
        note_share "$1-8" "$2" "$5" 400
    fi
    end
    [ -z "$problem" ] || note "$5" "$1" "$2" - "$problem"
}

announce_all() { announce_timed "$@"; }

measure_all() {
    begin "$3"
    if [ -z "$problem" ]; then
        : >"$scratch/count"
        timed "$top_builddir/banyan" run --per-node "$4" "$tools/count" "$scratch/count"
        counted $(($3 * $4)) "$(stat -c %s "$scratch/count")"
    fi
    note_timed "$1" "$2" "$5"
    end
}

announce_idle() {
    record case "$1" KiB "$3: private dirty memory"
    record case "$1-threads" 1 "  threads"
    record case "$1-wakes" 1/s "  wake-ups, median"
    record case "$1-wakes-most" 1/s "  wake-ups, most of any but the root"
}

# Of each daemon behind the fake ssh: process, private dirty bytes, threads, switches.
look_at_idle() {
    local process
    for process in /proc/[0-9]*; do
        [ "$(cat "$process/comm" 2>/dev/null)" = banyand ] &&
            tr '\0' '\n' <"$process/environ" 2>/dev/null | grep -qxF "FAKESSH_BASE=$FAKESSH_BASE" || continue
        awk -v process="$process" '$1 == "Private_Dirty:" { dirty = $2 * 1024 } $1 == "Threads:" { threads = $2 }
            $1 == "voluntary_ctxt_switches:" { switches = $2 }
            END { print process, dirty, threads, switches }' "$process/smaps_rollup" "$process/status"
    done
}

measure_idle() {
    local seconds=20
    begin "$3"
    if [ -z "$problem" ]; then
        sleep 20 # until waves come as rarely as they ever do (overlay/lease.c)
        look_at_idle >"$scratch/before"
        sleep $seconds
        look_at_idle >"$scratch/after"
        [ "$(wc -l <"$scratch/after")" -eq "$3" ] || problem="$(wc -l <"$scratch/after") of $3 daemons seen"
    fi
    if [ -z "$problem" ]; then
        # What is done to look is not theirs; both looks take as long.
        join <(sort "$scratch/before") <(sort "$scratch/after") |
            awk -v seconds=$seconds '{ printf "%d %d %d\n", $5, $6, ($7 - $4) * 1000 / seconds }' >"$scratch/idle"
        note "$5" "$1" "$2" "$(median_of 1 <"$scratch/idle")" ok
        note "$5" "$1-threads" "$2" "$(median_of 2 <"$scratch/idle")" ok
        note "$5" "$1-wakes" "$2" "$(median_of 3 <"$scratch/idle")" ok
        note "$5" "$1-wakes-most" "$2" "$(awk '{ print $3 }' "$scratch/idle" | sort -n | tail -n 1)" ok
    fi
    end
    [ -z "$problem" ] || note "$5" "$1" "$2" - "$problem"
}

announce_output() {
    record case "$1" "$2" "$3, to one file"
    record case "$1-memory" KiB "  most memory of a daemon"
    record case "$1-cat" "$2" "  the same by one cat after the other"
}

# watch_memory: the largest resident set of a daemon in the last look before they end.
watch_memory() {
    local process
    while :; do
        for process in /proc/[0-9]*; do
            case $(cat "$process/comm" 2>/dev/null) in
            banyand | banyan-root) sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "$process/status" 2>/dev/null ;;
            esac
        done >>"$scratch/memory"
        sleep 0.2
    done
}

measure_output() {
    local line='the quick brown fox jumps over the lazy dog, 64 bytes of a line' bytes=$((32 * 1024 * 1024))
    local ranks=$(($3 * $4)) watcher start_ns
    yes "$line" | head -c $bytes >"$scratch/lines"
    : >"$scratch/memory"
    watch_memory &
    watcher=$!
    timed "$top_builddir/banyan" run --ssh-agent "$ssh_agent" --host "v[1-$3]" --per-node "$4" --oversubscribe \
        cat "$scratch/lines"
    kill $watcher
    wait $watcher 2>/dev/null
    counted $((ranks * bytes)) "$(stat -c %s "$scratch/out")"
    [ -n "$problem" ] || [ "$(LC_ALL=C grep -cvxF "$line" "$scratch/out")" -eq 0 ] || problem="a line is broken"
    note "$5" "$1" "$2" "$([ -z "$problem" ] && echo "$wall_ns" || echo -)" "${problem:-ok}"
    note "$5" "$1-memory" "$2" "$(($(sort -n "$scratch/memory" | tail -n 1) * 1024))" ok
    rm -f "$scratch/out"
    start_ns=$(date +%s%N)
    for ((rank = 0; rank < ranks; rank++)); do
        cat "$scratch/lines"
    done >"$scratch/copy"
    note "$5" "$1-cat" "$2" $(($(date +%s%N) - start_ns)) ok
    rm -f "$scratch/copy" "$scratch/lines"
}

announce_push() {
    record case "$1" "$2" "$3"
    record case "$1-cp" "$2" "  cp to each, one after the other"
}

measure_push() {
    local start_ns node
    head -c 67108864 /dev/urandom >"$scratch/file"
    begin "$3"
    if [ -z "$problem" ]; then
        timed "$top_builddir/banyan" push "$scratch/file"
        note_share "$1" "$2" "$5" 1
        mkdir "$scratch/copies"
        start_ns=$(date +%s%N)
        for ((node = 0; node < $3; node++)); do
            cp "$scratch/file" "$scratch/copies/$node"
        done
        note "$5" "$1-cp" "$2" $(($(date +%s%N) - start_ns)) ok
        rm -rf "$scratch/copies"
    fi
    end
    [ -z "$problem" ] || note "$5" "$1" "$2" - "$problem"
    rm -f "$scratch/file"
}

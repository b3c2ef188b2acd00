# SPDX-License-Identifier: BSD-3-Clause
#
# The parts of bench.sh: what one run of each kind of case does, and how it is checked. A kind has
#
#     announce_KIND CASE UNIT TITLE                       records the case, or several
#     measure_KIND CASE SYSTEM NODES PER_NODE COUNTS      one run; COUNTS 0: a warm-up
#
# report.awk describes the records.

# A run that takes longer has failed.
limit_s=60

record() {
    local IFS=$'\t'
    printf '%s\n' "$*" >>"$raw"
}

# note COUNTS CASE SYSTEM VALUE REASON: a sample; the warm-up is heard of only if it fails.
note() {
    if [ "$1" -eq 1 ] || [ "$5" != ok ]; then
        record sample "$2" "$3" "$4" "$5"
    fi
    [ "$5" = ok ] || echo "bench.sh: $2, $3: $5" >&2
}

prepare() {
    : >"$raw"
    record machine cpu "$(nproc) x $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
    record machine system "$(. /etc/os-release && echo "$PRETTY_NAME"), Linux $(uname -r)"
    record machine date "$(date -u +%Y-%m-%d)"
    # Where virtual nodes live, and what they must be told.
    export FAKESSH_BASE=$scratch/nodes
    export FAKESSH_KEEP=BANYAN_PKGLIBDIR
    export BANYAN_PKGLIBDIR=$top_builddir/.libs
    export BANYAN_DAEMON=$top_builddir/banyand
    # Open MPI: root is asked twice; the transport is the same whoever starts it; and 64 nodes on a
    # few cores must not spin, or nothing but their spinning is measured.
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader,tcp OMPI_MCA_mpi_yield_when_idle=1
    mkdir "$FAKESSH_BASE"
    mkfifo "$scratch/hold"
    local name
    for name in openmpi mpich; do
        if command -v mpicc.$name >/dev/null; then
            "mpicc.$name" -O2 -o "$scratch/hello_$name" "$srcdir/test/tool/mpi/hello.c" || return 1
        fi
    done
}

yardsticks() {
    local exec_ns hop_ns suffix
    : >"$scratch/count"
    exec_ns=$("$tools/yardstick" exec "$tools/count" "$scratch/count")
    hop_ns=$("$tools/yardstick" hop)
    for suffix in '' -cpu -modex -dirty; do
        record yard "$1$suffix" "$exec_ns" "$hop_ns"
    done
}

# timed COMMAND...: sets wall_ns, cpu_ns and problem ("" if it ended well), output in $scratch/out.
timed() {
    local status left
    read -r wall_ns cpu_ns status left < <("$tools/timer" $limit_s "$scratch/out" "$@")
    case $status/$left in
    0/0) problem= ;;
    0/*) problem="left $left processes running" ;;
    timeout/*) problem="did not end within $limit_s s" ;;
    *) problem="exit status $status: $(tail -n 1 "$scratch/out" | cut -c1-200)" ;;
    esac
}

# counted EXPECTED GOT: so many processes should have run.
counted() {
    [ -n "$problem" ] || [ "$1" -eq "$2" ] || problem="$2 of $1 processes ran"
}

announce_timed() {
    record case "$1" "$2" "$3"
    record case "$1-cpu" "$2" "  CPU of all"
}
announce_start() { announce_timed "$@"; }
announce_openmpi() { announce_timed "$@"; }
announce_mpich() { announce_timed "$@"; }

note_timed() {
    note "$3" "$1" "$2" "$([ -z "$problem" ] && echo "$wall_ns" || echo -)" "${problem:-ok}"
    [ -n "$problem" ] || note "$3" "$1-cpu" "$2" "$cpu_ns" ok
}

measure_start() {
    local command expected=$((($3 > 0 ? $3 : 1) * $4))
    : >"$scratch/count"
    # shellcheck disable=SC2154 # of systems.sh
    command_"$2" "$3" "$4" "$tools/count" "$scratch/count" ${lingers_ms[$2]:+"${lingers_ms[$2]}"}
    timed "${command[@]}"
    counted $expected "$(stat -c %s "$scratch/count")"
    note_timed "$1" "$2" "$5"
}

# Virtual nodes of its own, as there is nobody to compare with but the yardstick of vfork and exec.
announce_tasks() { announce_timed "$@"; }

measure_tasks() {
    local tasks=10000
    yes true | head -n $tasks >"$scratch/tasks"
    rm -f "$scratch/joblog"
    timed "$top_builddir/banyan" run --virtual-nodes "$3" --slots "$4" --tasks "$scratch/tasks" \
        --joblog "$scratch/joblog"
    counted $((tasks + 1)) "$(wc -l <"$scratch/joblog")"
    note_timed "$1" "$2" "$5"
}

measure_hello() {
    local command expected=$((($3 > 0 ? $3 : 1) * $4)) mpi=$6
    command_"$2" "$3" "$4" "$scratch/hello_$mpi" $expected
    timed "${command[@]}"
    counted $expected "$(grep -c "^rank [0-9]* of $expected on " "$scratch/out")"
    note_timed "$1" "$2" "$5"
}
measure_openmpi() { measure_hello "$@" openmpi; }
measure_mpich() { measure_hello "$@" mpich; }

announce_fence() {
    record case "$1" "$2" "$3"
    record case "$1-modex" "$2" "  the same with ${4:-64 bytes} a rank"
}
announce_fence_8k() { announce_fence "$@" "8 KiB"; }

measure_fence() {
    local command expected=$(($3 * $4)) word size barrier_ns=- modex_ns=- bytes=${6:-64}
    command_"$2" "$3" "$4" "$tools/fence" $expected "$bytes"
    timed "${command[@]}"
    if [ -z "$problem" ]; then
        read -r word size barrier_ns modex_ns _ < <(grep '^fence ' "$scratch/out")
        [ "${word:-}" = fence ] && [ "$size" -eq $expected ] || problem="no result"
    fi
    note "$5" "$1" "$2" "$barrier_ns" "${problem:-ok}"
    [ -n "$problem" ] || note "$5" "$1-modex" "$2" "$modex_ns" ok
}

measure_fence_8k() { measure_fence "$@" 8192; }

announce_daemon() {
    record case "$1" ms "$3: CPU to start true"
    record case "$1-dirty" KiB "  private dirty memory"
}

# look_at_daemons PROGRAM: per node the CPU time in ns and the private dirty bytes of all processes
# of that name, agent included (it is the same process until it executes the daemon).
look_at_daemons() {
    local process node cpu dirty
    for process in /proc/[0-9]*; do
        [ "$(cat "$process/comm" 2>/dev/null)" = "${1:0:15}" ] || continue
        node=$(tr '\0' '\n' <"$process/environ" 2>/dev/null |
            awk -F= -v base="$FAKESSH_BASE" '$1 == "FAKESSH_BASE" && $2 == base { ours = 1 }
                $1 == "FAKESSH_HOST" { host = $2 } END { if (ours) print host }')
        [ -n "$node" ] || continue
        cpu=$(cat "$process"/task/*/schedstat 2>/dev/null | awk '{ ns += $1 } END { print ns + 0 }')
        dirty=$(awk '$1 == "Private_Dirty:" { print $2 * 1024 }' "$process/smaps_rollup" 2>/dev/null)
        echo "$node $cpu ${dirty:-0}"
    done | awk '{ cpu[$1] += $2; dirty[$1] += $3 } END { for (n in cpu) print cpu[n], dirty[n] }'
}

# median COLUMN
median_of() {
    awk -v column="$1" '{ print $column }' | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

measure_daemon() {
    local command expected=$(($3 * $4)) end=$((SECONDS + limit_s)) timer seen
    : >"$scratch/count"
    command_"$2" "$3" "$4" "$tools/count" "$scratch/count" "$scratch/hold"
    "$tools/timer" $limit_s "$scratch/out" "${command[@]}" >"$scratch/timer" &
    timer=$!
    until [ "$(stat -c %s "$scratch/count")" -eq $expected ] || [ $SECONDS -ge $end ]; do
        sleep 0.05
    done
    look_at_daemons "$(daemons_"$2")" >"$scratch/daemons"
    # Opened by the first to write, all who wait go on; repeated for one that came late.
    while kill -0 $timer 2>/dev/null; do
        timeout 0.2 bash -c ': >"$0"' "$scratch/hold"
    done
    wait $timer
    seen=$(wc -l <"$scratch/daemons")
    problem=
    [ "$(cut -d ' ' -f 3-4 "$scratch/timer")" = "0 0" ] ||
        problem="wall, CPU, status, left: $(cat "$scratch/timer")"
    [ -n "$problem" ] || [ "$seen" -eq "$3" ] || problem="$seen of $3 daemons seen"
    if [ -n "$problem" ]; then
        note "$5" "$1" "$2" - "$problem"
    else
        note "$5" "$1" "$2" "$(median_of 1 <"$scratch/daemons")" ok
        note "$5" "$1-dirty" "$2" "$(median_of 2 <"$scratch/daemons")" ok
    fi
}

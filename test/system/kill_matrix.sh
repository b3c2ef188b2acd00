#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The kill matrix: kill -9 of each part of a run and of each pair of parts, while it starts, runs and
# ends, on virtual nodes, nodes behind an agent, and one node. Afterwards no process lives, and nothing
# is left in TMPDIR, /dev/shm and among the cgroups. The ranks ignore SIGTERM, have a child and a child
# in a session of its own.
#
# KILLS=12   so many of the cells, chosen at random; all: each cell once
# SEED=n     of the choice; a failure prints the CELL that replays it
# CELL=where/when/part+part/delay in ms     this one, KILLS times (default 1)
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/leftovers.sh"

kills=${KILLS:-${CELL:+1}}
kills=${kills:-12}
seed=${SEED:-$(($(date +%s%N) / 1000 % 1000000))}
# What is promised is within promise_ms; on a machine with other work it may be later, but not by more
# than a daemon's patience with others, which is 11 s and more.
patience_s=${PATIENCE:-30}
RANDOM=$((seed % 32768))
fakessh=$top_builddir/contrib/testbed/fakessh
agent=$scratch/agent

places=(virtual ssh one)
times=(start run end)
parts=(front root root-helper daemon daemon-helper rank agent)
client=$top_builddir/test/tool/pmix_calls
[ ! -x "$client" ] || parts+=(server)

cat >"$scratch/stubborn" <<'SH'
#!/bin/sh
trap '' TERM
sleep 1000 &
setsid sleep 1000 &
[ -z "$2" ] || "$2" fence sleep:1000000 >/dev/null 2>&1 &
echo up
[ -p "$1" ] || exit 1
read -r word <"$1"
SH
chmod +x "$scratch/stubborn"

# As ssh is: a process of its own, by whose end the daemon's output is closed. (The last of a pipeline
# is this shell itself, which becomes cat.)
cat >"$agent" <<SH
#!/bin/bash
shopt -s lastpipe
"$fakessh" "\$@" 2>&1 | exec cat
SH
chmod +x "$agent"

# ---- The parts of a run, by the name of a process; of several any one ----

# Of all that the run has started: "pid parent name", one a line.
table() {
    local file pid name rest
    local -a field
    for file in $(grep -lzx "BT_MARK=$mark" /proc/[0-9]*/environ 2>/dev/null); do
        pid=${file//[!0-9]/}
        read -r rest <"/proc/$pid/stat" || continue
        name=${rest#*(}
        name=${name%)*}
        read -ra field <<<"${rest##*) }"
        [ "${field[0]}" = Z ] || echo "$pid ${field[1]} $name"
    done 2>/dev/null
}

marked_pids() {
    grep -lzx "BT_MARK=$mark" /proc/[0-9]*/environ 2>/dev/null | tr -dc '0-9\n'
}

# name_of PID
name_of() {
    cat "/proc/$1/comm" 2>/dev/null
}

# find_part PART: a pid of it, or nothing.
find_part() {
    local pid parent name root
    local -a found=()
    root=$(awk '$3 == "banyan-root" { print $1; exit }' <<<"$table")
    while read -r pid parent name; do
        case $1:$name in
        front:*) [ "$pid" = "$front" ] && found+=("$pid") ;;
        root:banyan-root | daemon:banyand | rank:stubborn | server:banyan-pmix) found+=("$pid") ;;
        agent:cat) found+=("$pid") ;;
        root-helper:banyan-helper) [ "$parent" = "$root" ] && found+=("$pid") ;;
        daemon-helper:banyan-helper) [ "$parent" != "$root" ] && found+=("$pid") ;;
        esac
    done <<<"$table"
    [ ${#found[@]} -eq 0 ] || echo "${found[$((pick % ${#found[@]}))]}"
}

# find_victims PART...: 0 if all are there, in $victims.
find_victims() {
    local part pid
    table=$(table)
    victims=()
    for part; do
        pid=$(find_part "$part")
        [ -n "$pid" ] && victims+=("$pid")
    done
    [ ${#victims[@]} -eq $# ]
}

# What is not there yet is waited for, unless the run ends without it.
all_there_or_over() {
    find_victims "$@" || gone "$front"
}

gone() {
    [ ! -e "/proc/$1" ] || grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null
}

all_up() {
    [ "$(grep -c '^up$' "$scratch/out" 2>/dev/null)" -eq "$ranks" ] || gone "$front"
}

# ---- What is left ----

# Those of helpers whose numbers mean what they mean to us.
cgroup_base() {
    local mount own
    mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
    own=$(sed -n 's/^0:://p' /proc/self/cgroup)
    [ -z "$mount" ] || echo "$mount${own%/}"
}
cgroups=$(cgroup_base)
name_space=$(stat -L -c %i /proc/self/ns/pid)

left() {
    marked_pids | sed 's/^/process /'
    left_files
    [ -z "$cgroups" ] || find "$cgroups" -maxdepth 1 -name "banyan-$name_space-*" 2>/dev/null
}

nothing() {
    remains=$(left)
    [ -z "$remains" ]
}

# until_nothing: polls up to the patience; $took_ms.
until_nothing() {
    local begin_ms=$(($(date +%s%N) / 1000000))
    until nothing; do
        took_ms=$(($(date +%s%N) / 1000000 - begin_ms))
        [ $took_ms -lt $((patience_s * 1000)) ] || return 1
        sleep 0.02
    done
    took_ms=$(($(date +%s%N) / 1000000 - begin_ms))
}

# ---- One cell ----

# begin_run WHERE PART...: with clients of PMIx if their server is one of the parts
begin_run() {
    local -a where
    local speaks=
    [[ " $* " != *" server "* ]] || speaks=$client
    case $1 in
    virtual) where=(--virtual-nodes 4 --per-node 1) ranks=4 ;;
    ssh) where=(--host "n[1-4]" --starter ssh --ssh-agent "$agent" --per-node 1) ranks=4 ;;
    one) where=(-n 2 --oversubscribe) ranks=2 ;;
    esac
    mkfifo "$scratch/gate"
    : >"$scratch/out"
    new_mark
    BT_MARK=$mark FAKESSH_KEEP=BT_MARK,TMPDIR,BANYAN_PKGLIBDIR "$banyan" run "${where[@]}" -x BT_MARK="$mark" \
        "$scratch/stubborn" "$scratch/gate" "$speaks" >"$scratch/out" 2>"$scratch/err" </dev/null &
    front=$!
}

# Opens the gate for a moment: whoever is behind it goes on, and who is not there yet is killed.
open_gate() {
    exec {gate}<>"$scratch/gate"
    yes go 2>/dev/null | head -n 64 >&$gate
}

close_gate() {
    [ -z "${gate:-}" ] || exec {gate}>&-
    gate=
    rm -f "$scratch/gate"
}

# kill_cell WHERE/WHEN/PART[+PART]/DELAY
kill_cell() {
    local where when who delay
    local -a who_list
    IFS=/ read -r where when who delay <<<"$1"
    IFS=+ read -ra who_list <<<"$who"
    pick=$delay
    begin_run "$where" "${who_list[@]}"
    if [ "$when" != start ]; then
        until_true 20 all_up
        # Who takes part is looked for before the end, in which it may be gone.
        until_true 5 all_there_or_over "${who_list[@]}"
        [ "$when" = run ] || open_gate
    fi
    sleep "$(printf '0.%03d' "$delay")"
    [ "$when" != start ] || until_true 5 all_there_or_over "${who_list[@]}"
    [ ${#victims[@]} -eq 0 ] || kill -9 "${victims[@]}" 2>/dev/null
    [ "$who" != front+root+root-helper ] || sweep_after
    if until_nothing; then
        [ $took_ms -le "$longest_ms" ] || { longest_ms=$took_ms && longest=$1; }
        [ -z "${VERBOSE:-}" ] || diag "$took_ms ms: $1"
        pass "$1"
    else
        fail "$1: something is left after $patience_s s"
        diag "killed: ${victims[*]}; left:"
        diag "$remains"
        diag "$(for pid in $(marked_pids); do echo "$pid $(name_of "$pid")"; done)"
        diag "said: $(cat "$scratch/err")"
        diag "again: CELL=$1 $0"
        clear_away
    fi
    close_gate
    wait "$front" 2>/dev/null
}

# Where nobody of the run is left on a machine the next one there removes what is, once it is a few
# seconds old.
sweep_after() {
    local begin_ms=$(($(date +%s%N) / 1000000))
    until_true 20 no_marked
    swept_ms=$(($(date +%s%N) / 1000000 - begin_ms))
    nothing && return
    find "$TMPDIR" /dev/shm/banyan-* -type d -exec touch -d "1 minute ago" {} + 2>/dev/null
    "$banyan" run -n 1 true >"$scratch/next" 2>&1 || diag "the next run fails: $(cat "$scratch/next")"
}

# For the cells after one that failed.
clear_away() {
    local pid path
    for pid in $(marked_pids); do
        kill -9 "$pid" 2>/dev/null
    done
    until_true 5 no_marked
    while read -r path; do
        case $path in
        */cgroup/*) rmdir "$path" ;;
        "$TMPDIR"/* | /dev/shm/banyan-*) rm -rf "$path" ;;
        esac
    done < <(left)
}

# ---- A daemon that has its boot record and cannot join ----

# Its agent stops the root before it hands the record on. When who has started it is gone the daemon does
# not wait for a root that will never answer.
cat >"$scratch/holding" <<SH
#!/bin/bash
shopt -s lastpipe
root=\$(awk '\$1 == "PPid:" { print \$2 }' /proc/\$PPID/status)
{
    cat >"$scratch/record"
    kill -STOP \$root
    cat "$scratch/record"
    echo \$root >"$scratch/held"
} | "$fakessh" "\$@" 2>&1 | exec cat
SH
chmod +x "$scratch/holding"

kill_unjoined() {
    local root
    new_mark
    BT_MARK=$mark FAKESSH_KEEP=BT_MARK,BANYAN_PKGLIBDIR "$banyan" run --host n1 --starter ssh \
        --ssh-agent "$scratch/holding" true >"$scratch/out" 2>"$scratch/err" </dev/null &
    front=$!
    until_true 20 test -s "$scratch/held" || diag "the record is not handed on"
    root=$(cat "$scratch/held")
    # shellcheck disable=SC2046
    kill -9 "$front" "$root" $(cat "/proc/$root/task/$root/children")
    sweep_after
    if until_nothing && [ "$swept_ms" -lt 30000 ]; then
        pass "a daemon that cannot join ends $swept_ms ms after who has started it"
    else
        fail "a daemon that cannot join ends within 30 s of who has started it ($swept_ms ms)"
        diag "$remains"
        clear_away
    fi
    wait "$front" 2>/dev/null
}

# ---- A helper that dies while its daemon waits for the end of what it has started ----

cat >"$scratch/lingering" <<SH
#!/bin/bash
"$fakessh" "\$@"
echo >"$scratch/lingers"
exec sleep 1000
SH
chmod +x "$scratch/lingering"

kill_ending() {
    local root
    new_mark
    BT_MARK=$mark FAKESSH_KEEP=BT_MARK,TMPDIR,BANYAN_PKGLIBDIR "$banyan" run --host n1 --starter ssh \
        --ssh-agent "$scratch/lingering" true >"$scratch/out" 2>"$scratch/err" </dev/null &
    front=$!
    until_true 20 test -s "$scratch/lingers" || diag "no agent lingers"
    root=$(table | awk '$3 == "banyan-root" { print $1; exit }')
    sleep 0.1
    # shellcheck disable=SC2046
    kill -9 $(cat "/proc/$root/task/$root/children")
    if until_nothing && [ "$took_ms" -lt 30000 ]; then
        pass "an end whose helper is killed waits for nobody any more ($took_ms ms)"
    else
        fail "an end whose helper is killed takes less than 30 s ($took_ms ms)"
        diag "$remains"
        clear_away
    fi
    wait "$front" 2>/dev/null
}

# ---- The matrix ----

# Every set of one or two parts, and the three that a scheduler ends with the step they are in.
sets() {
    local i j
    for ((i = 0; i < ${#parts[@]}; i++)); do
        echo "${parts[i]}"
        for ((j = i + 1; j < ${#parts[@]}; j++)); do
            echo "${parts[i]}+${parts[j]}"
        done
    done
    echo front+root+root-helper
}

# Each cell with a moment of its own: in the start any of the first 80 ms.
cells() {
    local where when who
    for where in "${places[@]}"; do
        for when in "${times[@]}"; do
            for who in $(sets); do
                [[ $who != *agent* || $where = ssh ]] || continue
                case $when in
                start) echo "$where/$when/$who/$((RANDOM % 80))" ;;
                *) echo "$where/$when/$who/$((RANDOM % 25))" ;;
                esac
            done
        done
    done
}

# shuffled: the lines of stdin in an order that the seed decides.
shuffled() {
    local line
    while read -r line; do
        echo "$RANDOM $line"
    done | sort -n -k1,1 -s | cut -d' ' -f2-
}

longest_ms=0
longest=none
if [ -n "${CELL:-}" ]; then
    mapfile -t chosen < <(for ((i = 0; i < kills; i++)); do echo "$CELL"; done)
else
    mapfile -t chosen < <(cells | shuffled)
    [ "$kills" = all ] || chosen=("${chosen[@]:0:kills}")
    diag "SEED=$seed KILLS=$kills, of which ${#chosen[@]} cells"
fi
for cell in "${chosen[@]}"; do
    kill_cell "$cell"
done
if [ -z "${CELL:-}" ]; then
    kill_unjoined
    kill_ending
fi
diag "the longest until nothing was left: $longest_ms ms, $longest"
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Chaos: kill -9 of one part at a random moment, of a run with daemons of its own or of a job in an instance with other
# jobs. Nothing hangs and nothing is left; jobs that have nothing on what was killed end as if nothing had happened, and
# the instance runs the next one; exit statuses and messages are those that banyan-run(1) promises.
#
# RUNS=6     so many; the figure of issue 13 is of 500
# SEED=n     of the first run, n+1 of the second...; a failure prints the SEED that replays it
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/leftovers.sh"
. "$srcdir/test/support/kill_lib.sh"

runs=${RUNS:-6}
seed=${SEED:-$(($(date +%s%N) / 1000 % 1000000))}
client=$top_builddir/test/tool/pmix_calls
[ -x "$client" ] || client=

# The victim, whose ranks end with the second argument, and the job beside it. Both wait at a gate and make calls of
# PMIx where there is a third. The victim's ranks ignore SIGTERM and have a child in a session of its own.
cat >"$scratch/stubborn" <<'SH'
#!/bin/sh
trap '' TERM
setsid sleep 1000 &
if [ -n "$3" ]; then "$3" fence "await:$1.open" >/dev/null 2>&1 & calls=$!; fi
echo "up $BANYAN_NODE"
[ -p "$1" ] && read -r word <"$1"
[ -z "$calls" ] || wait "$calls"
exit "$2"
SH
cat >"$scratch/steady" <<'SH'
#!/bin/sh
if [ -n "$2" ]; then "$2" fence "await:$1.open" >/dev/null 2>&1 & calls=$!; fi
echo "up $BANYAN_NODE"
[ -p "$1" ] && read -r word <"$1"
[ -z "$calls" ] || wait "$calls"
echo "done"
SH
chmod +x "$scratch/stubborn" "$scratch/steady"

# ---- What is started ----

# The environment of everything that a run starts.
marked() {
    BT_MARK=$mark FAKESSH_KEEP=BT_MARK,TMPDIR,BANYAN_PKGLIBDIR exec "$@"
}

# has_lines COUNT FILE PROCESS: so many ranks are up, or the process has ended.
has_lines() {
    [ "$(grep -c '^up ' "$2" 2>/dev/null)" -eq "$1" ] || gone "$3"
}

# The victim's ranks go on.
let_go() {
    [ -n "${gate:-}" ] && return
    touch "$scratch/gate.open"
    open_gate
}

# begin_victim RANKS OPTION...
begin_victim() {
    ranks=$1
    shift
    marked "$banyan" run "$@" -x BT_MARK="$mark" -x BT_JOB=victim \
        "$scratch/stubborn" "$scratch/gate" "$code" "$speaks" >"$scratch/out" 2>"$scratch/err" </dev/null &
    front=$!
}

# With daemons of its own.
begin_own() {
    case $1 in
    virtual) begin_victim 5 --virtual-nodes 5 --radix 2 --per-node 1 ;;
    ssh) begin_victim 4 --host "n[1-4]" --starter ssh --ssh-agent "$agent" --radix 2 --per-node 1 ;;
    one) begin_victim 2 -n 2 --oversubscribe ;;
    esac
}

# begin_beside NAME RANKS: a job beside the victim, until it is up.
begin_beside() {
    : >"$scratch/$1.out"
    marked "$banyan" run --instance "$dir" -n "$2" -x BT_MARK="$mark" -x BT_JOB="$1" \
        "$scratch/steady" "$scratch/steady-gate" "$speaks" >"$scratch/$1.out" 2>"$scratch/$1.err" </dev/null &
    beside[$1]=$!
    until_true 60 has_lines "$2" "$scratch/$1.out" "$!"
}

# An instance of six nodes with two slots each: others have ranks on v1, on v1 and v2, and on v2 and v3, where the
# victim has the other slot, and all of v4 to v6.
begin_in_instance() {
    dir=$(marked "$banyan" start --daemonize --virtual-nodes 6 --slots 2 --radix 2 2>"$scratch/start.err")
    [ -n "$dir" ] || diag "no instance: $(cat "$scratch/start.err")"
    mkfifo "$scratch/steady-gate"
    begin_beside left 1
    begin_beside across 2
    begin_beside right 2
    begin_victim 7 --instance "$dir" -n 7
}

# ---- Who is killed, and what that touches ----

# variable NAME PID
variable() {
    tr '\0' '\n' <"/proc/$2/environ" 2>/dev/null | sed -n "s/^$1=//p"
}

# note_touched PART PID: in $touched the jobs that have a rank there: below it, or, of a server of PMIx, below the helper
# that is its parent.
note_touched() {
    local pid parent name above
    touched=" "
    case $1 in
    front | rank) touched=" victim " && return ;;
    root | root-helper | agent) touched=" victim left across right " && return ;;
    server) above=$(awk -v pid="$2" '$1 == pid { print $2 }' <<<"$table") ;;
    *) above=$2 ;;
    esac
    while read -r pid parent name; do
        [ "$name" = steady ] || [ "$name" = stubborn ] || continue
        if [ "$parent" = "$above" ] || grep -q "^$parent $above " <<<"$table"; then
            touched+="$(variable BT_JOB "$pid") "
        fi
    done <<<"$table"
}

# ---- What must be so afterwards ----

# What a part's death is to a job that has something on it, as "status line".
lost='^125 banyan: (lost node [^ ]+: its daemon (closed the connection|exited); the job was ended|cannot start the daemons? on .*)$'
root_lost='^125 banyan: (the root of this run was killed by signal 9 \(Killed\); everything it started is being killed'
root_lost+='|the root of the instance went away; the job ends with it)$'
declare -A deaths=(
    [rank]='^137 banyan: rank [0-9]+ on [^ ]+ was killed by signal 9 \(Killed\)$'
    [daemon]=$lost
    [daemon-helper]=$lost
    [agent]=$lost
    [root]=$root_lost
    [root-helper]='^125 banyan: the root cannot go on: the helper process was killed$'
    [server]='^125 banyan: cannot serve the ranks on [^ ]+: the PMIx server process died; run the job again, .*$'
)

# ended_right PART CODE STATUS ERRORS [KILLED]: as if nothing had happened, or as the part's death has it.
ended_right() {
    local lines
    lines=$(without_stalls <"$4")
    case $3:$lines in
    "$2:" | 7:"banyan: rank "[0-9]*" exited with status 7") [ "$3" = "$2" ] && return ;;
    esac
    [ "${5:-$killed}" != gone ] && [[ "$3 $lines" =~ ${deaths[$1]} ]] && [ "$(wc -l <<<"$lines")" -eq 1 ]
}

problem() {
    problems+="$*"$'\n'
}

# ends NAME PROCESS: within the patience; sets $status.
ends() {
    until_true 60 gone "$2" || {
        problem "$1 hangs"
        kill -9 "$2"
    }
    wait "$2" 2>/dev/null
    status=$?
}

check_victim() {
    ends "the client" "$front"
    outcome="$status $(cat "$scratch/err")"
    case $part in
    front) [ $status -eq 137 ] || [ $status -eq "$code" ] || problem "the client: $outcome" ;;
    *)
        local there=$killed
        [[ $when = 0 || $touched = *" victim "* ]] || there=gone
        ended_right "$part" "$code" "$status" "$scratch/err" "$there" || problem "the client: $outcome"
        ;;
    esac
}

# untouched NAME RANKS: with all of its output, or, when a daemon that relayed some has died, told that some is lost.
untouched() {
    case $part:$(without_stalls <"$scratch/$1.err") in
    *:) [ "$status" -eq 0 ] && [ "$(grep -c '^done$' "$scratch/$1.out")" -eq "$2" ] ;;
    daemon*:"banyan: some of the output was lost with the nodes") [ "$status" -eq 0 ] ;;
    *) false ;;
    esac
}

# check_beside NAME RANKS
check_beside() {
    ends "$1" "${beside[$1]}"
    if [[ $touched = *" $1 "* ]]; then
        ended_right "$part" 0 "$status" "$scratch/$1.err" ||
            problem "$1, which was touched: $status $(cat "$scratch/$1.err")"
    elif ! untouched "$1" "$2"; then
        problem "$1, which was not touched: $status $(cat "$scratch/$1.err")"
    fi
}

# An instance that lives runs another job, and ends in order.
check_instance() {
    local said
    exec {steady_gate}<>"$scratch/steady-gate"
    touch "$scratch/steady-gate.open"
    yes go 2>/dev/null | head -n 64 >&$steady_gate
    check_beside left 1
    check_beside across 2
    check_beside right 2
    exec {steady_gate}>&-
    rm -f "$scratch/steady-gate" "$scratch/steady-gate.open"
    case $part in root | root-helper) return ;; esac
    said=$(timeout 120 "$banyan" run --instance "$dir" -n 4 sh -c 'echo next' 2>&1 | without_stalls)
    [ "$said" = "$(printf 'next\nnext\nnext\nnext')" ] || problem "the next job: $said"
    said=$(timeout 120 "$banyan" stop --instance "$dir" 2>&1 | without_stalls)
    [ -z "$said" ] || problem "the stop: $said"
}

# ---- One run ----

# chaos SEED
chaos() {
    local where when part code delay killed speaks=""
    local -a parts=(front root root-helper daemon daemon-helper rank)
    local -A beside=()
    RANDOM=$((($1 * 7919 + 104729) % 32768))
    where=$((RANDOM % 6))
    case $where in
    [0-2]) where=instance ;;
    3) where=virtual ;;
    4) where=ssh && parts+=(agent) ;;
    5) where=one ;;
    esac
    [ -z "$client" ] || parts+=(server)
    part=${parts[RANDOM % ${#parts[@]}]}
    [ "$part" != server ] || speaks=$client
    code=$((RANDOM % 2 * 7))
    when=$((RANDOM % 3))
    pick=$RANDOM
    delay=$((RANDOM % (when == 0 ? 150 : 40)))
    problems=
    victims=()
    new_mark
    : >"$scratch/out"
    mkfifo "$scratch/gate"
    if [ $where = instance ]; then begin_in_instance; else begin_own $where; fi
    if [ $when -gt 0 ]; then
        until_true 60 has_lines "$ranks" "$scratch/out" "$front"
        until_true 5 all_there_or_over "$part"
        [ $when = 1 ] || let_go
    fi
    sleep "$(printf '0.%03d' $delay)"
    until_true 5 all_there_or_over "$part"
    touched=" "
    killed=gone
    if [ ${#victims[@]} -gt 0 ]; then
        note_touched "$part" "${victims[0]}"
        killed=${victims[0]}
        kill -9 "$killed" 2>/dev/null
    fi
    # In the run those that are touched and do not notice would stay at the gate; before, it need not be a loss.
    [[ $when != 0 && $touched = *" victim "* ]] || let_go
    check_victim
    [ $where != instance ] || check_instance
    until_nothing || problem "left after $patience_s s: $remains"
    close_gate
    rm -f "$scratch/gate.open"
    report "$1" "$where, ${moments[when]} + $delay ms, $part ($killed)"
}
moments=(start run end)

# report SEED TEXT
report() {
    if [ -z "$problems" ]; then
        pass "SEED=$1 $2"
        [ -z "${VERBOSE:-}" ] || diag "$outcome; touched:$touched"
    else
        fail "SEED=$1 $2"
        diag "$problems"
        diag "touched:$touched"
        diag "again: SEED=$1 RUNS=1 $0"
        clear_away
    fi
}

diag "SEED=$seed RUNS=$runs"
for ((run = 0; run < runs; run++)); do
    chaos $((seed + run))
done
done_testing

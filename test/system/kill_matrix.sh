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
. "$srcdir/test/support/kill_lib.sh"

kills=${KILLS:-${CELL:+1}}
kills=${kills:-12}
seed=${SEED:-$(($(date +%s%N) / 1000 % 1000000))}
RANDOM=$((seed % 32768))

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

# A process that is killed loses its environment, and with it its mark, before its locks.
victims_gone() {
    local pid
    for pid in "${victims[@]}"; do
        gone "$pid" || return 1
    done
}

# Where nobody of the run is left on a machine the next one there removes what is, once it is a few
# seconds old.
sweep_after() {
    local begin_ms=$(($(date +%s%N) / 1000000))
    until_true 20 no_marked
    swept_ms=$(($(date +%s%N) / 1000000 - begin_ms))
    until_true 20 victims_gone
    nothing && return
    find "$TMPDIR" /dev/shm/banyan-* -type d -exec touch -d "1 minute ago" {} + 2>/dev/null
    "$banyan" run -n 1 true >"$scratch/next" 2>&1 || diag "the next run fails: $(cat "$scratch/next")"
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
    # shellcheck disable=SC2207
    victims=("$front" "$root" $(cat "/proc/$root/task/$root/children"))
    kill -9 "${victims[@]}"
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

# SPDX-License-Identifier: BSD-3-Clause
#
# The parts of a run or instance, and what they leave: for scripts that kill them and have read
# test/support/leftovers.sh. Every process carries BT_MARK=$mark; $front is the client whose run it is.

# What is promised is within promise_ms; on a machine with other work it may be later, but not by more
# than a daemon's patience with others, which is 11 s and more.
patience_s=${PATIENCE:-30}
fakessh=$top_builddir/contrib/testbed/fakessh
agent=$scratch/agent

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

# Those of helpers whose numbers mean what they mean to us, are new, and whose helper has ended: others are in use, by
# whoever else runs here.
cgroup_base() {
    local mount own
    mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
    own=$(sed -n 's/^0:://p' /proc/self/cgroup)
    [ -z "$mount" ] || echo "$mount${own%/}"
}
cgroups=$(cgroup_base)
name_space=$(stat -L -c %i /proc/self/ns/pid)
all_cgroups() {
    [ -z "$cgroups" ] || find "$cgroups" -maxdepth 1 -name "banyan-$name_space-*" 2>/dev/null
}
cgroups_before=$(all_cgroups)

left_cgroups() {
    local path pid
    while read -r path; do
        pid=${path##*-}
        [ -z "$path" ] || [[ $cgroups_before = *"$path"* ]] || [ -e "/proc/${pid%%.*}" ] || echo "$path"
    done < <(all_cgroups)
}

left() {
    marked_pids | sed 's/^/process /'
    left_files
    left_cgroups
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

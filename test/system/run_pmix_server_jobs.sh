#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# kill -9 of the PMIx server of one node while several jobs run in one instance: under a job while another
# of the same node does not use it and a third uses another node's; under two jobs; while no job uses it;
# and while a client connects. Each job that it served ends with one line, every other job goes on to
# its own end, the next job gets a new server, and nothing is left behind, neither while the instance runs
# nor after it.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/leftovers.sh"

program=$top_builddir/test/tool/pmix_calls
[ -x "$program" ] || skip_all "pmix_calls is not built"

# server NODE: the pid of the PMIx server of that place; its log lies in its directory, SESSION.NODE/pN.
server() {
    local file pid
    for file in $(grep -lzx "BT_MARK=$mark" /proc/[0-9]*/environ 2>/dev/null); do
        pid=${file//[!0-9]/}
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = banyan-pmix ] || continue
        ! readlink "/proc/$pid"/fd/* 2>/dev/null | grep -q "\.$1/p[0-9]*/" || echo "$pid"
    done
}

has_server() {
    [ -n "$(server "$1")" ]
}

# Of the servers that run on so many nodes there is one directory each: none of one that is dead.
one_directory_each() {
    [ "$(find "$TMPDIR" -path '*/p[0-9]*' -prune | wc -l)" = "$1" ]
}

# job NAME OPTION... -- PROGRAM...: runs in the background; $scratch/NAME.out, .err, and its pid in NAME.
job() {
    local name=$1 options=()
    shift
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    : >"$scratch/$name.out"
    BT_MARK=$mark "$banyan" run --instance "$dir" "${options[@]}" "$@" >"$scratch/$name.out" 2>"$scratch/$name.err" \
        </dev/null &
    declare -g "$name=$!"
}

# said_all NAME COUNT: so many of its ranks have fenced, or it has ended.
said() {
    [ "$(grep -c fence=SUCCESS "$scratch/$1.out")" -ge "$2" ] || is_gone "${!1}"
}
said_all() {
    until_true 60 said "$@"
}

has_begun() {
    grep -q begun "$scratch/$1.out" || is_gone "${!1}"
}

is_gone() {
    [ ! -e "/proc/$1" ] || grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null
}

# connection PID INODE: both ends of that established socket of the process, the other one first.
connection() {
    awk -v inode="$2" '$10 == inode && $4 == "01" { print $3, $2 }' "/proc/$1/net/tcp" 2>/dev/null
}

# A client has been admitted, and its connection is on its way to the server: the other end is open, but
# no process has it.
is_connecting() {
    local pid inode ends
    for pid in $(pgrep -x pmix_calls); do
        for inode in $(readlink "/proc/$pid"/fd/* | sed -n 's/^socket:\[\(.*\)\]$/\1/p'); do
            ends=$(connection "$pid" "$inode")
            [ -n "$ends" ] || continue
            inode=$(awk -v ends="$ends" '$2 " " $3 == ends { print $10 }' /proc/net/tcp)
            [ "${inode:-0}" = 0 ] || readlink /proc/[0-9]*/fd/* 2>/dev/null | grep -qF "socket:[$inode]" || return 0
        done
    done
    return 1
}

# lost NAME NODE WHAT: the job failed, and its user was told so, in one line.
lost() {
    local status=0
    wait "${!1}" || status=$?
    is "$status:$(wc -l <"$scratch/$1.err")" "125:1" "$3 fails, with one line"
    like "$(cat "$scratch/$1.err")" "^banyan: cannot serve the ranks on v$2: the PMIx server process died; run the job again" \
        "which says what died, and where"
}

# lived NAME LINES WHAT
lived() {
    local status=0
    wait "${!1}" || status=$?
    is "$status:$(sed "s/ after .*//" "$scratch/$1.out" | sort -u | xargs):$(cat "$scratch/$1.err")" "0:$2:" "$3 goes on to its end"
}

# served WHAT: the next job, on node 1, is served by another server than $old.
served() {
    run "$banyan" run --instance "$dir" --mpi pmix -n 2 "$program" put:a fence get:0:a </dev/null
    is "$status:$(sed 's/ after .*//' <<<"$out" | sort -u | xargs):$err" "0:fence=SUCCESS get:0:a=SUCCESS=0 put:a=SUCCESS:" \
        "the next job is served $1"
    ok "by a new server" [ "$(server 1)" != "$old" ]
    ok "nothing is left of the old one" until_true 10 one_directory_each 3
}

new_mark
BT_MARK=$mark "$banyan" start --virtual-nodes 3 --slots 4 >"$scratch/dir" 2>"$scratch/start.err" &
starter=$!
until_true 60 test -s "$scratch/dir"
dir=$(cat "$scratch/dir")
go=$scratch/go
waits="until [ -e $go ]; do sleep 0.05; done; echo done"

# Node 1: two ranks of a, two of b, which needs no server. Nodes 2 and 3: c, which has a server on each.
job a --mpi pmix -n 2 -- "$program" put:a fence sleep:100000
said_all a 2
job b -n 2 -- sh -c "echo begun; until [ -e '$go' ]; do sleep 0.05; done; echo done"
until_true 60 has_begun b
job c --mpi pmix -n 8 -- "$program" put:a fence "await:$go" fence
said_all c 8
for n in 1 2 3; do
    ok "node $n has its server" has_server $n
done
old=$(server 1)
kill -9 "$old"
lost a 1 "the job that it served"
touch "$go"
lived b "begun done" "the job beside it"
lived c "await:$go=SUCCESS fence=SUCCESS put:a=SUCCESS" "the job on other nodes"
served "after a job was lost"

# Two jobs have it, and a third has none.
rm "$go"
job a --mpi pmix -n 2 -- "$program" put:a fence sleep:100000
said_all a 2
job b --mpi pmix -n 2 -- "$program" put:a fence sleep:100000
said_all b 2
job c -n 4 -- sh -c "until [ -e '$go' ]; do sleep 0.05; done; echo done"
old=$(server 1)
kill -9 "$old"
lost a 1 "the first of two jobs"
lost b 1 "the second"
touch "$go"
lived c "done" "the job without"
served "after two were lost"

old=$(server 1)
kill -9 "$old"
until_true 10 is_gone "$old"
served "after it was killed while no job used it"

# It stands still, so that the client of the next job waits for its answer.
old=$(server 1)
kill -STOP "$old"
job a --mpi pmix -n 1 -- "$program" put:a fence
until_true 30 is_connecting
kill -9 "$old"
lost a 1 "a job whose client connects"
served "after that"

kill -TERM "$starter"
wait "$starter"
is $? 0 "the instance ends in order"
is "$(cat "$scratch/start.err")" "" "and has nothing to say"
nothing_left "nothing is left of it"
done_testing

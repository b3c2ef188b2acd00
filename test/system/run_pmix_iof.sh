#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What processes print reaches tools and processes that ask for it (test/tool/pmix_iof.c), over four nodes: all ranks and
# one, both channels, until they take it back, or end, or the job does; who reads too slowly disturbs nobody.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

program=$top_builddir/test/tool/pmix_iof
[ -x "$program" ] || skip_all "pmix_iof is not built"
unset "${!PMIX_@}"

four=(--virtual-nodes 4 --per-node 2 -n 8)

exec 8</dev/null

# begin OPTION...: a job on four nodes; $orders: its file, $space: its namespace, $uris: of the nodes' servers.
begin() {
    orders=$scratch/orders.$((++jobs))
    "$banyan" run --timeout 240 --mpi pmix "$@" "$program" job "$orders" >"$scratch/out" 2>"$scratch/err" <&"${input:-8}" &
    job=$!
    until_true 60 find_servers || diag "no servers"
    space=$(sed 's/.*\.tool\.//' <<<"${files[0]}")
    mapfile -t uris < <(head -q -n 1 "${files[@]}")
}
find_servers() {
    mapfile -t files < <(find "$TMPDIR" -name "pmix.*.tool.*-1" | sort)
    [ ${#files[@]} -eq 4 ]
}
has_job_two() {
    [ "$(find "$TMPDIR" -name "pmix.*.tool.*-2" | wc -l)" -eq 2 ]
}
order() {
    echo "$1" >>"$orders"
}
finish_job() {
    order end:all
    wait "$job"
    ended=$?
}

# tool NODE STEP...: what it says, in one line.
tool() {
    local uri=${uris[$1]}
    shift
    timeout 300 "$program" tool "$uri" "$@" 2>"$scratch/tool.err" | xargs -d '\n'
}

begin "${four[@]}"
is "$(tool 0 "pull:$space:all:both" "order:$orders:out:all:one" "order:$orders:err:5:two" until:"5.err two" until:"0.out one" \
    until:"1.out one" until:"2.out one" until:"3.out one" until:"4.out one" until:"5.out one" until:"6.out one" \
    until:"7.out one" show)" \
    "pull: SUCCESS 0.out one 0 1.out one 1 2.out one 2 3.out one 3 4.out one 4 5.err two 5 5.out one 5 6.out one 6 7.out one 7" \
    "a tool gets what the ranks of all nodes print"
is "$(tool 3 "pull:$space:2,6:out" "order:$orders:err:2:three" "order:$orders:out:all:four" until:"2.out four" \
    until:"6.out four" show)" "pull: SUCCESS 2.out four 2 6.out four 6" "or two ranks, and one channel"
is "$(tool 1 "pull:$space:1:out" "order:$orders:out:1:five" until:five stop:no "order:$orders:out:1:six" \
    "pull:$space:7:out" "order:$orders:out:7:seven" until:seven show)" \
    "pull: SUCCESS stop: SUCCESS pull: SUCCESS 1.out five 1 7.out seven 7" "it takes that back"
is "$(tool 2 "pull:${space%-1}-9:all:out" pull:none:0:out "pull:$space:8:out" "pull:$space:0:diag" "pull:$space:0:out:pmix.iof.csize" \
    "pull:$space:0:out:pmix.iof.new")" \
    "pull: NOT-FOUND pull: NOT-FOUND pull: NOT-FOUND pull: NOT-SUPPORTED pull: NOT-SUPPORTED pull: SUCCESS" \
    "jobs and ranks that there are not, and what is not served"

# One is killed while it reads, with the other on the same node.  What is printed fits into the window, however slowly the
# other reads.
"$program" tool "${uris[0]}" "pull:$space:all:out" "touch:$scratch/reads" "await:$scratch/never" >"$scratch/killed" 2>&1 &
killed=$!
until_true 30 test -e "$scratch/reads"
is "$(tool 0 "pull:$space:4:out" "order:$orders:flood:all:256" "order:$orders:out:4:before" until:before \
    "touch:$scratch/kill" "await:$scratch/dead" "order:$orders:out:4:after" until:after show &
    until_true 30 test -e "$scratch/kill"
    kill -9 "$killed"
    touch "$scratch/dead"
    wait)" "pull: SUCCESS 4.out after 4 4.out before 4 4.out flooded 4" "another is killed meanwhile"
wait "$killed" 2>/dev/null

order "pull:3:$space:0,4:out"
until_true 30 grep -q "pull: SUCCESS" "$scratch/out"
order out:0:eight
ok "a process gets it, too" until_true 30 grep -q "3 got 0: eight 0" "$scratch/out"

finish_job
is "$ended:$(cat "$scratch/err")" "0:two 5
three 2" "the job ends well, and its output went where it always goes"
is "$(grep -c '^flooded' "$scratch/out")" 8 "all of it"

# A tool that is stopped: 8 ranks x 16 MiB do not wait for it.
begin "${four[@]}"
"$program" tool "${uris[1]}" "pull:$space:all:out" "touch:$scratch/slow" until:never >/dev/null 2>&1 &
slow=$!
until_true 30 test -e "$scratch/slow"
kill -STOP "$slow"
order flood:all:16384
until_true 60 grep -q flooded "$scratch/out"
for ((i = 0; i < 8; i++)); do
    until_true 60 grep -q "^flooded $i" "$scratch/out" || fail "rank $i waits for the tool"
done
is "$(grep -c "^banyan: a tool on .* reads the output of job 1 too slowly: it does not get all of it" "$scratch/err")" 1 \
    "who reads too slowly loses output, which is said once"
server=$(for process in $(ours); do
    [ "$(cat "/proc/$process/comm" 2>/dev/null)" != banyan-pmix ] || sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$process/status"
done | sort -n | tail -n 1)
ok "and no server grows: $server KiB" less "${server:-99999999}" 65536
kill -9 "$slow"
wait "$slow" 2>/dev/null
is "$(tool 1 "pull:$space:all:out" "order:$orders:out:0:ten" until:ten show)" "pull: SUCCESS 0.out ten 0" \
    "when it is gone another gets it"
finish_job
is "$ended" 0 "the job has not been disturbed"

# Two jobs of an instance: a tool of the second one's node gets the output of the first, and hears of its end.
"$banyan" start --virtual-nodes 4 --slots 2 >"$scratch/dir" 2>"$scratch/start.err" &
starter=$!
until_true 60 test -s "$scratch/dir"
dir=$(cat "$scratch/dir")
"$banyan" run --instance "$dir" --timeout 240 --mpi pmix --per-node 1 -n 4 "$program" job "$scratch/orders.second" </dev/null >"$scratch/second.out" &
second=$!
space=
until_true 60 find_servers || diag "no servers"
other=${files[3]##*.tool.}
mapfile -t uris < <(head -q -n 1 "${files[@]}")
"$banyan" run --instance "$dir" --timeout 240 --mpi pmix --per-node 1 -n 2 "$program" job "$scratch/orders.first" </dev/null \
    >"$scratch/out" 2>"$scratch/err" &
job=$!
orders=$scratch/orders.first
until_true 60 has_job_two || diag "no second job"
is "$(tool 3 "pull:${other%-1}-2:all:out" "order:$orders:out:1:nine" until:nine "order:$orders:end:all" ended \
    "pull:${other%-1}-1:3:out" "order:$scratch/orders.second:out:3:ten" until:ten show)" \
    "pull: SUCCESS ended pull: SUCCESS 1.out nine 1 3.out ten 3" "the output of another node's job, and its end"
wait "$job"
is "$(tool 3 "pull:${other%-1}-2:all:out" "pull:$other:9:out")" "pull: NOT-FOUND pull: NOT-FOUND" "which does not exist then"
echo end:all >>"$scratch/orders.second"
wait "$second"
kill "$starter"
wait "$starter"

# Input: the front end's own stays open.
mkfifo "$scratch/input"
exec 7<>"$scratch/input"
input=7
begin "${four[@]}"
has() {
    grep -q "$1" "$scratch/out"
}
echo from the user >&7
order read:0:1
ok "what the user types is read" until_true 30 has "read from the user"
is "$(tool 2 "push:$space:0:one" "push:$space:all:two" "push:$space:1:three" "push:${space%-1}-9:0:three" \
    "push:$space:0:three:pmix.iof.csize" "push:$space:0:three:pmix.iof.stdin")" \
    "push: SUCCESS push: SUCCESS push: NOT-SUPPORTED push: NOT-FOUND push: NOT-SUPPORTED push: SUCCESS" "a tool pushes input"
order read:0:3
ok "which the rank reads" until_true 30 has "read three"
echo more >&7
order read:0:1
ok "and then the user's again" until_true 30 has "read more"
"$program" tool "${uris[1]}" "fill:$space:0:9" >"$scratch/fill" 2>/dev/null &
fill=$!
refuses_five() {
    [ "$(grep -c refused "$scratch/fill")" -eq 5 ]
}
ok "what waits for a rank that does not read is limited" until_true 30 refuses_five
is "$(grep -c push: "$scratch/fill")" 0 "and waits"
order suck:0
wait "$fill"
is "$(uniq -c "$scratch/fill" | xargs)" "5 refused 1 push: OUT-OF-RESOURCE" "until it reads"
printf 'typed by the tool\n' >"$scratch/typed"
"$program" tool "${uris[3]}" "stdin:$space:0" "await:$scratch/never" <"$scratch/typed" >/dev/null 2>&1 &
typing=$!
ok "a tool hands on its standard input, and its end" until_true 30 has "^sucked"
is "$(grep sucked "$scratch/out")" "sucked $((4 * 1048576 + 18))" "nothing is missing"
kill "$typing"
wait "$typing" 2>/dev/null
is "$(tool 0 "push:$space:0:late")" "push: IOF-COMPLETE" "nothing is taken after that"
finish_job
begin "${four[@]}"
is "$(tool 0 "push:$space:0:last:pmix.iof.cmp" "push:$space:0:late")" "push: SUCCESS push: IOF-COMPLETE" "a last piece"
order read:0:2
ok "and the end after it" until_true 30 has "read eof"
is "$(grep -c "read last" "$scratch/out")" 1 "which are read"
finish_job

# Two jobs again: who does not read the output of one, or a rank that does not read its input, holds up no other job.
"$banyan" start --virtual-nodes 4 --slots 4 >"$scratch/dir.again" 2>"$scratch/start.again" &
starter=$!
until_true 60 test -s "$scratch/dir.again"
dir=$(cat "$scratch/dir.again")
begin --instance "$dir" --per-node 2 -n 8
"$banyan" run --instance "$dir" --timeout 240 --mpi pmix --per-node 1 -n 4 "$program" job "$scratch/orders.lively" <&7 \
    >"$scratch/lively.out" 2>&1 &
lively=$!
lives=${space%-1}-2
has_four_more() {
    [ "$(find "$TMPDIR" -name "pmix.*.tool.*-2" | wc -l)" -eq 4 ]
}
until_true 60 has_four_more || diag "no second job"
"$program" tool "${uris[1]}" "pull:$space:all:out" "touch:$scratch/halted" until:never >/dev/null 2>&1 &
slow=$!
until_true 30 test -e "$scratch/halted"
kill -STOP "$slow"
order flood:all:2048
ok "the ranks print much" until_true 60 has "^flooded 7"
is "$(tool 1 "pull:$lives:all:out" "order:$scratch/orders.lively:out:3:here" until:here show)" "pull: SUCCESS 3.out here 3" \
    "a tool that stands still holds up no other job's output"
"$program" tool "${uris[1]}" "fill:$space:0:9" >"$scratch/fill" 2>/dev/null &
fill=$!
until_true 30 refuses_five
is "$(tool 1 "push:$lives:0:one")" "push: SUCCESS" "nor does a rank that does not read hold up another job's input"
echo read:0:1 >>"$scratch/orders.lively"
ok "which is read" until_true 30 grep -q "read one" "$scratch/lively.out"
echo end:all >>"$scratch/orders.lively"
wait "$lively"
is "$?" 0 "that job ends well"
order suck:0
wait "$fill"
is "$(uniq -c "$scratch/fill" | xargs)" "5 refused 1 push: OUT-OF-RESOURCE" "and the other's input waits on until it is read"
is "$(tool 0 "close:$space:0")" "push: SUCCESS" "to its end"
exec 7>&-
kill -9 "$slow"
wait "$slow" 2>/dev/null
finish_job
is "$ended" 0 "and that job ends well, too"
kill "$starter"
wait "$starter"

done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# PMIx_Query_info by a real client of libpmix (test/tool/pmix_query.c), on one node and on four: what is known of
# jobs and processes, wherever they run, and what the standard has for questions without an answer.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

program=$top_builddir/test/tool/pmix_query
[ -x "$program" ] || skip_all "pmix_query is not built"

one=(--virtual-nodes 1 --per-node 2 -n 2)
four=(--virtual-nodes 4 --per-node 2 -n 8)

# said EXPECTED NAME OPTION... -- STEP...: the ranks make the steps; EXPECTED is what is printed.
said() {
    local expected=$1 name=$2
    shift 2
    run_client "$@"
    is "$status:$(sed 's/  */ /g; s/ $//' <<<"$out")" "0:$expected" "$name"
    [ -z "$err" ] || diag "$err"
}

table() { # RANKS PER_NODE: the lines of a table of processes that are connected, state 6
    for ((i = 0; i < $1; i++)); do
        printf ' %d@v%d:pmix_query:6:0:pid' "$i" $((i / $2 + 1))
    done
}

# ---- Jobs ----

for nodes in one four; do
    declare -n options=$nodes
    ranks=${options[-1]}
    said "pmix.qry.jst: SUCCESS
pmix.job.size: $ranks
pmix.job.napps: 1
pmix.num.nodes: $((ranks / 2))
pmix.num.slots: $ranks
pmix.univ.size: $ranks
pmix.qry.ns: SELF
pmix.qry.debug: pmix.dbg.exec,pmix.dbg.init,pmix.dbg.notify,pmix.dbg.tgt,pmix.dbg.dpnd,pmix.dbg.dpproc
ask: SUCCESS" "on $nodes: a job" "${options[@]}" -- \
        r1:running "r1:ask:pmix.qry.jst,pmix.job.size,pmix.job.napps,pmix.num.nodes,pmix.num.slots,pmix.univ.size,pmix.qry.ns,pmix.qry.debug"
    said "pmix.qry.ptable:$(table "$ranks" 2)
ask: SUCCESS" "on $nodes: its processes" "${options[@]}" -- running fence "r0:ask:pmix.qry.ptable;pmix.nspace=SELF" fence
done
said "pmix.qry.nsinfo: pmix.qry.nsinfo: pmix.nspace: SELF pmix.cmd.line: $program r0:ask:pmix.qry.nsinfo fence
ask: SUCCESS" "its command line" "${one[@]}" -- r0:ask:pmix.qry.nsinfo fence
said "pmix.qry.lptable: 4@v3:pmix_query:6:0:pid 5@v3:pmix_query:6:0:pid
ask: SUCCESS" "the processes of the own node" "${four[@]}" -- running fence "r5:ask:pmix.qry.lptable;pmix.nspace=SELF" fence
said "pmix.qry.lptable: 2@v2:pmix_query:6:0:pid 3@v2:pmix_query:6:0:pid
ask: SUCCESS" "of a named node" "${four[@]}" -- running fence "r5:ask:pmix.qry.lptable;pmix.nspace=SELF;pmix.hname=v2" fence
said "pmix.qry.ptable: 6@v4:pmix_query:6:0:pid
ask: SUCCESS" "and one alone" "${four[@]}" -- running fence "r0:ask:pmix.qry.ptable;pmix.nspace=SELF;pmix.rank=6" fence
said "letters: S S S S S S S S" "process ids are those of /proc" "${four[@]}" -- running fence r0:letters fence
for scope in "" ";pmix.qry.local"; do
    said "pmix.qry.mem: pmix.dmn.mem: some pmix.cl.mem.avg: some
ask: SUCCESS" "memory$scope" "${four[@]}" -- running fence "r0:ask:pmix.qry.mem;pmix.nspace=SELF$scope" fence
done

# ---- Process sets ----

said "pmix.qry.psetnum: 0
pmix.qry.psets:
ask: SUCCESS" "a job of one application has no process sets" "${one[@]}" -- r0:ask:pmix.qry.psetnum,pmix.qry.psets
run "$banyan" run --timeout 240 --mpi pmix --virtual-nodes 2 --per-node 2 -n 3 "$program" \
    r0:ask:pmix.qry.psetnum,pmix.qry.psets fence : -n 1 "$program" fence \
    "r3:ask:pmix.qry.psets" </dev/null
is "$status:$out" "0:pmix.qry.psetnum: 2
pmix.qry.psets: SELF/app0,SELF/app1
ask: SUCCESS
pmix.qry.psets: SELF/app0,SELF/app1
ask: SUCCESS" "one of two has one for each"

# ---- Questions without an answer ----

said "ask: NOT-FOUND" "an unknown key" "${four[@]}" -- r0:ask:no.such.key
# libpmix 4.2.2 throws away the values at the client if not all keys have one.
like "$(run "$banyan" run --timeout 240 --mpi pmix "${one[@]}" "$program" \
    r0:ask:no.such.key,pmix.job.size </dev/null; echo "$out")" 'ask: PARTIAL.SUCCESS' "some known keys"
said "ask: NOT-FOUND" "a namespace that is none" "${four[@]}" -- "r0:ask:pmix.qry.jst;pmix.nspace=none"
said "ask: NOT-SUPPORTED" "an unknown qualifier that is required" "${one[@]}" -- "r0:ask:pmix.job.size;!no.such=1"
said "pmix.job.size: 2
ask: SUCCESS" "one that is not" "${one[@]}" -- "r0:ask:pmix.job.size;no.such=1;pmix.qry.rfsh"
said "ask: BAD-PARAM" "a process set that is not named" "${one[@]}" -- r0:ask:pmix.qry.pmems
said "ask: NOT-FOUND" "one that does not exist" "${one[@]}" -- "r0:ask:pmix.qry.pmems;pmix.pset.nm=x"
said "pmix.qry.ptable: pmix.nspace,pmix.rank,pmix.procid,pmix.hname
pmix.qry.ns:
ask: SUCCESS" "the qualifiers of a key" "${one[@]}" -- "r0:ask:pmix.qry.ptable,pmix.qry.ns;pmix.qry.quals"
run "$banyan" run --timeout 240 --mpi pmix "${one[@]}" "$program" r0:ask:pmix.qry.keys </dev/null
like "$out" 'pmix.qry.keys: .*pmix.qry.ptable.*pmix.univ.size' "and the keys"

run "$banyan" run --timeout 240 --mpi pmix "${one[@]}" "$program" r0:ask:pmix.qry.spawn </dev/null
like "$out" 'pmix.qry.spawn: .*pmix.mapby' "and what a spawn obeys"

# ---- Several jobs ----

"$banyan" start --virtual-nodes 1 --slots 8 >"$scratch/dir" 2>/dev/null &
starter=$!
until_true 20 test -s "$scratch/dir"
dir=$(cat "$scratch/dir")
"$banyan" run --instance "$dir" --timeout 240 --mpi pmix -n 4 "$program" running fence "await:$scratch/done" </dev/null \
    >/dev/null 2>"$scratch/first.err" &
first=$!
run "$banyan" run --instance "$dir" --timeout 240 --mpi pmix -n 4 "$program" running r0:two r0:ask:pmix.qry.ns \
    r0:ask:pmix.qry.jst "r0:ask:pmix.qry.jst;pmix.nspace=SELF" fence </dev/null
is "$status:$(sed 's/banyan-[0-9a-f]*-[12]/OTHER/; s/SELF,OTHER/OTHER,SELF/' <<<"$out")" "0:pmix.qry.ns: OTHER,SELF
ask: SUCCESS
ask: BAD-PARAM
pmix.qry.jst: SUCCESS
ask: SUCCESS" "all jobs are known, and which one is meant must be said"
touch "$scratch/done"
wait "$first"
is "$?:$(cat "$scratch/first.err")" 0: "the other job is not disturbed"
kill "$starter"
wait "$starter"

# ---- Ends: libpmix 4.2.2 does not send exit codes ----

run "$banyan" run --timeout 240 --mpi pmix --on-failure continue "${four[@]}" bash -c \
    "case \$PMIX_RANK in 3) exit 7 ;; 6) kill -9 \$\$ ;; esac; exec $program r0:settle:3:- r0:settle:6:- 'r0:ask:pmix.qry.ptable;pmix.nspace=SELF'" </dev/null
like "$out" '3@v2:bash:62:0:none' "a process that has failed"
like "$out" '6@v4:bash:54:0:none' "one that was killed"
like "$out" '7@v4:bash:[0-9]+:0:' "and others beside them"

# ---- Job control ----

said "control: SUCCESS
letters: S S S S S S T S
control: SUCCESS
letters: S S S S S S S S" "a rank of another node is paused, and goes on" "${four[@]}" -- \
    running fence r0:control:6:pause r0:settle:6:T r0:letters r0:control:6:resume r0:settle:6:S r0:letters fence
said "control: SUCCESS
letters: S T
control: SUCCESS" "one of the own node" "${one[@]}" -- \
    running fence r0:control:1:pause r0:settle:1:T r0:letters r0:control:1:resume fence
said "control: NOT-FOUND" "there is no such rank" "${four[@]}" -- running fence r0:control:8:pause fence
for directive in ckpt:1 restart:1 pvn:1 '!preempt' '!cancel:1'; do
    said "control: NOT-SUPPORTED" "$directive is refused" "${one[@]}" -- "r0:control:1:$directive" fence
done
for directive in preempt ckptev ckptsig:12 ckmethod:x; do
    said "control: SUCCESS" "$directive only tells something" "${one[@]}" -- "r0:control:1:$directive" fence
done
said "control: BAD-PARAM" "so is a signal that does not exist" "${one[@]}" -- r0:control:1:sig:99 fence
run "$banyan" run --timeout 240 --mpi pmix "${four[@]}" "$program" running fence r0:control:6:kill sleep:9000 </dev/null
is "$status:$err" "137:banyan: rank 6 on v4 was killed by signal 9 (Killed)" "a rank is killed"
run "$banyan" run --timeout 240 --mpi pmix --on-failure continue "${four[@]}" "$program" running fence r0:control:6:term \
    r6:sleep:9000 r0:settle:6:- </dev/null
like "$err" 'rank 6 on v4 was killed by signal 15 .*; the job goes on' "a rank is terminated, and the others go on"
run "$banyan" run --timeout 240 --mpi pmix "${four[@]}" "$program" running fence r3:control:job:term sleep:9000 </dev/null
is "$status:$err" "143:banyan: terminated by rank 3 of job 1" "a job is terminated"
run "$banyan" run --timeout 240 --mpi pmix "${four[@]}" "$program" running fence r3:control:all:kill sleep:9000 </dev/null
is "$status:$err" "137:banyan: killed by rank 3 of job 1" "a job is killed"
run "$banyan" run --timeout 240 --mpi pmix --on-failure continue "${four[@]}" "$program" running fence r5:control:all:sig:10 \
    sleep:9000 </dev/null
is "$status:$(grep -c 'killed by signal 10 .*; the job goes on' <<<"$err")" 138:4 "all of a job get a signal, and one rank of each node is named"
touch "$scratch/leave" "$scratch/clean"
said "cleanup: SUCCESS" "a file is registered to be removed" "${one[@]}" -- "r0:cleanup:$scratch/clean" fence
is "$(ls "$scratch" | grep -c '^clean$\|^leave$')" 1 "and is, after the end"

done_testing

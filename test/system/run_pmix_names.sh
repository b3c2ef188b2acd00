#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Publish, lookup and unpublish by real clients: of libpmix (test/tool/pmix_names.c), of PMI-1, and of Open MPI, on one node
# and on four, with all ranges and persistences.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

program=$top_builddir/test/tool/pmix_names
[ -x "$program" ] || skip_all "pmix_names is not built"

one=(--virtual-nodes 1 --per-node 4 -n 4)
four=(--virtual-nodes 4 --per-node 1 -n 4)
eight=(--virtual-nodes 4 --per-node 2 -n 8)

# names LINES NAME OPTION... -- CALL...: the ranks make the calls; LINES is what they say, in any order, with a ; between
# them.
names() {
    local lines=$1 name=$2
    shift 2
    run_client "$@"
    is "$status:$(sort <<<"$out" | paste -sd ';')" "0:$(tr ';' '\n' <<<"$lines" | sort | paste -sd ';')" "$name"
    [ -z "$err" ] || diag "$err"
}

for nodes in one four; do
    declare -n options=$nodes
    names "pub:a,b:x SUCCESS;look:a,b,c SUCCESS a=x@0 b=x@0;look:c NOT-FOUND;pub:b,d:y DUPLICATE-KEY;\
look:d NOT-FOUND;unpub:a SUCCESS;look:a SUCCESS a=x@0;unpub:a SUCCESS;look:a,b SUCCESS b=x@0;unpub:* SUCCESS;\
look:a,b NOT-FOUND" "on $nodes: keys, once each, of their owner" "${options[@]}" -- \
        r0:pub:a,b:x fence r3:look:a,b,c r2:look:c r1:pub:b,d:y fence r2:look:d r3:unpub:a fence r1:look:a fence \
        r0:unpub:a fence r3:look:a,b fence "r0:unpub:*" fence r2:look:a,b
    names "pub:k:1 SUCCESS;pub:k:2 DUPLICATE-KEY;pub:k:3:replace SUCCESS;pub:k:4:replace DUPLICATE-KEY;look:k SUCCESS k=3@0" \
        "on $nodes: overwriting is refused, and allowed to the owner who says so" "${options[@]}" -- \
        r0:pub:k:1 r0:pub:k:2 r0:pub:k:3:replace fence r1:pub:k:4:replace fence r2:look:k
    names "look:a,b:wait SUCCESS a=x@0 b=x@0;look:a,b:wait=1 SUCCESS a=x@0;pub:a:x SUCCESS;pub:b:x SUCCESS" \
        "on $nodes: a lookup waits for all keys, or as many as it wants" "${options[@]}" -- \
        fence r3:look:a,b:wait r2:look:a,b:wait=1 r0:sleep:300 r0:pub:a:x r0:sleep:5000 r0:pub:b:x
    names "look:n:wait:limit=1 TIMEOUT;pub:n:x SUCCESS;look:n:wait:limit=9 SUCCESS n=x@0" \
        "on $nodes: until its time is over" "${options[@]}" -- r1:look:n:wait:limit=1 fence r0:pub:n:x r1:look:n:wait:limit=9
    names "pub:f:x:first SUCCESS;look:f SUCCESS f=x@0;look:f NOT-FOUND;pub:e:x:exits SUCCESS;pub:p:x:app SUCCESS;\
pub:i:x:forever SUCCESS;look:e,p,i SUCCESS e=x@0 p=x@0 i=x@0" \
        "on $nodes: a value that is read once, others that stay" "${options[@]}" -- \
        r0:pub:f:x:first r0:pub:e:x:exits r0:pub:p:x:app r0:pub:i:x:forever fence r3:look:f r3:look:f r3:look:e,p,i fence
    names "pub:q:x:required NOT-SUPPORTED;pub:q:x:unknown SUCCESS;look:q:required NOT-SUPPORTED;look:q:unknown SUCCESS q=x@0" \
        "on $nodes: a required directive that is not known is refused, another is ignored" "${options[@]}" -- \
        r0:pub:q:x:required r0:pub:q:x:unknown fence r1:look:q:required r1:look:q:unknown
done

# Ranks 2N and 2N + 1 are on the same node.
names "pub:k:l:local SUCCESS;look:k SUCCESS k=l@0;look:k NOT-FOUND;pub:k:m:local SUCCESS;pub:k:n:local DUPLICATE-KEY;\
look:k SUCCESS k=m@2" "what is published for a node" "${eight[@]}" -- \
    r0:pub:k:l:local fence r1:look:k r2:look:k fence r2:pub:k:m:local r2:pub:k:n:local fence r3:look:k
names "pub:k:p:process SUCCESS;look:k SUCCESS k=p@0;look:k NOT-FOUND;pub:m:x:rm SUCCESS;look:m NOT-FOUND;\
pub:g:x:global SUCCESS;look:g SUCCESS g=x@4;pub:s:x:namespace SUCCESS;look:s:namespace SUCCESS s=x@5" \
    "for a process, the manager, all, a namespace" "${eight[@]}" -- \
    r0:pub:k:p:process r0:look:k r0:pub:m:x:rm r4:pub:g:x:global r5:pub:s:x:namespace fence \
    r1:look:k r0:look:m r6:look:g r7:look:s:namespace
names "pub:k:x:custom=3+6 SUCCESS;look:k SUCCESS k=x@0;look:k SUCCESS k=x@0;look:k NOT-FOUND;pub:k:y:custom=6+3 DUPLICATE-KEY;\
pub:j:y:custom BAD-PARAM" "for those listed" "${eight[@]}" -- \
    r0:pub:k:x:custom=3+6 fence r3:look:k r6:look:k r5:look:k r1:pub:k:y:custom=6+3 r2:pub:j:y:custom
names "pub:s:x SUCCESS;look:s:local SUCCESS s=x@0;look:s:local NOT-FOUND;look:s:process NOT-FOUND" \
    "a lookup finds what is published by processes of its own range" "${eight[@]}" -- \
    r0:pub:s:x fence r1:look:s:local r2:look:s:local r1:look:s:process

# A process ends: what it has published for that long is gone.
names "pub:e:x:exits SUCCESS;pub:p:x:app SUCCESS;look:e,p SUCCESS p=x@0" "the end of a process" \
    --on-failure continue --virtual-nodes 4 --per-node 1 -n 4 -- \
    r0:pub:e:x:exits r0:pub:p:x:app fence r1:sleep:8000 r1:look:e,p

# ---- PMI-1 ----

cat >"$scratch/pmi1" <<'SH'
#!/bin/bash
say() {
    local answer
    echo "$1" >&"$PMI_FD"
    read -r -u "$PMI_FD" answer
    [ -z "$2" ] || echo "$PMI_RANK $answer"
}
say "cmd=init pmi_version=1 pmi_subversion=1"
[ "$PMI_RANK" != 0 ] || say "cmd=publish_name service=ocean port=tag#0\$a b" print
say "cmd=barrier_in"
[ "$PMI_RANK" != 3 ] || say "cmd=publish_name service=ocean port=x" print
[ "$PMI_RANK" != 3 ] || say "cmd=lookup_name service=ocean" print
[ "$PMI_RANK" != 3 ] || say "cmd=lookup_name service=desert" print
say "cmd=barrier_in"
[ "$PMI_RANK" != 0 ] || say "cmd=unpublish_name service=ocean" print
[ "$PMI_RANK" != 0 ] || say "cmd=unpublish_name service=ocean" print
say "cmd=barrier_in"
[ "$PMI_RANK" != 2 ] || say "cmd=lookup_name service=ocean" print
say "cmd=finalize"
SH
chmod +x "$scratch/pmi1"
for nodes in one four; do
    declare -n options=$nodes
    run "$banyan" run --timeout 240 --mpi pmi1 "${options[@]}" "$scratch/pmi1" </dev/null
    is "$status:$(sort <<<"$out")" "0:0 cmd=publish_result info=ok rc=0 msg=success
0 cmd=unpublish_result info=fail rc=-1 msg=service_not_found
0 cmd=unpublish_result info=ok rc=0 msg=success
2 cmd=lookup_result info=fail rc=-1 msg=service_not_found
3 cmd=lookup_result info=fail rc=-1 msg=service_not_found
3 cmd=lookup_result info=ok rc=0 port=tag#0\$a b
3 cmd=publish_result info=fail rc=-1 msg=service_is_already_published" "names of PMI-1 on $nodes"
    [ -z "$err" ] || diag "$err"
done

# ---- A tool ----

tool="timeout 300 env -i TMPDIR=$TMPDIR $top_builddir/test/tool/pmix_tool search"
names "pub:k:x SUCCESS;pub:n:x:namespace SUCCESS;look: SUCCESS x@1;look: NOT-FOUND nothing@0" \
    "a tool looks up what is for all" "${one[@]}" -- r1:pub:k:x r1:pub:n:x:namespace fence "r0:run:$tool look:k look:n 2>&1 | grep ^look" fence

# ---- Open MPI ----

if command -v mpicc.openmpi >/dev/null &&
    mpicc.openmpi -O1 -o "$scratch/publish" "$srcdir/test/tool/mpi/publish.c"; then
    run "$banyan" run --timeout 240 --mpi pmix "${four[@]}" "$scratch/publish" </dev/null
    is "$status:$(sort <<<"$out" | uniq -c | xargs)" "0:4 the port, then nothing" "MPI_Publish_name over four nodes"
    [ -z "$err" ] || diag "$err"
else
    skip "mpicc.openmpi is not installed"
fi

done_testing

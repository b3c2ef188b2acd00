#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# PMIx_Spawn by a real client of libpmix (test/tool/pmix_spawn.c), on one node and over four: what the new
# processes know and where they run, requests that cannot be met, and how parents, children and their
# run end.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

program=$top_builddir/test/tool/pmix_spawn
[ -x "$program" ] || skip_all "pmix_spawn is not built"

one=(--virtual-nodes 1 --per-node 1 -n 1 --oversubscribe)
four=(--virtual-nodes 4 --per-node 1 -n 1)

# spawns STATUS LINES NAME OPTION... -- WORD...: the parent's calls. LINES are all that is said on
# standard output, sorted, and joined by semicolons.
spawns() {
    local expected=$1 lines=$2 name=$3
    shift 3
    run_client "$@"
    is "$status:$(sort <<<"$out" | paste -sd ';')" "$expected:$lines" "$name"
    [ -z "$err" ] || diag "$err"
}

child=(-- "$program")
said="job 2 rank 0 of 2 app 0 parent 1.0 in $PWD with nothing;job 2 rank 1 of 2 app 0 parent 1.0 in $PWD with nothing"

# ---- What is spawned ----

for nodes in one four; do
    declare -n options=$nodes
    spawns 0 "$said;spawn=SUCCESS" "on $nodes: two processes, who know their parent" \
        "${options[@]}" -- spawn 2 "${child[@]}" say end
    spawns 0 "job 2 rank 0 of 3 app 0 parent 1.0 in / with seven;job 2 rank 1 of 3 app 1 parent 1.0 in $PWD with nothing;\
job 2 rank 2 of 3 app 1 parent 1.0 in $PWD with nothing;spawn=SUCCESS" \
        "on $nodes: two applications, each with its directory and environment" "${options[@]}" -- \
        spawn 1 wdir=/ env=SPAWN_TEST=seven "${child[@]}" say + 2 "${child[@]}" say end
done
spawns 0 "job 2 rank 0 of 1 app 0 parent 1.0 in $PWD with nothing;job 3 rank 0 of 1 app 0 parent 2.0 in $PWD with nothing;\
spawn=SUCCESS;spawn=SUCCESS" "what is spawned spawns" "${four[@]}" -- \
    spawn 1 "${child[@]}" say spawn 1 "${child[@]}" say end end
run "$banyan" run --timeout 240 --mpi pmix -l "${four[@]}" "$program" spawn 1 host=v3 -- \
    bash -c 'echo $BANYAN_NODE; uname -n; read -r line; echo "read $?"' end </dev/null
is "$status" 0 "a program that knows nothing of PMIx"
is "$(grep -c '^\[2\.0\] read 1' <<<"$out"):$(grep -c '^\[0\] spawn=SUCCESS' <<<"$out")" "1:1" \
    "its output comes with the number of its job, and it has no input"

# ---- Policies ----

for nodes in one four; do
    declare -n options=$nodes
    spawns 0 "0 reads ;1 reads a line;push:a line=SUCCESS;spawn=SUCCESS" "on $nodes: input for one process, from its parent" \
        "${options[@]}" --oversubscribe -- spawn 2 stdin=1 -- bash -c 'read -r line; echo "$BANYAN_RANK reads $line"' end \
        "push:a line"
    spawns 0 "0 reads another;push:another=SUCCESS;spawn=SUCCESS" "on $nodes: for the first one" "${options[@]}" -- \
        spawn 1 flag=pmix.fwd.stdin -- bash -c 'read -r line; echo "$BANYAN_RANK reads $line"' end push:another
    spawns 3 "1 goes on;push:go=SUCCESS;spawn=SUCCESS" "on $nodes: a job that goes on when a process fails" "${options[@]}" \
        --oversubscribe -- spawn 2 flag=pmix.recover flag=pmix.fwd.stdin -- \
        bash -c '[ $BANYAN_RANK = 1 ] || { read -r line; exit 3; }; sleep 1; echo "1 goes on"' end push:go
done
for target in -1 -2; do
    spawns 0 "0 reads ;1 reads ;spawn=SUCCESS" "input for none, or all, which is not required ($target)" "${four[@]}" -- \
        spawn 2 stdin=$target -- bash -c 'read -r line; echo "$BANYAN_RANK reads $line"' end
done
spawns 0 "0 reads a line;push:a line=SUCCESS;spawn=SUCCESS" "it ends with the caller's job" "${four[@]}" -- \
    spawn 1 flag=pmix.fwd.stdin -- bash -c 'while read -r line; do echo "$BANYAN_RANK reads $line"; done' end "push:a line"
spawns 0 "0 reads a line;push:a line=SUCCESS;spawn=SUCCESS" "or for a process" "${four[@]}" -- \
    spawn 1 stdin-proc=0 -- bash -c 'read -r line; echo "$BANYAN_RANK reads $line"' end "push:a line"
spawns 0 "spawn=BAD-PARAM" "nobody is there to read" "${four[@]}" -- spawn 2 stdin=2 -- true end
like "$err" "cannot spawn: there is no rank 2 to read standard input" "the user reads that"
spawns 0 "$(cat /sys/devices/system/cpu/cpu0/topology/thread_siblings_list);spawn=SUCCESS" "a list of cores" \
    --virtual-nodes 1 -n 1 --slots 2 --map-by slot -- \
    spawn 1 cpus=0 -- sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status end
spawns 0 "spawn=JOB-FAILED-TO-MAP" "more processes than slots, which the user has allowed" "${one[@]}" -- \
    spawn 1 flag=pmix.noover -- true end
run "$banyan" run --timeout 240 --mpi pmix "${four[@]}" "$program" spawn 2 flag=pmix.repbind flag=pmix.fwd.stdin -- \
    bash -c 'read -r line; true' end push:go </dev/null
is "$status:$(grep -c "^banyan: job 2: rank [01] on v[1-4]: " <<<"$err")" 0:2 "where each is bound"

# ---- The environment ----

# What is there already is the user's, or of the node where the process runs: each has its own TMPDIR.
show='directory=${TMPDIR-none}; directory=${directory##*/}
    echo "$1: ${LIST-none} ${NEW-none} ${GONE-none} ${FRESH-none} ${directory/$BANYAN_NODE/node}"'
export LIST=user GONE=here
for nodes in one four; do
    declare -n options=$nodes
    spawns 0 "first: user:job:own 0:1 none yes node:more;second: job:user none here none node;spawn=SUCCESS" \
        "on $nodes: directives for the environment, in their order" "${options[@]}" -- \
        spawn 1 job-prepend=LIST=job add=LIST=no append=LIST=own first=LIST=user set=NEW=1 prepend=NEW=0 \
        unset=GONE add=FRESH=yes append=TMPDIR=more -- bash -c "$show" bash first + \
        1 add=TMPDIR=no -- bash -c "$show" bash second end
    spawns 0 "spawn=SUCCESS;spawn=SUCCESS;third: user:a:b none none none none" \
        "on $nodes: what it spawns inherits them" "${options[@]}" -- \
        spawn 1 append=LIST=a unset=GONE unset=TMPDIR "${child[@]}" \
        spawn 1 append=LIST=b unset=GONE -- bash -c "$show" bash third end end
    spawns 0 "spawn=BAD-PARAM" "on $nodes: a variable without a name" "${options[@]}" -- \
        spawn 1 prepend==x -- true end
done
unset LIST GONE

# ---- Both together ----

# together NAME WORDS OPTION...: the parent's processes spawn as many, and all make these calls.
together() {
    local name=$1 words=$2 processes=$3
    shift 3
    run "$banyan" run --timeout 240 --mpi pmix "$@" -n "$processes" "$program" \
        spawn "$processes" "${child[@]}" $words end $words </dev/null
    is "$status:$(grep -c '=SUCCESS' <<<"$out"):$(grep -vc '=SUCCESS' <<<"$out")" \
        "0:$((processes * (2 * $(wc -w <<<"$words") + 1))):0" "$name"
    [ -z "$err" ] || diag "$err"
}

for nodes in 1 4; do
    here=(--virtual-nodes $nodes --per-node $((12 / nodes)))
    together "$nodes nodes: connected, both get what the other has put" "put connect get disconnect" \
        6 "${here[@]}"
    together "$nodes nodes: fences of both" "put connect both get both both disconnect" 6 "${here[@]}"
    together "$nodes nodes: a set is connected again and again" \
        "connect disconnect connect both disconnect put connect get disconnect" 6 "${here[@]}"
done
together "two nodes, of which each has one of them" "put connect both get disconnect" 1 \
    --virtual-nodes 2 --per-node 1
spawns 0 "$(for i in 1 2 3 4 5; do echo connect=SUCCESS; echo connect=SUCCESS; echo disconnect=SUCCESS; \
    echo disconnect=SUCCESS; echo spawn=SUCCESS; done | sort | paste -sd ';')" \
    "several jobs are spawned, one after the other" "${four[@]}" -- \
    $(for i in 1 2 3 4 5; do echo spawn 1 "${child[@]}" connect disconnect end connect disconnect; done)

# MPI_Comm_spawn of Open MPI, which connects by published names: merge, allreduce and disconnect, twice,
# then MPI_Comm_spawn_multiple. Programs of jobs that have ended have left nothing that the next ones need.
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader,tcp
if ! command -v mpicc.openmpi >/dev/null; then
    skip "Open MPI is not installed"
elif ! mpicc.openmpi -O1 -o "$scratch/mpi" "$srcdir/test/tool/mpi/spawn.c"; then
    fail "test/tool/mpi/spawn.c compiles"
else
    for nodes in 1 4; do
        run "$banyan" run --timeout 240 --virtual-nodes $nodes --per-node $((8 / nodes)) --oversubscribe -n 2 \
            "$scratch/mpi" 2 2 </dev/null
        is "$status:$(sort <<<"$out" | paste -sd ';')" "0:one: 2 children of 2 parents, 4 together, right;\
one: 2 children of 2 parents, 4 together, right;one: 4 children of 2 parents, 6 together, right;\
parents: 4 together, right;parents: 4 together, right;parents: 6 together, right" \
            "$nodes nodes: MPI_Comm_spawn of Open MPI"
        is "$err" "" "without a complaint"
    done
fi

# ---- What cannot be ----

spawns 0 "spawn=JOB-EXE-NOT-FOUND" "a program that is not there" "${four[@]}" -- \
    spawn 2 -- /nonexistent/program end
like "$err" "job 2, which rank 0 of job 1 has spawned, does not run: cannot run /nonexistent/program" \
    "the user reads why"
spawns 0 "spawn=JOB-EXE-NOT-FOUND" "one application of two cannot be run: none is left" "${four[@]}" -- \
    spawn 1 -- sleep 1000 + 1 -- /nonexistent/program end
spawns 0 "spawn=JOB-WDIR-NOT-FOUND" "a directory that is not there" "${four[@]}" -- \
    spawn 1 wdir=/nonexistent "${child[@]}" say end
spawns 0 "spawn=JOB-FAILED-TO-MAP" "more processes than free slots" "${four[@]}" -- \
    spawn 4 "${child[@]}" say end
spawns 0 "${said//job 2/job 3};spawn=JOB-FAILED-TO-MAP;spawn=SUCCESS" "the next one that has room runs" "${four[@]}" -- \
    spawn 4 -- true end spawn 2 "${child[@]}" say end
spawns 0 "spawn=BAD-PARAM" "a node that is not in the allocation" "${four[@]}" -- \
    spawn 1 host=elsewhere "${child[@]}" say end
spawns 0 "spawn=BAD-PARAM" "a mapping that does not exist" "${four[@]}" -- \
    spawn 1 map=nonsense "${child[@]}" say end
for directive in pmix.hostfile pmix.addhost pmix.addhostfile; do
    spawns 0 "spawn=NOT-SUPPORTED" "$directive, which asks for other nodes" "${four[@]}" -- \
        spawn 1 may=$directive "${child[@]}" say end
done
spawns 0 "job 2 rank 0 of 1 app 0 parent 1.0 in $PWD with nothing;spawn=SUCCESS" \
    "the event at the end, which always comes, may be required" "${four[@]}" -- \
    spawn 1 must=pmix.notecomp "${child[@]}" say end
spawns 0 "spawn=NOT-SUPPORTED" "a directive that is required and unknown" "${four[@]}" -- \
    spawn 1 must=a.directive "${child[@]}" say end
spawns 0 "job 2 rank 0 of 1 app 0 parent 1.0 in $PWD with nothing;spawn=SUCCESS" "one that is not required" \
    "${four[@]}" -- spawn 1 may=a.directive "${child[@]}" say end

# ---- Time limits ----

# The process that starts others on its node is stopped until the call has ended.
slots=(--oversubscribe --kill-grace 0)
for nodes in one four; do
    declare -n options=$nodes
    [ $nodes = one ] && limits="timeout=1" || limits="timeout=1000 start-timeout=1"
    spawns 0 "halt=SUCCESS;resume=SUCCESS;spawn=TIMEOUT" "on $nodes: processes that are not started in time" \
        "${options[@]}" "${slots[@]}" -- halt spawn 5 $limits map=node -- sleep 1000 end resume
    like "$err" "job 2, which rank 0 of job 1 has spawned, does not run: not all of its processes were started within 1 s" \
        "the user reads why"
    nothing_left_within 10 none "nothing is left of them"
    spawns 0 "${said};spawn=SUCCESS" "on $nodes: processes that are" "${options[@]}" -- \
        spawn 2 timeout=50 start-timeout=0 run-timeout=0 "${child[@]}" say end
    spawns 124 "spawn=SUCCESS" "on $nodes: a job that runs for too long" "${options[@]}" "${slots[@]}" -- \
        spawn 2 run-timeout=4 -- sleep 1000 end
    like "$err" "banyan: job 2: timed out after 4 s" "the user reads whose it was"
done

# ---- How they end ----

spawns 0 "job 2 rank 0 of 1 app 0 parent 1.0 in $PWD with nothing;spawn=SUCCESS" \
    "the run waits for a child that outlives its parent" "${four[@]}" -- spawn 1 "${child[@]}" sleep:700 say end
spawns 3 "spawn=SUCCESS" "a child that fails is the run's failure" "${four[@]}" -- \
    spawn 1 "${child[@]}" sleep:500 exit:3 end sleep:1000
like "$err" "banyan: job 2: rank 0 on v[0-9] exited with status 3" "the user reads whose it was"
spawns 5 "spawn=SUCCESS" "a parent that fails ends its children" "${four[@]}" -- \
    spawn 2 "${child[@]}" sleep:50000 end exit:5
spawns 6 "spawn=SUCCESS;spawn=SUCCESS" "and theirs, whose own parent has ended well" "${four[@]}" -- \
    spawn 1 "${child[@]}" spawn 1 "${child[@]}" sleep:50000 end end sleep:8000 exit:6
spawns 7 "spawn=SUCCESS" "an abort of the parent does" "${four[@]}" -- \
    spawn 2 "${child[@]}" sleep:50000 end abort:7

# A signal, while the parent is there and when it has ended.
for rest in sleep:50000 ""; do
    "$banyan" run --mpi pmix "${four[@]}" "$program" spawn 2 "${child[@]}" say sleep:50000 end $rest \
        >"$scratch/out" 2>"$scratch/err" </dev/null &
    pid=$!
    until_true 20 bash -c "[ \$(grep -c '^job 2' $scratch/out) = 2 ]"
    kill -TERM $pid
    wait $pid
    is "$?" 143 "a signal ends the children${rest:+, too}"
done
nothing_left_within 10 none "nothing is left of any of them"

done_testing

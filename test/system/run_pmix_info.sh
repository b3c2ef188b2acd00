#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What a PMIx client is told of its job, applications, nodes and processes: the keys that the standard
# lets it get from a host that maps and binds, with the values that belong to the placement.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

program=$top_builddir/test/tool/pmix_info
[ -x "$program" ] || skip_all "pmix_info is not built"


# told RANK OPTION... -- WHAT...: what that rank is told, one line each; the others ask the same.
told() {
    local rank=$1
    shift
    run_client "$@"
    [ "$status" = 0 ] || diag "status $status: $err"
    out=$(sed -n "s/^\[$rank\] //p" <<<"$out")
}

# ---- The job, its applications and nodes ----

two_apps=(-l --virtual-nodes 2 --slots 3 -n 4 --map-by node --wdir / "$program")
what=(j:pmix.rm.name j:pmix.rm.version j:pmix.jobid j:pmix.max.size n:pmix.lldr j:pmix.job.size
    j:pmix.job.napps j:pmix.univ.size j:pmix.num.slots j:pmix.num.nodes
    j:pmix.nlist j:pmix.offset j:pmix.mapby j:pmix.rankby j:pmix.bindto
    a0:pmix.app.size a1:pmix.app.size a0:pmix.aldr a1:pmix.aldr a0:pmix.wdir
    n:pmix.local.size n:pmix.node.size n:pmix.lpeers nv2:pmix.local.size nv2:pmix.lpeers)
run "$banyan" run --timeout 240 --mpi pmix "${two_apps[@]}" "${what[@]}" : -n 2 \
    "$program" "${what[@]}" </dev/null
is "$status:$(sed -n 's/^\[0\] //p' <<<"$out" | xargs)" "0:$("$banyan" --version |
    sed 's/^\(.*\) \(.*\)/j:pmix.rm.name=\1 j:pmix.rm.version=\2/') \
j:pmix.jobid=1 j:pmix.max.size=6 n:pmix.lldr=0 j:pmix.job.size=6 j:pmix.job.napps=2 \
j:pmix.univ.size=6 j:pmix.num.slots=6 j:pmix.num.nodes=2 j:pmix.nlist=v1,v2 j:pmix.offset=0 \
j:pmix.mapby=node j:pmix.rankby=node j:pmix.bindto=none a0:pmix.app.size=4 a1:pmix.app.size=2 \
a0:pmix.aldr=0 a1:pmix.aldr=4 a0:pmix.wdir=/ n:pmix.local.size=3 n:pmix.node.size=3 \
n:pmix.lpeers=0,2,4 nv2:pmix.local.size=3 nv2:pmix.lpeers=1,3,5" "of the job"
is "$(sed -n 's/^\[5\] n:pmix.lpeers=//p' <<<"$out")" "1,3,5" "each node has its own peers"

told 1 -l --virtual-nodes 2 -n 2 --map-by node -- j:pmix.tmpdir j:pmix.nsdir p:pmix.pdir j:pmix.tdir.rmclean \
    p:pmix.srv.nspace p:pmix.srv.rank
directory=$(sed -n 's/^j:pmix.tmpdir=//p' <<<"$out")
like "$(xargs <<<"$out")" "^j:pmix.tmpdir=/.* j:pmix.nsdir=$directory p:pmix.pdir=$directory/1 j:pmix.tdir.rmclean=true \
p:pmix.srv.nspace=banyan-[0-9a-f]+ p:pmix.srv.rank=[0-9]+$" "directories, which the launcher removes, and the server"

# ---- Processes, here and elsewhere ----

what=(p:pmix.appnum p:pmix.apprank p:pmix.grank p:pmix.lrank p:pmix.nrank p:pmix.nodeid
    p:pmix.hname p:pmix.reinc p1:pmix.appnum p1:pmix.apprank p1:pmix.lrank p1:pmix.nrank
    p1:pmix.hname p5:pmix.appnum p5:pmix.apprank p5:pmix.lrank p5:pmix.hname p4:pmix.apprank)
run "$banyan" run --timeout 240 --mpi pmix "${two_apps[@]}" "${what[@]}" : -n 2 \
    "$program" "${what[@]}" </dev/null
is "$status:$(sed -n 's/^\[4\] //p' <<<"$out" | xargs)" "0:p:pmix.appnum=1 \
p:pmix.apprank=0 p:pmix.grank=4 p:pmix.lrank=2 p:pmix.nrank=2 p:pmix.nodeid=0 p:pmix.hname=v1 \
p:pmix.reinc=0 p1:pmix.appnum=0 p1:pmix.apprank=1 p1:pmix.lrank=0 p1:pmix.nrank=0 p1:pmix.hname=v2 \
p5:pmix.appnum=1 p5:pmix.apprank=1 p5:pmix.lrank=2 p5:pmix.hname=v2 p4:pmix.apprank=0" \
    "of processes of both applications on both nodes"

# ---- Bindings ----

what=(p:pmix.cpuset p:pmix.locstr p:pmix.pkgrank n:pmix.lcpus j:pmix.bindto l0,1)
told 0 -l -n 1 --bind-to core -- "${what[@]:0:3}"
cpu=$(taskset -c -p $$ | sed 's/.*: \([0-9]*\).*/\1/')
like "$out" "^p:pmix.cpuset=hwloc:$cpu(,[0-9,-]+)?
p:pmix.locstr=hwloc:(SK0:)?(NM0:)?(L3[0-9]+:)?(L2[0-9]+:)?(L1[0-9]+:)?CR0:HT[0-9,-]+
p:pmix.pkgrank=0$" "where it is bound, in the standard's form"
cpuset=$("$banyan" run -n 1 --bind-to core sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status)
is "$(sed -n 's/^p:pmix.cpuset=hwloc://p' <<<"$out")" "$cpuset" "and as the kernel has it"
told 0 -l -n 1 -- "${what[@]:0:5}"
is "$(xargs <<<"$out")" "p:pmix.cpuset=- p:pmix.locstr=- p:pmix.pkgrank=- n:pmix.lcpus=- \
j:pmix.bindto=none" "what is not bound has no binding"
told 1 -l -n 2 --slots 2 --bind-to core:overload-allowed --map-by core -- "${what[@]}"
like "$out" "n:pmix.lcpus=[0-9,-]+:[0-9,-]+
j:pmix.bindto=core
l0,1=0x[0-9a-f]+$" "of two the CPUs of both, and what they share"
shared=$(sed -n 's/^l0,1=//p' <<<"$out")
ok "they share the node" test $((shared & 0x4000)) -ne 0

# ---- Open MPI makes of it what it needs ----

if command -v mpicc.openmpi >/dev/null && [ "$(nproc)" -ge 2 ]; then
    cat >"$scratch/levels.c" <<'C'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
static int shared(int type)
{
    MPI_Comm comm;
    int size;
    MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, MPI_INFO_NULL, &comm);
    MPI_Comm_size(comm, &size);
    return size;
}
int main(void)
{
    int rank, core, numa, node;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    core = shared(OMPI_COMM_TYPE_CORE);
    numa = shared(OMPI_COMM_TYPE_NUMA);
    node = shared(OMPI_COMM_TYPE_NODE);
    if (rank == 0)
        printf("core %d numa %d node %d local %s\n", core, numa, node,
               getenv("OMPI_COMM_WORLD_LOCAL_RANK"));
    return MPI_Finalize();
}
C
    mpicc.openmpi -o "$scratch/levels" "$scratch/levels.c"
    run "$banyan" run --timeout 240 -n 2 --slots 2 --map-by core "$scratch/levels" </dev/null
    is "$status:$out" "0:core 1 numa 2 node 2 local 0" \
        "Open MPI knows that bound ranks share a NUMA node and no core"
else
    skip "Open MPI is not installed, or there is one processor"
fi

run "$banyan" run --virtual-nodes 2 -n 4 --map-by node sh -c 'echo $BANYAN_NODE $OMPI_COMM_WORLD_RANK \
    $OMPI_COMM_WORLD_SIZE $OMPI_COMM_WORLD_LOCAL_RANK $OMPI_COMM_WORLD_LOCAL_SIZE' </dev/null
is "$(sort <<<"$out" | xargs)" "v1 0 4 0 2 v1 2 4 1 2 v2 1 4 0 2 v2 3 4 1 2" \
    "scripts around Open MPI's programs find their numbers"

done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What the environment of a rank has: the variables of each MPI, none that an enclosing launcher has left
# here, and the user's -x in any case.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

# rank_env OPTION...: the variables of rank 3, on the second of two nodes with two ranks each.
rank_env() {
    run "$banyan" run --timeout 240 --virtual-nodes 2 --per-node 2 -n 4 "$@" \
        sh -c '[ "$BANYAN_RANK" != 3 ] || env' </dev/null
    [ $status -eq 0 ] || diag "$err"
}
value() {
    sed -n "s/^$1=//p" <<<"$out"
}

# ---- what each MPI needs ----

rank_env
for pair in PMI_RANK=3 PMI_SIZE=4 MPI_LOCALNRANKS=2 MPI_LOCALRANKID=1 \
    MV2_COMM_WORLD_RANK=3 MV2_COMM_WORLD_SIZE=4 MV2_COMM_WORLD_LOCAL_RANK=1 MV2_COMM_WORLD_LOCAL_SIZE=2 \
    OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=1 \
    OMPI_COMM_WORLD_LOCAL_SIZE=2 OMPI_MCA_schizo=ompi PMIX_RANK=3; do
    is "$(value "${pair%%=*}")" "${pair#*=}" "$pair"
done
like "$(value PMI_FD)" '^[0-9]+$' "PMI_FD"
is "$(value MPICH_INTERFACE_HOSTNAME)" 127.1.0.2 "the address of a virtual node, whose name nobody knows"
is "$(value PMI_JOBID)" "$(value PMIX_NAMESPACE)" "PMI_JOBID is the job's namespace"
is "$(grep -cE '^(RANK|LOCAL_RANK|WORLD_SIZE|MASTER_ADDR)=' <<<"$out")" 0 "nothing for torch"
rank_env --mpi none
is "$(grep -cE '^(PMI|PMIX|MV2|OMPI_COMM_WORLD)_' <<<"$out")" 0 "--mpi none gives none of them"

# ---- torch ----

RANK=7 WORLD_SIZE=9 rank_env --mpi pmix,torch
is "$(value RANK) $(value WORLD_SIZE) $(value LOCAL_RANK) $(value LOCAL_WORLD_SIZE)" "3 4 1 2" \
    "--mpi torch gives ranks, whatever is set here"
address=$(value MASTER_ADDR):$(value MASTER_PORT)
run "$banyan" run --timeout 240 --virtual-nodes 2 --per-node 2 -n 4 --mpi torch \
    sh -c 'echo "$MASTER_ADDR:$MASTER_PORT"' </dev/null
is "$(sort -u <<<"$out" | wc -l)" 1 "all ranks are given one address and port"
like "$address" '^127\.1\.0\.1:[0-9]+$' "of the first rank's node"
cat >"$scratch/meet.py" <<'PYTHON'
import os, socket
address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
world = int(os.environ["WORLD_SIZE"])
if os.environ["RANK"] == "0":
    server = socket.create_server(address)
    print("met", sorted(server.accept()[0].recv(9).decode() for _ in range(world - 1)))
else:
    while True:
        try:
            socket.create_connection(address).sendall(os.environ["RANK"].encode())
            break
        except ConnectionRefusedError:
            pass
PYTHON
run "$banyan" run --timeout 240 --virtual-nodes 2 --per-node 2 -n 4 --mpi torch \
    python3 "$scratch/meet.py" </dev/null
is "$out" "met ['1', '2', '3']" "where they meet"
MASTER_PORT=4321 rank_env --mpi torch -x RANK=5
is "$(value MASTER_PORT) $(value RANK)" "4321 5" "the user's port, and -x, come first"

# ---- what others have left here ----

left=(PMIX_SERVER_URI41=x PMI_FD=99 PMI2_CONNECT_TO_SERVER=1 HYDI_CONTROL_FD=9 I_MPI_PMI_LIBRARY=/x
    MVP_COMM_WORLD_RANK=1 MPIRUN_RANK=1 MPISPAWN_ID=1 OMPI_MCA_ess=env OMPI_UNIVERSE_SIZE=9
    PRTE_LAUNCHED=1 SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_STEP_ID=0
    SLURM_STEP_NODELIST=n SLURM_GTIDS=0 SLURM_TASK_PID=1 SLURM_MPI_TYPE=pmi2 SLURM_CPU_BIND=quiet
    SLURM_PMIX_MAPPING_SERV=x SLURMD_NODENAME=n PALS_RANKID=0 PALS_LOCAL_RANKID=0 ALPS_APP_PE=0
    FLUX_TASK_RANK=0 FLUX_JOB_SIZE=9 JSM_NAMESPACE_RANK=0)
kept=(SLURM_NTASKS=4 SLURM_CPUS_ON_NODE=2 OMPI_MCA_btl=self PMIX_MCA_gds=hash UCX_TLS=tcp
    I_MPI_DEBUG=5 MV2_DEBUG=1 FLUX_URI=local:///x)
left+=(MPICH_INTERFACE_HOSTNAME=n)
run env "${left[@]}" "${kept[@]}" "$banyan" run --timeout 240 --mpi none --hosts localhost -n 1 env </dev/null
[ $status -eq 0 ] || diag "$err"
for pair in "${left[@]}"; do
    is "$(grep -cx "$pair" <<<"$out")" 0 "$pair does not reach a rank"
done
for pair in "${kept[@]}"; do
    is "$(grep -cx "$pair" <<<"$out")" 1 "$pair does"
done
run env SLURM_PROCID=0 PMI_RANK=8 "$banyan" run --timeout 240 --hosts localhost -n 1 -x SLURM_PROCID \
    -x PMI_RANK=9 env </dev/null
is "$(value SLURM_PROCID) $(value PMI_RANK)" "0 9" "-x gives them all the same"
done_testing

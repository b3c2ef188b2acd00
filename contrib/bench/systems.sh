# SPDX-License-Identifier: BSD-3-Clause
#
# How each launcher is told to start PER_NODE processes on each of NODES nodes v1, v2, ... behind
# the same agent, or, with NODES 0, PER_NODE processes here. One function per system:
#
#     command_SYSTEM NODES PER_NODE PROGRAM [ARGUMENT...]    fills the array `command`
#     version_SYSTEM                                          prints a line, or nothing if absent
#     daemons_SYSTEM                                          names of the programs it runs on a node
#
# All are asked for the same: no binding, output passed on untouched, no oversubscription check.

# comma_hosts NODES [SUFFIX]: v1SUFFIX,v2SUFFIX,...
comma_hosts() {
    seq -s, -f "v%g${2:-}" "$1"
}

command_banyan() {
    local nodes=$1 per_node=$2
    shift 2
    command=("$top_builddir/banyan" run)
    if [ "$nodes" -gt 0 ]; then
        command+=(--ssh-agent "$ssh_agent" --host "v[1-$nodes]" --per-node "$per_node")
    fi
    command+=(-n $(((nodes > 0 ? nodes : 1) * per_node)) --oversubscribe "$@")
}
version_banyan() {
    [ -x "$top_builddir/banyan" ] && "$top_builddir/banyan" --version | head -n 1
}
daemons_banyan() {
    echo banyand
}

command_hydra() {
    local nodes=$1 per_node=$2
    shift 2
    command=(mpiexec.hydra)
    if [ "$nodes" -gt 0 ]; then
        command+=(-launcher ssh -launcher-exec "$ssh_agent" -hosts "$(comma_hosts "$nodes")"
            -ppn "$per_node")
    fi
    command+=(-bind-to none -n $(((nodes > 0 ? nodes : 1) * per_node)) "$@")
}
version_hydra() {
    mpiexec.hydra --version 2>/dev/null | sed -n 's/^ *Version: */MPICH hydra /p'
}
daemons_hydra() {
    echo hydra_pmi_proxy
}

command_orterun() {
    local nodes=$1 per_node=$2
    shift 2
    command=(orterun --bind-to none)
    [ "$(id -u)" -ne 0 ] || command+=(--allow-run-as-root)
    if [ "$nodes" -gt 0 ]; then
        command+=(-mca plm_rsh_agent "$ssh_agent" -host "$(comma_hosts "$nodes" ":$per_node")")
    else
        command+=(--oversubscribe)
    fi
    command+=(-n $(((nodes > 0 ? nodes : 1) * per_node)) "$@")
}
version_orterun() {
    orterun --version 2>/dev/null | sed -n 's/^orterun (Open MPI)/Open MPI orterun/p;
        s/^orterun (OpenRTE)/Open MPI orterun/p; s/^mpirun (Open MPI)/Open MPI orterun/p' | head -n 1
}
daemons_orterun() {
    echo orted
}

# PRRTE's, which Open MPI 5 brings along (Debian 13). Its daemons lose the ends of processes that end
# while their start is still being told, and then wait for ever (3.0.8: true on 16 nodes hangs in 3 of 4
# starts); so its processes live for 10 ms, which are in its figures.
declare -A lingers_ms=([prterun]=10)
command_prterun() {
    local nodes=$1 per_node=$2
    shift 2
    command=(prterun --bind-to none)
    [ "$(id -u)" -ne 0 ] || command+=(--allow-run-as-root)
    if [ "$nodes" -gt 0 ]; then
        command+=(--prtemca plm_ssh_agent "$ssh_agent"
            --host "$(comma_hosts "$nodes" ":$per_node")")
    else
        command+=(--map-by :oversubscribe)
    fi
    command+=(-n $(((nodes > 0 ? nodes : 1) * per_node)) "$@")
}
version_prterun() {
    prterun --version 2>/dev/null | sed -n 's/^prterun (\(.*\)) \(.*\)/\1 \2/p' | head -n 1
}
daemons_prterun() {
    echo prted
}

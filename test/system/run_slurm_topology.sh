#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The switches of a real Slurm with topology/tree: banyan knows the same from its file, from scontrol and from
# what each node says of itself, and the tree of daemons in a job follows them.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"

if [ -z "${SLURM_TESTBED:-}" ]; then
    export SLURM_TREE='SwitchName=leaf1 Nodes=sim[1,3,5,7]
SwitchName=leaf2 Nodes=sim[2,4,6,8]
SwitchName=top Switches=leaf[1-2]'
    again_in_slurm run_slurm_topology.sh 8 200
fi

cd "$scratch" || exit 1
conf=${SLURM_CONF%/*}/topology.conf

srun -Q -N 8 sh -c 'echo $SLURM_TOPOLOGY_ADDR $SLURM_TOPOLOGY_ADDR_PATTERN' >addresses
is "$(sort addresses | head -n 1)" "top.leaf1.sim1 switch.switch.node" "Slurm tells a node its switches"
scontrol show topology >shown
like "$(cat shown)" "SwitchName=leaf1 Level=0" "and anyone all of them"

# costs FILE: FROM,TO,COST of each path.
costs() {
    "$banyan" fabric --topology "$1" --matrix |
        awk -F , -v OFS=, 'NR == 1 { split($0, to); next } { for (i = 2; i <= NF; i++) print $1, to[i], $i }' | sort
}
costs "$conf" >expected
is "$(grep -c . expected)-$(grep -x -e sim1,sim3,2 -e sim1,sim2,4 expected | xargs)" "64-sim1,sim2,4 sim1,sim3,2" \
    "the file has paths below a leaf and through the top"
is "$(costs shown)" "$(cat expected)" "what scontrol shows is the same"
is "$(costs addresses)" "$(cat expected)" "and what the nodes say"

# tree OPTION...: of a job on all nodes, the names of its leaves' lines.
tree() {
    salloc -Q -N 8 "$banyan" tree --radix 2 "$@" 2>err
}
tree >follows
like "$(cat follows)" "sim1 \[leaf1\].*sim2 \[leaf2\]" "the tree of a job follows Slurm's file"
tree --fabric-topology addresses | sed 's/, cost [0-9]*//' >given
is "$(cat given)" "$(sed 's/, cost [0-9]*//' follows)" "and what the nodes say, when that is given"
mv "$conf" "$conf.away"
# batch OPTION...: a run in the script of a job on two nodes, which knows its node's switches.
batch() {
    printf '#!/bin/sh\n"%s" run -v %s hostname </dev/null 2>err\n' "$banyan" "$*" >job
    sbatch -Q -W -N 2 -w 'sim[1-2]' -o out --chdir "$scratch" job
}
batch
is "$(sort out | uniq | xargs)" "sim1 sim2" "without the file: it runs"
like "$(cat err)" "the tree does not follow the fabric: .*topology.conf does not exist: .*--fabric-topology" \
    "and -v says why the tree does not follow"
batch --fabric-topology addresses
is "$(sort out | uniq | xargs)" "sim1 sim2" "with the addresses it runs, too"
is "$(grep -c 'does not follow' err)" 0 "and follows them"
mv "$conf.away" "$conf"
done_testing

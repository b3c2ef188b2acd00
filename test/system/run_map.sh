#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `banyan map`: what it prints on machines that are described, that a run does the same, and what it
# says of commands that cannot be.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

two_packages="package:2 core:2 pu:2"
gpus=$srcdir/test/data/gpus.xml
four_numa=$srcdir/test/data/four-numa.xml # in one package, a GPU at each, in the opposite order of the bus

# maps EXPECTED NAME OPTION...
maps() {
    local expected=$1 name=$2
    shift 2
    run "$banyan" map "$@" </dev/null
    is "$status-$out$err" "0-$expected" "$name"
}

maps "n1: ranks 0-3
n2: ranks 4-6" "by slot the nodes are filled" --nodes 'n[1-2]' --topology "$two_packages" -n 7
maps "n1: ranks 0,2
n2: ranks 1,3" "by node they are dealt to" --nodes 'n[1-2]' --slots 2 --map-by node
maps "n1: ranks 0-2
  rank 0: [BB/..][../..] cpus 0-1
  rank 1: [../BB][../..] cpus 2-3
  rank 2: [../..][BB/..] cpus 4-5" "by core each has one" \
    --nodes n1 --topology "$two_packages" -n 3 --map-by core
maps "n1: ranks 0-2
  rank 0: [B./..][../..] cpus 0
  rank 1: [../B.][../..] cpus 2
  rank 2: [../..][B./..] cpus 4" "by hwthread cores are not shared while others are free" \
    --nodes n1 --topology "$two_packages" -n 3 --map-by hwthread
maps "n1: ranks 0,2
  rank 0: [BB/BB][../..] cpus 0-3
  rank 2: [../..][BB/BB] cpus 4-7
n2: ranks 1,3
  rank 1: [BB/BB][../..] cpus 0-3
  rank 3: [../..][BB/BB] cpus 4-7" "pe=2 and dealing to nodes" \
    --nodes 'n[1-2]' --topology "$two_packages" -n 4 --map-by node:pe=2
maps "n1: ranks 0-1
  rank 0 of application 0: not bound
  rank 1 of application 1: [../BB][../..] cpus 2-3" "the second application takes what is left" \
    --nodes n1 --topology "$two_packages" -n 1 true : -n 1 --bind-to core true
maps "n1: ranks 0-4,8
n2: ranks 5-7,9" "oversubscribe behind one mapping holds for the job" --nodes 'n[1-2]' --slots 3 \
    --map-by slot:OVERSUBSCRIBE -n 8 true : --map-by node -n 2 true
maps "n1: ranks 0-2,4-5
n2: ranks 3,6-7" "also behind a later one, and without a mapping" --nodes 'n[1-2]' --slots 3 \
    -n 4 true : --map-by :OVERSUBSCRIBE -n 4 true
maps "n1: ranks 0-1
  rank 0: [B/.][./.] cpus 0 gpus 0
  rank 1: [./.][B/.] cpus 2 gpus 1" "GPUs are near" \
    --nodes n1 --topology "$gpus" -n 2 --map-by package --bind-to core --gpus-per-rank 1
maps "n1: ranks 0-2
  rank 0: [B/B][./.] cpus 0-1
  rank 1: [B/B][./.] cpus 0-1
  rank 2: [./.][B/B] cpus 2-3" "so are cores to a device" \
    --nodes n1 --topology "$gpus" -n 3 --map-by dist:mlx5_0

maps "n1: ranks 0-3
  rank 0: [BB/BB/../../../../../..] cpus 0-1,8-9 gpus 3
  rank 1: [../../BB/BB/../../../..] cpus 2-3,10-11 gpus 2
  rank 2: [../../../../BB/BB/../..] cpus 4-5,12-13 gpus 1
  rank 3: [../../../../../../BB/BB] cpus 6-7,14-15 gpus 0" "NUMA nodes inside of a package, and GPUs" \
    --nodes n1 --topology "$four_numa" -n 4 --map-by numa --gpus-per-rank 1
maps "n1: ranks 0-2
  rank 0: [../../../../BB/../../..] cpus 4,12
  rank 1: [../../../../../BB/../..] cpus 5,13
  rank 2: [BB/../../../../../../..] cpus 0,8" "cores at the NUMA node of a GPU, then others" \
    --nodes n1 --topology "$four_numa" -n 3 --map-by dist:gpu1 --bind-to core
maps "n1: rank 0
  rank 0: [../../../../../../BB/BB] cpus 6-7,14-15" "a network device, too" \
    --nodes n1 --topology "$four_numa" -n 1 --map-by dist:mlx5_1 --bind-to numa
run "$banyan" map --nodes n1 --topology "package:2 [numa] group:2 [numa] [numa] core:2 pu:1" -n 2 \
    --map-by numa --bind-memory local --json
is "$(tr -d ' \n' <<<"$out" | grep -o '"cpus":"[^"]*","memory":"[^"]*"' | tr '\n' ' ')" \
    '"cpus":"0-1","memory":"0-1" "cpus":"2-3","memory":"2-3" ' \
    "local memory is all that is as near, not what the whole package has"

# A job of Slurm with --cpus-per-task: cores, or threads where cores are too few; and a default only.
of_slurm() {
    env SLURM_JOB_ID=7 SLURM_JOB_NODELIST='n[1-2]' "$@" --topology "$two_packages"
}
two_tasks=(SLURM_TASKS_PER_NODE="2(x2)" SLURM_CPUS_PER_TASK=2)
two_cores="n1: ranks 0-1
  rank 0: [BB/BB][../..] cpus 0-3
  rank 1: [../..][BB/BB] cpus 4-7
n2: rank 2
  rank 2: [BB/BB][../..] cpus 0-3"
run of_slurm "${two_tasks[@]}" "$banyan" map -n 3
is "$out" "$two_cores" "SLURM_CPUS_PER_TASK is cores of each process"
run of_slurm SLURM_TASKS_PER_NODE="2(x2)" SLURM_TRES_PER_TASK=gres/gpu=1,cpu=2 "$banyan" map -n 3
is "$out" "$two_cores" "so is cpu of SLURM_TRES_PER_TASK"
run of_slurm SLURM_TASKS_PER_NODE="4(x2)" SLURM_CPUS_PER_TASK=2 "$banyan" map -n 2
is "$out" "n1: ranks 0-1
  rank 0: [BB/..][../..] cpus 0-1
  rank 1: [../BB][../..] cpus 2-3" "where four tasks have eight CPUs these are threads"
run of_slurm "${two_tasks[@]}" "$banyan" map -n 1 --cpus-per-rank 1
is "$out" "n1: rank 0
  rank 0: [BB/..][../..] cpus 0-1" "an option counts before it"
run of_slurm "${two_tasks[@]}" "$banyan" map -n 3 --bind-to none
is "$out" "n1: ranks 0-1
n2: rank 2" "also --bind-to none"
run of_slurm "${two_tasks[@]}" "$banyan" map -n 6 --oversubscribe
is "$status-$(grep -c ':' <<<"$out")" "0-2" "and --oversubscribe"
run of_slurm "${two_tasks[@]}" "$banyan" map --explain -n 1 --map-by core:pe=1
like "$out" '2 CPUs for each process, according to SLURM_CPUS_PER_TASK.*by core:pe=1' "--explain tells"
run of_slurm SLURM_TASKS_PER_NODE="1(x2)" SLURM_CPUS_PER_TASK=3 "$banyan" map --explain -n 1 --map-by package
like "$out" 'too few of these CPUs, so each process gets one.*rank 0: \[BB/BB\]\[../..\]' \
    "a package of two cores has no three: nothing is refused"

# Two ranks may be given one core; what is named is what they get.
printf 'rank 0=n1 slot=1\nrank 1=n1 slot=0-1\n' >"$scratch/ranks"
maps "n1: ranks 0-1
  rank 0: [../BB][../..] cpus 2-3
  rank 1: [BB/BB][../..] cpus 0-3" "a rank file is obeyed" \
    --nodes n1 --topology "$two_packages" --map-by "rankfile:$scratch/ranks"
maps "n1: ranks 0-1
  rank 0 of application 0: [B./..][../..] cpus 0
  rank 1 of application 1: [../B.][../..] cpus 2" "with pe processes have the units of the job" \
    --nodes n1 --topology "$two_packages" -n 1 --map-by package:pe=1 true : \
    -n 1 --map-by hwthread true

# A device for each.
maps "n1: ranks 0-2
  rank 0: [B/B][./.] cpus 0-1 gpus 0
  rank 1: [./.][B/B] cpus 2-3 gpus 1
  rank 2: [./.][B/B] cpus 2-3 gpus 2" "each process has a GPU and the cores near it, as many as there are" \
    --nodes n1 --topology "$gpus" --map-by device=gpu
maps "n1: ranks 0-2
  rank 0: [../../../../../../BB/..] cpus 6,14 gpus 0
  rank 1: [../../../../BB/../../..] cpus 4,12 gpus 1
  rank 2: [../../BB/../../../../..] cpus 2,10 gpus 2" "in the order of the bus, a core of its own if told so" \
    --nodes n1 --topology "$four_numa" -n 3 --map-by device=gpu --bind-to core
maps "n1: rank 0
  rank 0: [B/B][B/B] cpus 0-3 gpus 0-1" "two GPUs are near the cores of both" \
    --nodes n1 --topology "$gpus" --map-by device=gpu:ndev=2
maps "n1: ranks 0-3
  rank 0: [B/.][./.] cpus 0 gpus 0
  rank 1: [./.][B/.] cpus 2 gpus 1
  rank 2: [./.][./B] cpus 3 gpus 2
  rank 3: [./B][./.] cpus 1 gpus 0" "shared goes on with the first" \
    --nodes n1 --topology "$gpus" -n 4 --map-by device=gpu:shared:pe=1
maps "n1: ranks 0-1
  rank 0 of application 0: [B/B][./.] cpus 0-1 gpus 0
  rank 1 of application 1: [./.][B/B] cpus 2-3 gpus 1" "another application has other GPUs" \
    --nodes n1 --topology "$gpus" -n 1 --map-by device=gpu true : -n 1 --map-by device=gpu true
sed 's|<object type="OSDev" gp_index="23".*|<object type="OSDev" gp_index="24" name="ib0" osdev_type="2"/>&|' \
    "$gpus" >"$scratch/two_names.xml"
maps "n1: rank 0
  rank 0: [B/B][./.] cpus 0-1" "a card that has two names is one" \
    --nodes n1 --topology "$scratch/two_names.xml" --map-by device=nic

# Cores that are named: each process has all of them, or one in the order of the list.
maps "n1: ranks 0-1
  rank 0: [../BB][../BB] cpus 2-3,6-7
  rank 1: [../BB][../BB] cpus 2-3,6-7" "pe-list binds to all its cores, as many as there are" \
    --nodes n1 --topology "$two_packages" --map-by pe-list=3,1
maps "n1: ranks 0-1
  rank 0: [../..][../BB] cpus 6-7
  rank 1: [../BB][../..] cpus 2-3
n2: rank 2
  rank 2: [../..][../BB] cpus 6-7" "with ordered to one after the other" \
    --nodes 'n[1-2]' --topology "$two_packages" -n 3 --map-by pe-list=3,1:ordered
maps "n1: ranks 0-2
  rank 0: [BB/..][../..] cpus 0-1
  rank 1: [../BB][../..] cpus 2-3
  rank 2: [BB/..][../..] cpus 0-1" "what is named is what they get, also if it is shared" \
    --nodes n1 --topology "$two_packages" -n 3 --map-by pe-list=0-1:ordered:oversubscribe
maps "n1: ranks 0-1
  rank 0: [../BB][../..] cpus 2-3
  rank 1: [../..][BB/..] cpus 4-5" "within the list processes are bound to cores of their own" \
    --nodes n1 --topology "$two_packages" -n 2 --map-by pe-list=1-3 --bind-to core

# Nodes that are not alike.
mixed="n[1-2]=$two_packages;n3=core:2 pu:1"
maps "n1: ranks 0-3
  rank 0: [BB/..][../..] cpus 0-1
  rank 1: [../BB][../..] cpus 2-3
  rank 2: [../..][BB/..] cpus 4-5
  rank 3: [../..][../BB] cpus 6-7
n3: ranks 4-5
  rank 4: [B/.] cpus 0
  rank 5: [./B] cpus 1" "each node has its own topology, and slots" \
    --nodes n1,n3 --topology "$mixed" --map-by core
maps "n1: ranks 0-1
n2: rank 2
n3: ranks 3-4" "what stands for no list is for all others" \
    --nodes 'n[1-3]' --topology "n2=core:1 pu:1;core:2 pu:1"
run "$banyan" map --nodes 'n[1-3]' --topology "$mixed" --explain
like "$out" '# n\[1-2\] is assumed to be as given by --topology: 4 cores, 8 .*# n3 is assumed .*: 2 cores' \
    "--explain tells which is which"

refused() {
    local regex=$1 name=$2
    shift 2
    run "$banyan" map "$@" </dev/null
    like "$status-$err" "^125-banyan: .*$regex" "$name"
}
refused 'has no usable l3cache' "a level that is not there" \
    --nodes n1 --topology "$two_packages" --map-by l3cache
refused 'node n1: .*bound to 4 cores.*; it works with -n 4; .*--bind-to core:overload-allowed' \
    "--explain says what works instead" \
    --nodes n1 --slots 8 --topology "$two_packages" -n 5 --bind-to core --explain
refused 'which has only 2.*; it works with pe=2' "also of pe" \
    --nodes n1 --topology "$two_packages" -n 1 --map-by package:pe=3 --explain
refused 'node n1 has no usable l3cache' "a level that a rank of a list cannot be bound to" \
    --nodes n1 --topology "$two_packages" --map-by "rankfile:$scratch/ranks" --bind-to l3cache
refused 'the rank file already sets the cores of each process; omit' "pe beside a rank file's cores" \
    --nodes n1 --topology "$two_packages" --map-by "rankfile:$scratch/ranks" --cpus-per-rank 2
refused '3 processes requested, but .* 2 are free with a core of pe-list for each' \
    "more processes than named cores" \
    --nodes n1 --topology "$two_packages" -n 3 --map-by pe-list=0,1
refused 'of the 2 cores in pe-list, only 1 can be used' "a core that is not there" \
    --nodes n1 --topology "$two_packages" -n 1 --map-by pe-list=0,4
refused '--per-node 2 or fewer' "more on a node than named cores" \
    --nodes n1 --topology "$two_packages" -N 3 --map-by pe-list=0,1
refused 'option --cpus-per-rank cannot be used with pe-list' "a number of cores beside the cores" \
    --nodes n1 --topology "$two_packages" --cpus-per-rank 2 --map-by pe-list=0,1
refused '4 processes requested, .* 3 are free with devices for each process' "more than GPUs" \
    --nodes n1 --topology "$gpus" -n 4 --map-by device=gpu
refused 'node n1 has 0 of the 1 network devices' "a node without such a device" \
    --nodes n1 --topology "$two_packages" -n 1 --map-by device=nic
refused 'there are 3 GPUs, too few' "too few GPUs" \
    --nodes n1 --topology "$gpus" -n 2 --gpus-per-rank 2
refused 'there is no device mlx5_9' "a device that is not there" \
    --nodes n1 --topology "$gpus" --map-by dist:mlx5_9
refused 'option --topology: no topology for node n4; one without LIST= applies to all other nodes' "a node that nobody describes" \
    --nodes 'n[3-4]' --topology "$mixed" --map-by core
refused "option --topology: 'n2=core:1' comes after the topology without LIST=" "a list behind the rest" \
    --nodes 'n[1-4]' --topology "core:2 pu:1;n2=core:1"
refused 'node n3 has no usable l3cache' "a level that one of them lacks" \
    --nodes 'n[1-3]' --topology "n[1-2]=l3:2 core:2 pu:1;n3=core:2 pu:1" --map-by l3cache
refused "option --topology: cannot read topology 'core:x'" "a topology that is none" \
    --nodes n1 --topology core:x

run "$banyan" map --nodes 'n[1-2]' --slots 2 --json
is "$(python3 -c 'import json, sys
print([[n["node"], [p["rank"] for p in n["processes"]]] for n in json.load(sys.stdin)["nodes"]])' \
    <<<"$out" 2>&1)" "[['n1', [0, 1]], ['n2', [2, 3]]]" "as JSON"
run "$banyan" map --nodes 'n[1-2]' --slots 2 --map-by core --topology "$two_packages" --explain
like "$out" '# application 0: 4 processes by core, ranked by slot, bound to core \(the default\)' \
    "--explain tells the rules"
run "$banyan" map --topology "$gpus" --show-topology
like "$out" 'core +4.*numa 1 +cpus 2-3, memory 1.*device +gpu2, near cpus 2-3 \(numa 1\)' "--show-topology lists it"

export HWLOC_XMLFILE=$gpus
run "$banyan" run --slots 4 -n 2 --map-by slot --gpus-per-rank 1 \
    sh -c 'echo "$BANYAN_RANK $CUDA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER"'
is "$(sort <<<"$out")" "0 0 PCI_BUS_ID
1 1 PCI_BUS_ID" "a run tells each process its GPU"
unset HWLOC_XMLFILE

run "$banyan" map --virtual-nodes 3 -n 7 --slots 3 --map-by node
mapped=$out
run "$banyan" run --virtual-nodes 3 -n 7 --slots 3 --map-by node \
    sh -c 'echo "$BANYAN_NODE $BANYAN_RANK"'
is "$(sort <<<"$out" | awk '{r[$1] = r[$1] (r[$1] == "" ? "" : ",") $2}
    END {for (n in r) print n ": ranks " r[n]}' | sort)" "$mapped" "a run does what was mapped"

nothing_left_within 5 none "nothing is left"
# Drawn.
if command -v python3 >/dev/null; then
    "$banyan" map --nodes 'n[1-2]' --topology "$two_packages" -n 3 --map-by core --svg >"$scratch/map.svg"
    is "$(python3 -c 'import sys, xml.dom.minidom as d
print(sorted(t.firstChild.data for t in d.parse(sys.argv[1]).getElementsByTagName("title") if "rank" in t.firstChild.data))' \
        "$scratch/map.svg")" "['CPU 0: rank 0', 'CPU 1: rank 0', 'CPU 2: rank 1', 'CPU 3: rank 1', 'CPU 4: rank 2', 'CPU 5: rank 2']" \
        "a drawing: XML, with the ranks at their processors"
else
    skip "no python3 to read the drawing"
fi
run "$banyan" map --nodes n1 --svg --json true
is "$status-$err" "125-banyan: give only one of --svg and --json" "two forms"
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# --require and --facts: nodes that do not have what is asked for get nothing, for the job or for one
# application; what nobody has told is asked of the nodes; banyan map says who was refused by what,
# and what works. run_slurm.sh has a real scheduler's features.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

machine=$(uname -m)
mib=$(($(sed -n 's/^MemTotal: *\([0-9]*\) kB$/\1/p' /proc/meminfo) / 1024))
described=(--facts 'v[1-2]:mem=32G,feature=old' --facts 'v3:mem=64G,feature=ib|fast'
    --facts 'v4:mem=128G,gpus=4,feature=ib')

# runs EXPECTED NAME OPTION...: on four virtual nodes of two slots; the sorted names of who ran.
runs() {
    local expected=$1 name=$2
    shift 2
    run "$banyan" run --virtual-nodes 4 --slots 2 "$@" </dev/null
    is "$status:$(sort <<<"$out" | xargs):$err" "0:$expected:" "$name"
}

# ---- What is told ----

runs "v3 v3 v4 v4" "by memory" "${described[@]}" --require 'mem>=64G' hostname
runs "v3 v3" "all terms must hold" "${described[@]}" --require 'mem>=64G,feature=fast' hostname
runs "v1 v1 v2 v2 v3 v3" "less, and alternatives" "${described[@]}" \
    --require 'mem<100G,feature=old|fast' hostname
runs "v1 v2 v3" "each application has its own" "${described[@]}" -n 2 --map-by node \
    --require feature=old hostname : -n 1 --require feature=fast hostname
runs "v1 v3" "the next one has those of the first, or none" "${described[@]}" -n 1 \
    --require feature=fast hostname : -n 1 --require none hostname
runs "v4 v4" "the job by core, with its topology" "${described[@]}" -n 2 --map-by core \
    --oversubscribe --bind-to none --require 'mem>100G' hostname

# ---- What the nodes tell ----

runs "v1 v1 v2 v2 v3 v3 v4 v4" "all nodes are this machine" \
    --require "mem>=${mib}M,arch=$machine,os=Linux" hostname
runs "v2 v2" "what is told and what the nodes tell" --facts v2:feature=ib \
    --require "feature=ib,arch=$machine,mem<$((mib + 1))M" hostname
runs "v1 v3" "and the topology, in one question" --facts 'v[1,3]:feature=ib' -n 2 \
    --map-by node --bind-to core --require "feature=ib,arch=$machine" hostname
flag=$(sed -n 's/^\(flags\|Features\)[^:]*: *\([^ ]*\) .*/\2/p' /proc/cpuinfo | head -n 1)
runs "v1 v1 v2 v2 v3 v3 v4 v4" "a flag of the processor is a feature" --require "feature=$flag" \
    hostname
run "$banyan" run --virtual-nodes 4 --slots 1 --require 'gpus>=0' hostname
is "$status:$(xargs -n 1 <<<"$out" | sort | xargs)" "0:v1 v2 v3 v4" "GPUs are counted"

# ---- Refused, before a process starts ----

refuses 125 "no node satisfies --require: mem>=$((mib + 1))M excludes v\[1-4\] \(" \
    "what no node has, as the nodes say" \
    run --virtual-nodes 4 --require "mem>=$((mib + 1))M" touch "$scratch/never"
refuses 125 "4 processes requested.* feature=ib excludes v\[1-2\]$" "too few are left" \
    run --virtual-nodes 4 --slots 1 "${described[@]}" -n 4 --require 'feature=ib' touch "$scratch/never"
refuses 125 "application 1: no node satisfies .* feature=no excludes v\[1-4\]$" "of the second" \
    run --virtual-nodes 4 -n 1 touch "$scratch/never" : -n 1 --require feature=no touch "$scratch/never"
refuses 125 "the list names node v1, which has no slots or is excluded; --require: feature=ib excludes" \
    "a list that names a node that is left out" run --virtual-nodes 4 --slots 2 "${described[@]}" \
    --require feature=ib --map-by seq:<(echo v1) touch "$scratch/never"
refuses 125 "option --require: column 6: expected a size such as 64G or 512M" "a wrong size" \
    run --require 'mem>=' true
refuses 125 "option --require: column 8: 'color=red' does not begin with" "a wrong word" \
    run --require 'mem>=1,color=red' true
refuses 125 "application 1: option --require: column 5: expected = or !=" "of an application" \
    run -n 1 true : -n 1 --require 'arch<3' true
refuses 125 "option --facts: 'v1' is not NODES:FACTS" "facts of nothing" \
    run --virtual-nodes 2 --facts v1 true
ok "nothing has run" test ! -e "$scratch/never"

# ---- banyan map ----

nodes=(--nodes 'n[1-4]' --slots 2 --facts 'n[1-2]:mem=32G' --facts 'n3:mem=48G' --facts
    'n4:mem=64G,feature=ib')
run "$banyan" map "${nodes[@]}" --require 'mem>=48G' --explain
is "$status:$(grep -v '^# [0-9e]' <<<"$out")" "0:# --require: mem>=48G excludes n[1-2] (32G)
# application 0: 4 processes by slot, ranked by slot, bound to none (the default)
n3: ranks 0-1
n4: ranks 2-3" "it says who is left out and why"
refuses 125 "it works with -n 2; it works with --oversubscribe; it works with mem>=48G$" \
    "the nearest that works: less memory" map "${nodes[@]}" -n 3 --require 'mem>=64G' --explain
refuses 125 "feature=no excludes n\[1-4\]; it works without feature=no$" \
    "doing without a term" map "${nodes[@]}" -n 3 --require 'mem>=48G,feature=no' --explain
run "$banyan" map --nodes 'n[1-2]' --topology "$srcdir/test/data/gpus.xml" --require 'gpus>=1' -n 2
is "$status" 0 "GPUs of a described machine"
refuses 125 "gpus>=100 excludes n\[1-2\] \([0-9]+\)$" "and their number" \
    map --nodes 'n[1-2]' --topology "$srcdir/test/data/gpus.xml" --require 'gpus>=100' -n 2
refuses 125 "mem>=1 excludes n\[1-2\] \(not known\)" "of which nobody knows the memory" \
    map --nodes 'n[1-2]' --topology "package:1 core:2 pu:1" --require 'mem>=1' -n 2

done_testing

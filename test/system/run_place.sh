#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Processes are where the placement says, as the kernel sees it: what a process reads of itself in
# /proc, unbound, bound, in a narrower affinity, by rank file, in several applications.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

own_cpus='echo "$BANYAN_RANK $BANYAN_NODE $(sed -n "s/^Cpus_allowed_list:\t//p" /proc/self/status)"'
here=$(sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status)
mapfile -t cpus < <(tr ',' '\n' <<<"$here" | while IFS=- read -r a b; do seq "$a" "${b:-$a}"; done)
cores=$(for cpu in "${cpus[@]}"; do
    cat "/sys/devices/system/cpu/cpu$cpu/topology/thread_siblings_list" 2>/dev/null || echo "$cpu"
done | sort -u | wc -l)

# cpus_of OPTION...: the lines of a run, by rank.
cpus_of() {
    run "$banyan" run --timeout 240 "$@" sh -c "$own_cpus" </dev/null
    out=$(sort -n <<<"$out")
}

cpus_of --virtual-nodes 2 -n 4
is "$status-$(cut -d ' ' -f 3 <<<"$out" | sort -u)" "0-$here" "by slot nothing is bound"
cpus_of --virtual-nodes 2 --slots "$((cores + 1))" --map-by core
is "$(cut -d ' ' -f 3 <<<"$out" | sort -u)" "$here" "nor on nodes with more processes than cores"

cpus_of --virtual-nodes 2 --slots "$cores" --map-by core
is "$(cut -d ' ' -f 1 <<<"$out" | wc -l)" "$((2 * cores))" "by core every core of two nodes has one"
is "$(grep ' v1 ' <<<"$out" | cut -d ' ' -f 3 | sort -u | wc -l)" "$cores" "and each its own"
cpus_of -n "$cores" --bind-to core --bind-memory local
is "$(cut -d ' ' -f 3 <<<"$out" | sort -u | wc -l)" "$cores" "as with --bind-to core"
run "$banyan" run -n 1 --bind-to core --bind-memory local grep -c 'bind:' /proc/self/numa_maps
if [ "$status" = 0 ] || [[ $err != *"not permitted"* ]]; then
    ok "memory comes from the NUMA node" test "${out:-0}" -gt 0
else
    skip "set_mempolicy is not permitted here"
fi
cpus_of -n 1 --map-by slot:pe="$cores"
is "$(cut -d ' ' -f 3 <<<"$out")" "$here" "pe=$cores binds to all $cores cores"

refuses 125 "cannot be bound to $cores cores so that each has its own; use fewer, .*none" \
    "two processes are bound to one core only if that is allowed" \
    run -n "$((cores + 1))" --slots "$((cores + 1))" --bind-to core true
cpus_of -n "$((cores + 1))" --slots "$((cores + 1))" --bind-to core:overload-allowed
is "$(cut -d ' ' -f 3 <<<"$out" | sort -u | wc -l)" "$cores" "then they are"
refuses 125 "each process needs 4096 cores" "more cores than there are" \
    run -n 1 --map-by ppr:1:node:pe=4096 true

run taskset -c "${cpus[-1]}" "$banyan" run -n 1 --map-by core sh -c "$own_cpus"
is "${out##* }" "${cpus[-1]}" "in an affinity of one CPU that one is taken"
run taskset -c "${cpus[-1]}" "$banyan" run -n 2 --slots 2 --bind-to core true
like "$err" "2 processes cannot be bound to 1 cores" "and another one is not"

run "$banyan" run -n 1 --bind-to core --report-bindings true
like "$err" '^banyan: rank 0 on [^ ]+: \[B[^]]*\](\[[^]]*\])* cpus [0-9,-]+$' "bindings are drawn"
run "$banyan" run -n 1 --report-bindings true
like "$err" '^banyan: rank 0 on [^ ]+: not bound$' "or that there are none"

printf 'rank 1=v1\nrank 0=+n1 # the second\n\nrank 2=v2\n' >"$scratch/ranks"
cpus_of --virtual-nodes 2 --slots 2 --map-by "rankfile:$scratch/ranks"
is "$(cut -d ' ' -f 1,2 <<<"$out" | tr '\n' ' ')" "0 v2 1 v1 2 v2 " "ranks go where a rank file says"
printf 'rank 0=v2 slot=%d\nrank 1=v2 slot=0\n' "$((cores - 1))" >"$scratch/ranks"
cpus_of --virtual-nodes 2 --slots 2 --map-by "rankfile:$scratch/ranks"
like "$(head -n 1 <<<"$out")" '^0 v2 ' "also with cores"
cpus_of --virtual-nodes 2 --slots 2 --map-by "pe-list=$((cores - 1))"
is "$(cut -d ' ' -f 1,2 <<<"$out" | tr '\n' ' ')$(cut -d ' ' -f 3 <<<"$out" | sort -u | wc -l)" "0 v1 1 v2 1" \
    "pe-list gives each node a process for the core that it names"
if [ "$cores" -gt 1 ]; then
    cpus_of --virtual-nodes 2 --slots 2 --map-by pe-list=0-1
    both=$(cut -d ' ' -f 3 <<<"$out")
    cpus_of --virtual-nodes 2 --slots 2 --map-by pe-list=1,0:ordered
    first=$(sed -n 's/^0 v1 //p' <<<"$out") second=$(sed -n 's/^1 v1 //p' <<<"$out")
    is "$(sort -u <<<"$both" | wc -l)-$(wc -l <<<"$both")" "1-4" "all of its processes have all of its cores"
    ok "with ordered each has another one" test -n "$first" -a "$first" != "$second"
fi
if "$banyan" map --show-topology | grep -q '^device *gpu0,'; then
    run "$banyan" run -n 1 --map-by device=gpu env
    like "$out" '(CUDA_VISIBLE_DEVICES|ROCR_VISIBLE_DEVICES|ZE_AFFINITY_MASK)=0' "a process is told its GPU"
else
    refuses 125 "node v1 has 0 of the 1 gpu devices" "nodes are asked for their devices" \
        run --virtual-nodes 2 --map-by device=gpu true
fi
printf 'rank 0=v1\nrank 2=v1\n' >"$scratch/ranks"
refuses 125 "$scratch/ranks: rank 1 is missing" "a rank file that leaves one out" \
    run --virtual-nodes 2 --map-by "rankfile:$scratch/ranks" true
printf 'rank 0=v1 slot=1-x\n' >"$scratch/ranks"
refuses 125 "$scratch/ranks:1: not a list of cores" "or has no cores" \
    run --virtual-nodes 2 --map-by "rankfile:$scratch/ranks" true
printf 'v2\nv1\nv2\n' >"$scratch/nodes"
cpus_of --virtual-nodes 2 --slots 2 --map-by "seq:$scratch/nodes"
is "$(cut -d ' ' -f 2 <<<"$out" | tr '\n' ' ')" "v2 v1 v2 " "or a list of nodes, in sequence"

run "$banyan" run --virtual-nodes 2 --slots 3 -n 2 --map-by node -x A=1 \
    sh -c 'echo "$BANYAN_RANK $BANYAN_NODE $A of $BANYAN_SIZE"' : \
    -n 3 --map-by slot -x A=2 sh -c 'echo "$BANYAN_RANK $BANYAN_NODE $A"'
is "$status-$(sort <<<"$out" | tr '\n' ' ')" \
    "0-0 v1 1 of 5 1 v2 1 of 5 2 v1 2 3 v1 2 4 v2 2 " "two applications are one job"
refuses 125 "no program after ':'" "an application without a program" run -n 1 true :
refuses 125 "application 1: option --radix is for the whole job: give it before the first program" "with an option of the job" \
    run -n 1 true : --radix 2 true
refuses 127 "cannot run /no/such on .* \(rank 1\)" "that cannot be run" \
    run --slots 2 -n 1 true : -n 1 /no/such

nothing_left_within 5 none "nothing is left"
done_testing

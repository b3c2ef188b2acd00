#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A PMIx program fences in a loop while an inner daemon of the tree is killed; the job's policy is to
# continue: every survivor goes on, or gets the error, within 2 s, and fences with the others then.
# NODES and RUNS make it larger: NODES=64 RUNS=50 is what the figure in doc/ is taken from.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/leftovers.sh"

nodes=${NODES:-12}
runs=${RUNS:-2}
radix=${RADIX:-3}
limit_ms=20000
client=$top_builddir/test/tool/pmix_client
[ -x "$client" ] || skip_all "test/tool/pmix_client is not built"

cat >"$scratch/rank" <<SH
#!/bin/sh
export TEST_SIZE=\$BANYAN_SIZE TEST_LOCAL_SIZE=\$BANYAN_LOCAL_SIZE
export TEST_RANK=\$BANYAN_RANK TEST_LOCAL_RANK=\$BANYAN_LOCAL_RANK
exec $client survive "\$1"
SH
chmod +x "$scratch/rank"

all_up() {
    [ "$(grep -c '^up$' "$scratch/out")" -eq "$nodes" ]
}

# What went wrong in one run, or nothing.
check_run() {
    local longest
    [ "$status" -eq 137 ] || echo "status $status; "
    [ "$(grep -c '^longest ' "$scratch/out")" -eq $((nodes - 1)) ] ||
        echo "$(grep -c '^longest ' "$scratch/out") survivors of $((nodes - 1)); "
    longest=$(sed -n 's/^longest \([0-9]*\) ms.*/\1/p' "$scratch/out" | sort -n | tail -n 1)
    [ "${longest:-9999}" -le $limit_ms ] || echo "a fence took $longest ms; "
    grep -q 'the job goes on without rank' "$scratch/err" || echo "the loss is not told; "
    ! grep -q '^# pmix_client' "$scratch/err" || echo "a survivor complains; "
}

good=0
worst=0
victim=$((nodes / radix)) # rank of the second of the root's children: its subtree lives on
for ((run = 1; run <= runs; run++)); do
    new_mark
    : >"$scratch/out" # the shell in the background may be late to do so
    "$banyan" run --virtual-nodes "$nodes" --radix "$radix" --per-node 1 --on-failure continue \
        --timeout 240 --start-timeout 60 -x BT_MARK="$mark" "$scratch/rank" "$victim" \
        >"$scratch/out" 2>"$scratch/err" </dev/null &
    front=$!
    until_true 30 all_up || diag "not all ranks came up: $(cat "$scratch/err")"
    until_true 30 find_daemon "$victim" && kill -9 "$daemon"
    wait "$front"
    status=$?
    wrong=$(check_run | tr -d '\n')
    if [ -z "$wrong" ]; then
        good=$((good + 1))
    else
        diag "run $run: $wrong"
        diag "$(grep -v '^up$' "$scratch/out" | sort | uniq -c | sort -rn | head -n 5)"
        diag "$(head -n 10 "$scratch/err")"
    fi
    took=$(sed -n 's/^longest \([0-9]*\) ms.*/\1/p' "$scratch/out" | sort -n | tail -n 1)
    [ "${took:-0}" -le "$worst" ] || worst=$took
done
is "$good" "$runs" "an inner daemon of $nodes is killed: survivors go on within $limit_ms ms"
diag "$good of $runs runs; the longest fence took $worst ms"
nothing_left "nothing is left"
done_testing

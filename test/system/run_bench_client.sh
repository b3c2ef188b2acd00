#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `banyan bench --client`: ranks of a job measure the fences of its launcher's PMIx, of banyan and of Open MPI.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"
# What libpmix itself keeps is not for us to mend.
if [ -n "${BANYAN_SANITIZERS:-}" ]; then
    echo 'leak:libpmix.so' >"$scratch/suppressions"
    export LSAN_OPTIONS=suppressions=$scratch/suppressions:print_suppressions=0
fi

# client LAUNCHER... -- OPTION...: $out, $err and $status of a job of banyan bench --client.
client() {
    local launcher=()
    while [ "$1" != -- ]; do
        launcher+=("$1")
        shift
    done
    shift
    run timeout 240 "${launcher[@]}" "$top_builddir/banyan" bench --client "$@" </dev/null
}
here=("$banyan" run --timeout 240 --oversubscribe)

client "${here[@]}" --virtual-nodes 3 -n 6 -- --size 1K,0,64 -r 7 --warm-up 2
is "$status-$err" "0-" "banyan's own"
like "$out" '^OPERATION +RANKS +BYTES +TIMES +MIN us ' "a table"
is "$(sed '/^$/,$d' <<<"$out" | sed 1d | awk '{print $1, $2, $3, $4}' | tr '\n' ',')" \
    "fence 6 0 7,fence 6 64 7,fence 6 1024 7," "of all sizes, the least first, by one rank"
is "$(sed '1,/^slowest rank/d' <<<"$out" | awk 'NR > 1 && $2 < 6 && $3 > 0 {print $1}' | tr '\n' ' ')" "0 64 1024 " \
    "a rank is the slowest"

# Ranks of one node, large data, JSON, which others are compared with.
client "${here[@]}" -n 3 -- --size 0,256K -r 5 --json
is "$status-$err" "0-" "on one node"
earlier=$out
if command -v python3 >/dev/null; then
    echo "$out" >"$scratch/bench.json"
    is "$(python3 - "$scratch/bench.json" <<'E2'
import json, sys
d = json.load(open(sys.argv[1]))
for row in d["rows"]:
    print(row["operation"], row["ranks"], row["bytes"], row["times"],
          row["min_ns"] <= row["median_ns"] <= row["p99_ns"] <= row["max_ns"],
          row["median_low_ns"] <= row["median_ns"] <= row["median_high_ns"],
          row["slowest_rank"] in range(3), row["slowest_median_ns"] >= row["median_ns"], sorted(d))
E2
)" "$(for bytes in 0 262144; do echo "fence 3 $bytes 5 True True True True ['rows', 'version']"; done)" "JSON"
else
    skip "no python3 to read JSON"
fi
sed -E 's/("median(_low|_high)?_ns": )([0-9]+)/\1\3000/' <<<"$earlier" >"$scratch/slow.json"
sed -E 's/("median(_low|_high)?_ns": )([0-9]+)/\11/' <<<"$earlier" >"$scratch/fast.json"

# The same by another launcher: no launcher's speed is judged, but that they are compared.
if command -v orterun >/dev/null; then
    orte=(orterun --allow-run-as-root --oversubscribe -n 3)
    client "${orte[@]}" -- --size 0,256K,8 -r 5 --compare "$scratch/slow.json"
    is "$status-$(sed -n 's/^fence .*  \(new\|same\|faster\|slower\)$/\1/p' <<<"$out" | tr '\n' ' ')" "0-faster new faster " \
        "of orterun, against a banyan that was a thousand times as slow"
    diag "$err"
    client "${orte[@]}" -- --size 0 -r 5 --csv
    is "$status-$(cut -d , -f 1-4 <<<"$out" | tr '\n' ' ')" "0-operation,ranks,bytes,times fence,3,0,5 " "CSV"
else
    skip "orterun is not installed"
    skip "orterun is not installed"
fi
client "${here[@]}" -n 3 -- --size 0 -r 5 --compare "$scratch/fast.json"
like "$status-$out" '^1-.*fence +3 +0 .* slower' "slower is a status of the job"

# What is wrong is said once, before anything is measured.
client "${here[@]}" -n 3 -- --size 2M
is "$status-$(grep -c "^banyan: option --size: must with --client be a list of sizes up to 1M, or of FIRST..LAST, not '2M'$" <<<"$err")" \
    "125-1" "too large, said by one rank"
client "${here[@]}" -n 3 -- --compare /none
is "$status-$(grep -c '^banyan: option --compare: cannot read /none: ' <<<"$err")" "125-1" "no such file"
for option in "--radix 2" "--operation barrier" "--node-counts 2" "--instance /none" "--simulate 4"; do
    # shellcheck disable=SC2086 # words
    refuses 125 "options --client and ${option% *} cannot be used together: its launcher has made the job already\$" \
        "with $option" bench --client $option
done
run env -u PMIX_NAMESPACE "$banyan" bench --client </dev/null
like "$status $err" "^125 banyan: option --client: no launcher offers PMIx to this process \(PMIX_NAMESPACE and PMIX_RANK are not set\); start it by 'banyan run -n 2 banyan bench --client', or by orterun" \
    "without a launcher"
run env PMIX_NAMESPACE=none PMIX_RANK=0 BANYAN_PKGLIBDIR=/nowhere "$banyan" bench --client </dev/null
like "$status $err" "^125 banyan: cannot open the PMIx client: /nowhere/pmix_client.so: .*; is banyan installed here\?$" \
    "without the plugin"
run timeout 240 "${here[@]}" -n 1 "$top_builddir/banyan" bench --client --size 0 -r 5 : \
    -n 1 "$top_builddir/banyan" bench --client --size 0 -r 6 </dev/null
like "$status $err" "^125 .*rank 1 was given other sizes or repetitions than rank 0; give all ranks the same options" \
    "ranks with other options end the job"
nothing_left_within 60 none "nothing is left"
done_testing

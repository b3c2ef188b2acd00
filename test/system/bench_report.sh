#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The table and the JSON of `make bench`, from records made by hand, and its yardsticks' helpers.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"

record() {
    local IFS=$'\t'
    printf '%s\n' "$*" >>"$scratch/raw"
}
record machine cpu '2 x "A\B"'
record system banyan
record system hydra
record system orterun
record case start ms "true on 16"
record yard start 80000 19400
for value in 3000000 1000000 2000000 9000000 1500000; do
    record sample start banyan $value ok
done
for value in 4000000 2000000; do
    record sample start hydra $value ok
done
record sample start orterun - "exit status 1"
record case memory KiB "dirty memory"
record yard memory 80000 19400
record sample memory banyan 1048576 ok
record sample memory banyan - "left 1 processes running"

run awk -f "$srcdir/contrib/bench/report.awk" "$scratch/raw"
is "$status $err" "0 " "the table is made"
row=$(printf '%s\n' "$out" | sed -n 's/  */ /g; /^true on 16/p')
is "$row" "true on 16 ms 2.00 3.00 failed 0.67 - 80.0 19.4" "medians of odd and even counts, ratio"
row=$(printf '%s\n' "$out" | sed -n 's/  */ /g; /^dirty memory/p')
is "$row" "dirty memory KiB 1024! - - - - 80.0 19.4" "a median with a failed run is marked"
like "$out" "! true on 16: orterun failed in 1 of 1 runs: exit status 1" "failures are told"
like "$out" "! dirty memory: banyan failed in 1 of 2 runs: left 1" "all of them"

run awk -v format=json -f "$srcdir/contrib/bench/report.awk" "$scratch/raw"
json=$(printf '%s' "$out" | tr -s ' \n' ' ')
like "$json" '"cpu": "2 x \\"A\\\\B\\""' "JSON: text is quoted"
like "$json" '"banyan": \{"samples": \[3000000, 1000000, 2000000, 9000000, 1500000\], "median": 2000000, "runs": 5, "failed": 0\}' \
    "JSON: all samples and the median"
like "$json" '"orterun": \{"samples": \[\], "median": null, "runs": 1, "failed": 1, "reason": "exit status 1"\}' \
    "JSON: a system that failed"
done_testing

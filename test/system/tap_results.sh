#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# contrib/tap-results.sh decides whether the project is well: it must neither lose a failure nor
# take silence for success.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"

# The results of one test file as automake's TAP driver leaves them.
drive() {
    mkdir -p "$scratch/$1/test"
    cat >"$scratch/script.sh"
    (cd "$scratch/$1" && env AM_TAP_AWK=awk sh "$srcdir/build-aux/tap-driver.sh" \
        --test-name "test/$2.sh" --log-file "test/$2.log" --trs-file "test/$2.trs" \
        --color-tests no --enable-hard-errors yes --expect-failure no -- \
        bash "$scratch/script.sh") >/dev/null 2>&1
}
count() {
    run bash "$srcdir/contrib/tap-results.sh" "$@"
    last=${out##*$'\n'}
}

drive good a <<'TEST'
echo "1..2"; echo "ok 1 - x"; echo "ok 2 - y"
TEST
drive good b <<'TEST'
echo "1..2"; echo "ok 1 - x"; echo "ok 2 # SKIP no such thing"
TEST
drive good c <<'TEST'
echo "1..0 # SKIP not installed"
TEST
count "$scratch/good"
is "$status $last" "0 3 passed, 0 failed" "passes are counted, skips are not"
like "$out" "skipped in $scratch/good: test/b: no such thing" "a skipped check has its reason"
like "$out" "skipped in $scratch/good: test/c: not installed" "a skipped file has its reason"

drive bad a <<'TEST'
echo "1..2"; echo "ok 1 - x"; echo "not ok 2 - y"
TEST
count "$scratch/good" "$scratch/bad"
is "$status $last" "1 4 passed, 1 failed" "several directories are added up"
like "$out" "failed in $scratch/bad: test/a" "a failed file is named"
like "$out" "not ok 2 - y" "and its log shown"

drive killed a <<'TEST'
echo "ok 1 - x"; kill -9 $$
TEST
count "$scratch/killed"
is "$status" 1 "a test that dies in the middle has failed"

drive exits a <<'TEST'
echo "1..1"; echo "ok 1 - x"; exit 1
TEST
count "$scratch/exits"
is "$status" 1 "a test that exits with an error has failed"

mkdir "$scratch/empty"
count "$scratch/empty"
is "$status $last" "1 0 passed, 0 failed" "no test at all is no success"
drive skipped a <<'TEST'
echo "1..0 # SKIP nothing works here"
TEST
count "$scratch/skipped"
is "$status $last" "1 0 passed, 0 failed" "nor are skips alone"
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# tap-results.sh BUILD...: what `make check` found in these build directories: the skipped tests
# with their reasons, the failed ones with the end of their logs, and a last line
# `N passed, N failed`. Fails if a test failed, or if none ran.
set -u

# One line per result of a directory: KIND, test file.
results() {
    find "$1" -name '*.trs' -not -path '*/_build/*' -print0 | LC_ALL=C sort -z |
        while IFS= read -r -d '' file; do
            name=${file#"$1"/}
            sed -n "s|^:test-result: \([A-Z]*\).*|\1\t${name%.trs}|p" "$file"
        done
}

# skips BUILD NAME: the reasons that a test file gave, each once, with how often.
skips() {
    sed -n -E 's/^SKIP: [^ ]+ (.*# SKIP |- )(.*)/\2/p' "$1/$2.log" | LC_ALL=C sort | uniq -c |
        while read -r count reason; do
            [ "$count" -eq 1 ] || reason="$reason ($count times)"
            echo "skipped in $1: $2: $reason"
        done
}

passed=0
failed=0
for build in "$@"; do
    all=$(results "$build")
    passed=$((passed + $(printf '%s\n' "$all" | grep -c $'^\(PASS\|XFAIL\)\t')))
    failed=$((failed + $(printf '%s\n' "$all" | grep -c $'^\(FAIL\|XPASS\|ERROR\)\t')))
    printf '%s\n' "$all" | awk -F '\t' '$1 == "SKIP" { print $2 }' | sort -u |
        while IFS= read -r name; do
            skips "$build" "$name"
        done
    printf '%s\n' "$all" | awk -F '\t' '$1 ~ /FAIL|XPASS|ERROR/ { print $2 }' | sort -u |
        while IFS= read -r name; do
            echo "failed in $build: $name"
            grep -v '^ok \|^PASS: ' "$build/$name.log" | tail -n 60 | sed 's/^/    /'
        done
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]

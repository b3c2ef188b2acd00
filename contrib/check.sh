#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# check.sh [configure options]: everything from a fresh clone to all tests passed. As root it
# installs the Debian packages that are missing. Builds in build/, or $BANYAN_BUILD. Runs all tests, or
# what $BANYAN_TESTS names: programs, scripts. Ends with the skipped tests and their reasons, what failed,
# and `N passed, N failed`.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${BANYAN_BUILD:-build}

contrib/setup.sh || exit 1
contrib/build.sh "$build" "$@" || exit 1
echo "check.sh: make check in $build"
made=0
: >"$build/check.log"
# check JOBS TARGET. -k: one test that cannot be built does not hide the others.
check() {
    make -C "$build" -k -j"$1" "$2" </dev/null >>"$build/check.log" 2>&1 || made=$?
}
for kind in ${BANYAN_TESTS:-programs scripts}; do
    case $kind in
    programs) check "$(nproc)" check-programs ;;
    scripts)
        check "$(nproc)" check-scripts-that-wait
        check 1 check-scripts-alone
        ;;
    esac
done
summary=$(contrib/tap-results.sh "$build")
counted=$?
if [ $made -ne 0 ] && [[ $summary == *" 0 failed" ]]; then
    # No test failed but make did: a test program does not compile, for example.
    tail -n 40 "$build/check.log"
    echo "check.sh: make check failed (all of it: $build/check.log)"
    counted=1
fi
printf '%s\n' "$summary"
exit $counted

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# fuzz.sh [SECONDS [BUILD]]: builds the fuzzers with libFuzzer, under the address and undefined
# behaviour sanitizers, in build-fuzzers, and runs each for so many seconds (8). It begins with the
# inputs in test/data/fuzz_NAME.hex, one a line, and with the samples that BUILD/test/fuzz/fuzz_NAME.t
# writes (BUILD: a build without fuzzers, build-gcc by default). What it finds stays in
# build-fuzzers/found. Ends with one line `N fuzzers, N failed`.
set -u
cd "$(dirname "$0")/.." || exit 1
seconds=${1:-8}
build=${2:-build-gcc}
clang=${CLANG:-$(command -v clang-14 || echo clang)}

mkdir -p build-fuzzers/found
if [ ! -f build-fuzzers/Makefile ]; then
    [ -f configure ] || autoreconf -i >/dev/null 2>&1 || exit 1
    (cd build-fuzzers &&
        ../configure CC="$clang" --enable-fuzzers --enable-sanitizers=address,undefined) \
        >build-fuzzers/configure.log 2>&1 || {
        tail -n 20 build-fuzzers/configure.log
        exit 1
    }
fi
names=()
programs=()
for file in test/fuzz/fuzz_*.c; do
    grep -q LLVMFuzzerTestOneInput "$file" || continue
    name=$(basename "$file" .c)
    names+=("${name#fuzz_}")
    programs+=("test/fuzz/$name.t")
done
make -C build-fuzzers -j"$(nproc)" "${programs[@]}" >build-fuzzers/build.log 2>&1 || {
    tail -n 20 build-fuzzers/build.log
    exit 1
}

# inputs NAME DIRECTORY: what is kept of NAME becomes files there.
inputs() {
    local line number=0
    [ -f "test/data/fuzz_$1.hex" ] || return
    while read -r line; do
        number=$((number + 1))
        # shellcheck disable=SC2001,SC2059
        printf "$(sed 's/../\\x&/g' <<<"$line")" >"$2/kept-$number"
    done <"test/data/fuzz_$1.hex"
}

# one NAME
one() {
    local name=$1 corpus=build-fuzzers/corpus/$1
    mkdir -p "$corpus"
    inputs "$name" "$corpus"
    [ -x "$build/test/fuzz/fuzz_$name.t" ] && FUZZ_WRITE=$corpus "$build/test/fuzz/fuzz_$name.t"
    "build-fuzzers/test/fuzz/fuzz_$name.t" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2000 \
        -artifact_prefix="build-fuzzers/found/$name-" "$corpus" \
        >"build-fuzzers/$name.log" 2>&1 && return
    tail -n 30 "build-fuzzers/$name.log"
    echo "fuzz.sh: test/fuzz/fuzz_$name.c found something: build-fuzzers/found/$name-*"
    return 1
}

failed=0
for name in "${names[@]}"; do
    one "$name" || failed=$((failed + 1))
done
echo "${#names[@]} fuzzers, $failed failed"
[ $failed -eq 0 ]

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# check-size.sh [ROOT]: functions of at most 70 lines, of C, shell and Python; files of C and Python of
# at most 800, shell scripts of at most 400; and so many asserts per 1,000 lines, at least, of each folder that is in the
# table below (a folder of less than 1,000 lines is too small to judge). Prints TAP; what is too long or
# has too few stands before the line of its rule.
set -u
root=${1:-${srcdir:-$(dirname "$0")/..}}
cd "$root" || exit 1

function_lines=70
file_lines=800
script_lines=400
folders=(base alloc overlay fabric pmix launch test contrib doc)
# Folders that have reached what all are to reach.
asserts_least=10
asserted=(alloc base overlay fabric pmix launch/cli launch/core launch/daemon launch/doctor launch/exec launch/job
    launch/proto launch/rank launch/sim launch/start)

checks=0
failed=0
# verdict NAME: reads the offenders on standard input.
verdict() {
    local lines
    lines=$(cat)
    checks=$((checks + 1))
    if [ -z "$lines" ]; then
        echo "ok $checks - $1"
    else
        failed=1
        printf '%s\nnot ok %d - %s\n' "$lines" "$checks" "$1"
    fi
}

mapfile -t sources < <(find "${folders[@]}" -name '*.[ch]' 2>/dev/null | LC_ALL=C sort)
mapfile -t scripts < <(find "${folders[@]}" .ci \( -name '*.sh' -o -name '*.bats' -o -path .ci/run \
    -o -name sim-check \) \
    2>/dev/null | LC_ALL=C sort)
if [ ${#sources[@]} -eq 0 ]; then
    echo "Bail out! no source file under $root"
    exit 1
fi

# count_asserts FOLDER...: of each how many it has and needs, if those are too few. A comment's are
# none, nor is a static_assert, which costs and tells nothing at run time.
count_asserts() {
    local folder
    for folder; do
        find "$folder" -name '*.[ch]' -exec cat {} + 2>/dev/null |
            awk -v folder="$folder" -v least=$asserts_least '
                !/^ *(\/?\*|\/\/)/ && /(^|[^A-Za-z0-9_])assert\(/ { asserts++ }
                END {
                    if (NR >= 1000 && asserts * 1000 < least * NR)
                        printf "# %s has %d asserts in %d lines, %.1f per 1,000\n",
                            folder, asserts, NR, asserts * 1000 / NR
                }'
    done
}

echo "1..7"
# .clang-format puts the braces of a function, and of nothing else, alone into column one.
verdict "no function is longer than $function_lines lines" < <(awk -v limit=$function_lines '
    FNR == 1 { start = 0 }
    !start && /^[A-Za-z_].*\(/ { name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name) }
    /^\{/ { start = FNR }
    /^\}/ && start {
        if (FNR - start + 1 > limit)
            printf "# %s:%d: %s has %d lines\n", FILENAME, start, name, FNR - start + 1
        start = 0
    }' "${sources[@]}")
verdict "no C file is longer than $file_lines lines" < <(awk -v limit=$file_lines '
    FNR == limit + 1 { printf "# %s is longer than %d lines\n", FILENAME, limit }' "${sources[@]}")
verdict "no script is longer than $script_lines lines" < <(awk -v limit=$script_lines '
    FNR == limit + 1 { printf "# %s is longer than %d lines\n", FILENAME, limit }' \
    "${scripts[@]}" /dev/null)
verdict "at least $asserts_least asserts per 1,000 lines of: ${asserted[*]}" < <(
    count_asserts "${asserted[@]}")
# A function of a shell script ends with a brace or parenthesis in column one.
verdict "no function of a shell script is longer than $function_lines lines" < <(awk -v limit=$function_lines '
    FNR == 1 { start = 0 }
    /^[A-Za-z_][A-Za-z0-9_]*\(\) [{(]$/ { name = $1; start = FNR }
    /^[})]/ && start {
        if (FNR - start + 1 > limit)
            printf "# %s:%d: %s has %d lines\n", FILENAME, start, name, FNR - start + 1
        start = 0
    }' "${scripts[@]}" /dev/null)
mapfile -t pythons < <(find "${folders[@]}" -name '*.py' 2>/dev/null | LC_ALL=C sort)
# A function of Python ends where a line stands at most as far left as it.
verdict "no function of a Python script is longer than $function_lines lines" < <(awk -v limit=$function_lines '
    function done() {
        if (name != "" && last - start + 1 > limit)
            printf "# %s:%d: %s has %d lines\n", file, start, name, last - start + 1
        name = ""
    }
    FNR == 1 { done(); file = FILENAME }
    /^ *$/ { next }
    { match($0, /^ */); indent = RLENGTH }
    name != "" && indent <= own && !/^ *[)\]}]/ { done() }
    name == "" && /^ *def / { name = $2; sub(/\(.*/, "", name); start = FNR; own = indent }
    { last = FNR }
    END { done() }' "${pythons[@]}" /dev/null)
verdict "no Python script is longer than $file_lines lines" < <(awk -v limit=$file_lines '
    FNR == limit + 1 { printf "# %s is longer than %d lines\n", FILENAME, limit }' \
    "${pythons[@]}" /dev/null)
exit $failed

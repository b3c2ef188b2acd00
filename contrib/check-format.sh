#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# check-format.sh [ROOT]: are all C files as clang-format 14 with our .clang-format writes them?
# Other versions differ in details, so with another one the check is skipped. To put files into
# order: contrib/check-format.sh --fix [ROOT].
set -u
fix=no
if [ "${1:-}" = --fix ]; then
    fix=yes
    shift
fi
root=${1:-${srcdir:-$(dirname "$0")/..}}
cd "$root" || exit 1
version=14

formatter=${CLANG_FORMAT:-}
case $formatter in
'' | no) formatter=$(command -v clang-format-$version || command -v clang-format) ;;
esac
if [ -z "$formatter" ]; then
    echo "1..0 # SKIP clang-format-$version is not installed"
    exit 0
fi
if ! "$formatter" --version | grep -q "version $version\."; then
    echo "1..0 # SKIP $formatter is not version $version"
    exit 0
fi

mapfile -t files < <(find base alloc overlay fabric pmix launch test contrib -name '*.[ch]' \
    2>/dev/null | LC_ALL=C sort)
if [ ${#files[@]} -eq 0 ]; then
    echo "Bail out! no source file under $root"
    exit 1
fi
if [ $fix = yes ]; then
    exec "$formatter" -i "${files[@]}"
fi

echo "1..1"
if complaints=$("$formatter" --dry-run -Werror "${files[@]}" 2>&1); then
    echo "ok 1 - all ${#files[@]} C files are formatted"
else
    # One line per place; the rest is a picture of it.
    printf '%s\n' "$complaints" | grep ': error: ' | sed 's/^/# /; s/\[-W.*//'
    echo "not ok 1 - all ${#files[@]} C files are formatted (contrib/check-format.sh --fix)"
    exit 1
fi

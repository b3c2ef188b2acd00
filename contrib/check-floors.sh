#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# check-floors.sh [ROOT]: which folder may include what, as code, and what scripts may do. Prints TAP,
# one line per rule; every line that breaks a rule stands before it. The rules are tables at the head of
# contrib/check-floors.awk. One that must be broken is a question of design: doc/architecture.rst, "The floors".
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=${1:-${srcdir:-$(dirname "$0")/..}}
cd "$root" || exit 1

floors() {
    awk -f "$here/check-floors.awk" "$@"
}

mapfile -t files < <(find base alloc overlay fabric pmix launch test contrib -name '*.[ch]' \
    -not -path 'test/tool/mpi/*' 2>/dev/null | LC_ALL=C sort)
if [ ${#files[@]} -eq 0 ]; then
    echo "Bail out! no source file under $root"
    exit 1
fi
# Scripts by their ending or their first line.
mapfile -t scripts < <(
    {
        find contrib test .ci -name '*.sh' -o -name '*.py' -o -name '*.bats'
        find contrib test .ci -type f ! -name '*.*' -exec grep -lI '^#!' {} +
    } 2>/dev/null | LC_ALL=C sort -u
)
found=$(floors "${files[@]}" "${scripts[@]}")

checks=0
failed=0
rule() {
    local lines
    lines=$(printf '%s\n' "$found" | awk -F '\t' -v rule="$1" '$1 == rule { print "# " $2 }')
    checks=$((checks + 1))
    if [ -z "$lines" ]; then
        echo "ok $checks - $2"
    else
        failed=1
        printf '%s\nnot ok %d - %s\n' "$lines" "$checks" "$2"
    fi
}
echo "1..11"
rule spdx "every source file starts with its SPDX line"
rule order "each .c includes config.h, then its own header; no header includes config.h"
rule guard "a header's guard is named after its path"
rule rooted "project includes are written from the root of the sources"
rule table "each folder includes the floors below only"
rule sealed "base, alloc and the overlay core touch neither clock, file, socket, thread nor process"
rule library "each library, and dlopen, is used at its one place"
rule installed "what is installed for others stands alone and is named banyan_"
rule script "scripts read test/support/ or their own folder only, and Python its standard library"
rule byname "no script ends processes by name"
rule prefix "nothing is named pmix_* or fi_*"
exit $failed

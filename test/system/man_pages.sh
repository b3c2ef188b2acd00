#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Each command has a page, which its help names and which describes every option of its table, and no other; the
# formatter has nothing to say about any page.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"

# rows VERB: the names of the options in its help, "n np" or "json".
rows() {
    "$banyan" help "$1" | sed -nE 's/^ +(-(.), )?--([a-z-]+).*/\2 \3/p'
}
# words PAGE: each option in it, as it is typed.
words() {
    sed 's/\\-/-/g; s/\\f[A-Z]/ /g' "$1" | grep -oE '(^|[^-a-z])--?[A-Za-z][a-z-]*' | grep -oE -- '-.*' | sort -u
}
# tagged PAGE: those in OPTIONS that are described there: what follows .TP.
tagged() {
    sed -n '/^\.SH OPTIONS/,/^\.SH [^O]/p' "$1" | grep -A 1 -x '\.TP' >"$scratch/tagged"
    words "$scratch/tagged"
}

mapfile -t verbs < <("$banyan" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
ok "there are commands" [ ${#verbs[@]} -gt 10 ]
for verb in "${verbs[@]}"; do
    case $verb in help | version) continue ;; esac
    page=$srcdir/doc/banyan-$verb.1
    run "$banyan" help "$verb"
    like "$out" "banyan-$verb\\(1\\)" "banyan help $verb names its page"
    ok "which there is" test -f "$page"
    like "$(cat "$srcdir/doc/banyan.1")" "banyan.-$verb \\(1\\)" "and banyan(1) names it"
    found=$(words "$page")
    missing='' known=$'-h\n--help\n-V\n--version'
    while read -r first second; do
        known+=$'\n'--${second:-$first}
        [ -z "$second" ] || known+=$'\n'-$first
    done < <(rows "$verb")
    # Other names of options are in no help; they are described beside the name.
    known+=$'\n-np\n--ppn\n--hosts\n--machinefile\n--cpus-per-proc\n--chdir'
    for name in $known; do
        case $name in -np | --ppn | --hosts | --machinefile | --cpus-per-proc | --chdir) continue ;; esac
        grep -qx -- "$name" <<<"$found" || missing+=" $name"
    done
    is "$missing" "" "all its options are there"
    is "$(tagged "$page" | grep -vxF -e "$known" | tr '\n' ' ')" "" "and what is described is an option"
done
if command -v groff >/dev/null; then
    for page in "$srcdir"/doc/*.[1-8]; do
        is "$(groff -man -Tutf8 -ww -z "$page" 2>&1)" "" "${page##*/} is formatted without a warning"
    done
else
    skip "no groff here"
fi
done_testing

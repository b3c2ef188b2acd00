#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Each command has a page, which its help names and which describes every option of its table, and no other; the
# formatter has nothing to say about any page. The pages are those that Sphinx has made of doc/reference.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
pages=$(man_directory) || skip_all "no man pages were made: configure has found no sphinx-build"

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
    page=$pages/banyan-$verb.1
    run "$banyan" help "$verb"
    like "$out" "banyan-$verb\\(1\\)" "banyan help $verb names its page"
    ok "which there is" test -f "$page"
    like "$(cat "$pages/banyan.1")" "banyan.-$verb\\(1\\)" "and banyan(1) names it"
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

# Of each source one page, which is installed, and no page of another.
sources=$(cd "$srcdir/doc/reference" && sed -sn '3s/^\([a-z_-]*\)(\([138]\)) - .*/\1.\2/p' banyan*.rst | sort)
is "$(sed 's/\.[138]$/.rst/' <<<"$sources")" "$(cd "$srcdir/doc/reference" && printf '%s\n' banyan*.rst | sort)" \
    "each source of the reference begins with name, section and description"
is "$(cd "$pages" && printf '%s\n' *.[138] | sort)" "$sources" "of each there is a page"
is "$(grep -oE 'doc/man/[a-z_-]*\.[138]' "$srcdir/doc/Makefile.inc" | sed 's|.*/||' | sort)" \
    "$sources" "which is installed"
if command -v groff >/dev/null; then
    for page in "$pages"/*.[138]; do
        is "$(groff -man -Tutf8 -ww -z "$page" 2>&1)" "" "${page##*/} is formatted without a warning"
    done
else
    skip "no groff here"
fi
done_testing

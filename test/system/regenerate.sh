#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# An edit of a list of files is enough: make generates the Makefile again by itself.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"

makefile=$top_builddir/Makefile
[ -f "$makefile" ] || skip_all "there is no Makefile in $top_builddir"
# As make was told them: relative to the build directory, usually.
sources=$(sed -n 's/^srcdir = //p' "$makefile")

mapfile -t fragments < <(cd "$srcdir" &&
    find base alloc overlay fabric pmix launch test contrib doc -name Makefile.inc | LC_ALL=C sort)
like "${#fragments[@]}" '^([2-9][0-9]|[1-9][0-9]{2})$' "the fragments are found"

# would_do FILE: what make would do for the Makefile if that file had just been edited.
would_do() {
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "$top_builddir" -n -W "$1" Makefile
}
prerequisites=$(sed -n 's/^\$(srcdir)\/Makefile\.in://p' "$makefile")
for file in Makefile.am "${fragments[@]}"; do
    like "$prerequisites " "[$]\(srcdir\)/${file//./[.]} " "the Makefile depends on $file"
done
for file in launch/job/Makefile.inc test/Makefile.inc; do
    run would_do "$sources/$file"
    like "$status $out" "^0 .*AUTOMAKE|^0 .*automake" "an edit of $file runs automake"
done
run would_do "$sources/configure.ac"
like "$status $out" "^0 .*autoconf" "an edit of configure.ac runs autoconf"
done_testing

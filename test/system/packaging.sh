#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What makes packages: every file of `make install` is in one of Debian's packages and of RPM's, and both are of this
# version; the module file gives a user the programs and takes them back. The packages themselves are built and
# installed by contrib/testbed/packages.sh.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"

root=$scratch/root
# Not a part of the make that runs this.
make_there() {
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$top_builddir" install DESTDIR="$root" \
        >"$scratch/make.log" 2>&1 || { diag "$(tail -n 20 "$scratch/make.log")"; return 1; }
}
ok "make install" make_there
prefix=$(sed -n 's/^prefix = //p' "$top_builddir/Makefile")
version=$(sed -n 's/^#define PACKAGE_VERSION "\(.*\)"$/\1/p' "$top_builddir/config.h")
installed=$(cd "$root" && find . -type f -o -type l | sed 's/^\.//; /\.la$/d' | sort)
ok "installs the programs" grep -qx "$prefix/bin/banyan" <<<"$installed"
for file in bash-completion/completions/banyan zsh/site-functions/_banyan fish/vendor_completions.d/banyan.fish; do
    ok "installs $file" grep -qx "$prefix/share/$file" <<<"$installed"
done

pages=yes
man_directory >"$scratch/pages" || pages=no
# not_covered PATTERN...: the installed files that no pattern, or directory of one, matches; then the patterns
# that match none, without those of man pages if none were made.
not_covered() {
    local file pattern found
    for file in $installed; do
        found=no
        for pattern; do
            # shellcheck disable=SC2053 # patterns
            [[ $file != $pattern && $file != ${pattern%/}/* ]] || found=yes
        done
        [ $found = yes ] || echo "$file"
    done
    for pattern; do
        [ $pages = yes ] || [[ $pattern != */share/man/* ]] || continue
        grep -qE "^$(sed 's/\./\\./g; s/\*/[^ ]*/g' <<<"${pattern%/}")(/|$)" <<<"$installed" || echo "pattern $pattern"
    done
}

mapfile -t patterns < <(cat "$srcdir"/contrib/debian/*.install "$srcdir"/contrib/debian/not-installed |
    sed "s|^usr/lib/\*/|usr/lib/|; s|^usr|$prefix|; s|^$prefix/share/zsh\$|$prefix/share/zsh/site-functions|")
is "$(not_covered "${patterns[@]}")" "" "Debian's packages have every file, and no other"
is "$(sed -n '1s/^banyan (\([^)]*\)).*/\1/p' "$srcdir/contrib/debian/changelog")" "$version" "and this version"
if command -v rpmspec >/dev/null; then
    run rpmspec -P -D "_prefix $prefix" -D "_libdir $prefix/lib" -D "_mandir $prefix/share/man" -D "_datadir $prefix/share" \
        "$srcdir/contrib/rpm/banyan.spec"
    is "$status" 0 "rpmspec parses the spec file"
    mapfile -t patterns < <(sed -n '/^%files/,/^%changelog/p' <<<"$out" | grep '^/')
    is "$(not_covered "${patterns[@]}")" "" "RPM's packages have every file, and no other"
    is "$(sed -n 's/^Version: *//p' <<<"$out")" "$version" "and this version"
else
    skip "no rpmspec here"
    skip "no rpmspec here"
    skip "no rpmspec here"
fi

modules=$(ls /usr/lib/*/modulecmd.tcl /usr/share/Modules/libexec/modulecmd.tcl 2>/dev/null | head -n 1)
export MODULEPATH=$root$prefix/share/banyan/modulefiles
# module WORD...: as the shell function does it.
module() { eval "$(tclsh "$modules" bash "$@" 2>"$scratch/module.err")"; }
PATH=/usr/bin:/bin # without what is installed
before=$PATH
if [ -n "$modules" ] && command -v tclsh >/dev/null; then
    unset LOADEDMODULES _LMFILES_ MANPATH
    module load "banyan/$version"
    is "$PATH|${MANPATH-none}" "$prefix/bin:$before|none" "module load banyan: the programs are found first"
    like "$(tclsh "$modules" bash help banyan 2>&1)" "banyan $version runs parallel programs" "module help banyan"
    module unload banyan
    is "$PATH" "$before" "module unload banyan: as it was"
    MANPATH=/usr/share/man
    export MANPATH
    module load banyan
    is "$MANPATH" "$prefix/share/man:/usr/share/man" "with MANPATH: the pages, too"
    is "$(cat "$scratch/module.err")" "" "without a complaint"
else
    for _ in 1 2 3 4 5; do skip "no Environment Modules here"; done
fi
done_testing

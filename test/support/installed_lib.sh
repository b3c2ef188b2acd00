# SPDX-License-Identifier: BSD-3-Clause
#
# For scripts that test a library of ours as others use it: with what `make install` has put into an
# empty directory, pkg-config and the compiler's defaults. After test/support/lib.sh.

pkg_config=${PKG_CONFIG:-pkg-config}
cc=${CC:-cc}
root=$scratch/root
sanitizers=${BANYAN_SANITIZERS:-}
strict="-Wall -Wextra -Werror -pedantic"

# make_there TARGET: not a part of the make that runs this.
make_there() {
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$top_builddir" "$1" DESTDIR="$root" \
        >"$scratch/make.log" 2>&1 || { diag "$(tail -n 20 "$scratch/make.log")"; return 1; }
}

# install_library NAME: libbanyan-NAME. Sets $header, $archive, $library, $page, $declared, and $cflags,
# $shared and $static, which are several words.
install_library() {
    ok "make install" make_there install
    header=$(find "$root" -path "*/include/banyan/$1.h")
    archive=$(find "$root" -name "libbanyan-$1.a")
    library=$(find "$root" -name "libbanyan-$1.so")
    like "$header:$archive:$library" '^/.*:/.*:/.*' "header, archive and library"
    page=$(find "$root" -name "banyan_$1.3*")
    if man_directory >"$scratch/pages"; then
        ok "and man page" test -f "$page"
    else
        skip "no man pages were made"
    fi
    export PKG_CONFIG_SYSROOT_DIR=$root
    PKG_CONFIG_PATH=$(dirname "$(find "$root" -name "banyan-$1.pc")")
    export PKG_CONFIG_PATH
    cflags=$("$pkg_config" --cflags "banyan-$1")
    shared=$("$pkg_config" --libs "banyan-$1")
    # Without the shared form of the library itself, which stands first.
    static="$archive $("$pkg_config" --libs --static "banyan-$1" | sed "s/-L[^ ]*//; s/-lbanyan-$1//")"
    LD_LIBRARY_PATH=$(dirname "$library")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
    declared=$(sed -n "/^typedef/d; s/^[a-z].*[ *]\(banyan_$1_[a-z_]*\)(.*/\1/p" "$header" | sort)
}

# Both forms of the library define what the header declares, and the man page has it.
check_names() {
    local name missing='' in_library in_archive
    in_library=$(nm -D --defined-only "$library" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' | sort)
    in_archive=$(nm -g --defined-only "$archive" | awk '$2 ~ /^[A-Z]$/ { print $3 }' | sort)
    if [ -n "$sanitizers" ]; then
        skip "a sanitizer exports symbols of its own"
        skip "a sanitizer exports symbols of its own"
    else
        is "$in_library" "$declared" "the library exports what the header declares and nothing else"
        is "$in_archive" "$declared" "nor does the archive define anything else"
    fi
    if [ -z "$page" ]; then
        skip "no man pages were made"
        return
    fi
    for name in $declared; do
        grep -q "$name(" "$page" || missing="$missing $name"
        [ -e "$(dirname "$page")/$name.3" ] || missing="$missing $name.3"
    done
    is "$missing" "" "the man page has every routine, by its name, too"
}

# build OUTPUT COMMAND...: the compiler's command, with the sanitizers' flags, which are several words.
build() {
    local output=$1
    shift
    # shellcheck disable=SC2086
    "$@" $sanitizers -I"$scratch" -o "$scratch/$output" >"$scratch/build.log" 2>&1 ||
        { diag "$(cat "$scratch/build.log")"; return 1; }
}

# A program that loads a shared object and calls its plugin(): $scratch/host OBJECT.
build_host() {
    cat >"$scratch/host.c" <<'END'
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

int main(int argc, char **argv)
{
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    void *address = library != NULL ? dlsym(library, "plugin") : NULL;
    int (*plugin)(void);

    if (address == NULL)
        return 2;
    memcpy(&plugin, &address, sizeof(plugin));
    return plugin();
}
END
    # shellcheck disable=SC2086
    build host $cc "$scratch/host.c" -ldl
}

# example: that of the man page; of its source, if no man pages were made. Newer versions of docutils write .EX and .EE
# instead of .nf and .fi.
example() {
    if [ -z "$page" ]; then
        sed -n '/^Example$/,/^See also$/s/^   //p' "$srcdir/doc/reference/banyan_$(basename "$header" .h).rst"
        return
    fi
    sed -n '/^\.SH EXAMPLE/,/^\.SH SEE/p' "$page" | sed '1,/^\.\(nf\|EX\)/d; /^\.\(fi\|EE\)/,$d; /^\.ft/d' |
        sed "s/^\\\\&//; s/\\\\-/-/g; s/\\\\(aq/'/g; s/\\\\(dq/\"/g; s/\\\\e/\\\\/g"
}

# Builds $scratch/example of the man page, and has groff read it.
check_page() {
    example >"$scratch/example.c"
    # shellcheck disable=SC2086
    ok "the example of the man page is built" build example $cc $strict "$scratch/example.c" $cflags $shared
    if [ -n "$page" ] && command -v groff >/dev/null; then
        is "$(groff -man -Tutf8 -ww -z "$page" 2>&1)" "" "groff has nothing against the page"
    else
        skip "no groff, or no man pages were made"
    fi
}

uninstall_library() {
    ok "make uninstall" make_there uninstall
    is "$(find "$root" -type f -o -type l)" "" "takes everything away again"
}

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# build.sh DIRECTORY [configure options]: from a fresh clone to built programs in DIRECTORY. Says
# little unless something fails. Called by demo.sh, check.sh and .ci/run after setup.sh.
set -eu
directory=$1
shift
srcdir=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$directory"
cd "$directory"
directory=$PWD

# quiet NAME COMMAND...: its output goes to NAME.log, and to the terminal if it fails.
quiet() {
    local log=$directory/$1.log
    shift
    "$@" </dev/null >"$log" 2>&1 && return
    tail -n 40 "$log" >&2
    echo "build.sh: failed: $* (all of it: $log)" >&2
    exit 1
}

mapfile -t fragments < <(find "$srcdir" -name Makefile.inc -not -path "$srcdir/build*")
newest=$(ls -t "$srcdir"/configure "$srcdir"/configure.ac "$srcdir"/m4/banyan.m4 \
    "$srcdir"/Makefile.am "${fragments[@]}" 2>/dev/null | head -n 1)
if [ "$newest" != "$srcdir/configure" ] || [ ! -e "$srcdir/Makefile.in" ]; then
    echo "build.sh: autoreconf"
    (cd "$srcdir" && quiet autoreconf autoreconf -i)
fi
# A build directory keeps its options; other ones configure it anew.
options="${*@Q}"
if [ ! -e config.status ] || [ "$srcdir/configure" -nt config.status ] ||
    [ "$(cat .options 2>/dev/null)" != "$options" ]; then
    echo "build.sh: configure $options"
    quiet configure "$srcdir/configure" "$@"
    printf '%s\n' "$options" >.options
fi
echo "build.sh: make"
quiet make make -j"$(nproc)" all

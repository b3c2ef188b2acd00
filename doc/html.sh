#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# html.sh DIRECTORY: doc/ as HTML, in DIRECTORY/html, and the reference and guides as man pages, in DIRECTORY/man. Run by
# `make html`, after banyan itself, which draws the pictures.
#
# Sphinx reads a copy, DIRECTORY/pages, to which the pictures are added that other programs make (banyan, gnuplot). Any
# warning of Sphinx is an error.
set -eu
srcdir=$(cd "${srcdir:-$(dirname "$0")/..}" && pwd)
top_builddir=$(cd "${top_builddir:-$srcdir}" && pwd)
here=$srcdir/doc
target=$1
pages=$target/pages
banyan=$top_builddir/banyan
export BANYAN_CONFIG=none

sphinx=${sphinx:-sphinx-build}
[ "$sphinx" != no ] || sphinx=sphinx-build
for program in ${sphinx%% *} gnuplot; do
    command -v "$program" >/dev/null || {
        echo "html.sh: $program is missing (on Debian: apt-get install python3-sphinx gnuplot-nox)" >&2
        exit 1
    }
done

rm -rf "$target"
mkdir -p "$pages/howto" "$pages/static" "$pages/reference" "$pages/pictures"
cp "$here"/conf.py "$here"/*.rst "$pages"
cp "$here"/howto/*.rst "$pages/howto"
cp "$here"/reference/*.rst "$pages/reference"
cp "$here"/static/* "$pages/static"

# picture NAME ARGUMENT...: as `banyan ARGUMENT... --svg` draws it.
picture() {
    local name=$1
    shift
    "$banyan" "$@" --svg >"$pages/pictures/$name.svg"
}
picture tree tree --virtual-nodes 16 --radix 4
picture map map -n 16 --map-by core --nodes 'n[1-2]' --topology 'package:2 core:4 pu:1'

# bench_plots ARGUMENT...: as `banyan bench ARGUMENT... --plot DIRECTORY` has gnuplot draw them.
bench_plots() {
    "$banyan" bench "$@" --plot "$target/plots" >"$target/bench.out" </dev/null
}
bench_plots --virtual-nodes 8 --operation pairs --size 64K,256K
cp "$target/plots/pairs_65536.svg" "$pages/pictures"
bench_plots --virtual-nodes 4 --operation broadcast,exchange --size 64..64K -r 20
cp "$target/plots/time.svg" "$target/plots/bandwidth.svg" "$pages/pictures"
# shellcheck disable=SC2016 # The shell of each rank expands it.
"$banyan" run --virtual-nodes 4 --slots 2 -N 2 --trace "$target/trace.json" sh -c 'sleep 0.1$BANYAN_RANK' </dev/null
python3 "$here/timeline.py" "$target/trace.json" >"$pages/pictures/timeline.svg"

BANYAN_VERSION=$("$banyan" version | sed 's/^banyan //')
export BANYAN_VERSION
for builder in html man; do
    $sphinx -q -W --keep-going -b $builder -d "$target/doctrees/$builder" "$pages" "$target/$builder"
done

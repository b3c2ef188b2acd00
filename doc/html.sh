#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# html.sh DIRECTORY: doc/ as HTML, in DIRECTORY/html, and its prose as man pages, in DIRECTORY/man. Run by `make html`,
# after banyan itself, which draws the pictures.
#
# Sphinx reads a copy, DIRECTORY/pages, to which are added what other programs make: the man pages (mandoc) and the
# pictures (banyan, gnuplot). Any warning of Sphinx is an error.
set -eu
srcdir=$(cd "${srcdir:-$(dirname "$0")/..}" && pwd)
top_builddir=$(cd "${top_builddir:-$srcdir}" && pwd)
here=$srcdir/doc
target=$1
pages=$target/pages
banyan=$top_builddir/banyan
export BANYAN_CONFIG=none

for program in sphinx-build mandoc gnuplot; do
    command -v $program >/dev/null || {
        echo "html.sh: $program is missing (on Debian: apt-get install python3-sphinx mandoc gnuplot-nox)" >&2
        exit 1
    }
done

rm -rf "$target"
mkdir -p "$pages/howto" "$pages/static" "$pages/reference" "$pages/pictures"
cp "$here"/conf.py "$here"/*.rst "$pages"
cp "$here"/howto/*.rst "$pages/howto"
cp "$here"/static/* "$pages/static"

# page FILE: a man page as a page of its own. Names of others become links.
page() {
    local name
    name=$(basename "${1%.*}")
    mandoc -T html -O 'fragment,man=%N.html' "$1" |
        sed -E 's|<b>(banyand?[a-z_-]*)</b>\(([138])\)|<a href="\1.html"><b>\1</b>(\2)</a>|g' >"$pages/reference/$name.txt"
    {
        printf '%s\n%s\n\n' "$name" "${name//?/=}"
        printf '.. raw:: html\n   :file: %s.txt\n' "$name"
    } >"$pages/reference/$name.rst"
}

{
    printf 'Reference\n=========\n\nThe man pages.\n\n.. toctree::\n   :maxdepth: 1\n\n'
    for file in "$here"/banyan.1 "$here"/banyan-*.1 "$here"/banyand.8 "$here"/banyan_*.3; do
        echo "   $(basename "${file%.*}")"
    done
} >"$pages/reference/index.rst"
for file in "$here"/*.[138]; do page "$file"; done

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
    sphinx-build -q -W --keep-going -b $builder -d "$target/doctrees/$builder" "$pages" "$target/$builder"
done

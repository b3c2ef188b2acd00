#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# make.sh DIRECTORY: builds the Debian packages of this tree, as it is, for the Debian that this is, into DIRECTORY.
# Wants what debian/control names (dpkg-checkbuilddeps says what is missing); root is not needed.
set -eu
if [ $# -ne 1 ]; then
    echo "usage: make.sh DIRECTORY" >&2
    exit 2
fi
mkdir -p "$1"
to=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
version=$(sed -n 's/^AC_INIT(\[banyan\], \[\(.*\)\])$/\1/p' configure.ac)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tree=$scratch/banyan-$version
mkdir "$tree"
# What git has, as it is in the working tree; without a repository (a distribution archive) all.
if git -c safe.directory='*' rev-parse --git-dir >/dev/null 2>&1; then
    git -c safe.directory='*' ls-files -z | tar -cf - --null -T - | tar -xf - -C "$tree"
else
    tar -cf - --exclude=./build . | tar -xf - -C "$tree"
fi
cp -r "$tree/contrib/debian" "$tree/debian"
rm "$tree/debian/make.sh"
cd "$tree"
packaged=$(dpkg-parsechangelog -S Version)
if [ "$packaged" != "$version" ]; then
    echo "make.sh: contrib/debian/changelog is of version $packaged, configure.ac of $version" >&2
    exit 1
fi
if ! dpkg-buildpackage -us -uc -b "-j$(nproc)" </dev/null >"$to/build.log" 2>&1; then
    tail -n 40 "$to/build.log" >&2
    echo "make.sh: dpkg-buildpackage failed (all of it: $to/build.log)" >&2
    exit 1
fi
mv "$scratch"/*.deb "$scratch"/*.changes "$scratch"/*.buildinfo "$to"
ls "$to"/*.deb

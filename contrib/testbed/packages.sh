#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# packages.sh VERSION: builds the Debian packages for Debian VERSION (12, 13), here if this is that, else in
# one (with-debian.sh); lintian, where it is installed, has nothing against them; and a fresh Debian VERSION
# installs, uses and removes them (installed-package.sh). Must be called as root; the fresh system takes
# packages from this machine's sources.
set -eu
if [ $# -ne 1 ]; then
    echo "usage: packages.sh VERSION" >&2
    exit 2
fi
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
chmod 755 "$scratch"
if [ "$(. /etc/os-release && echo "$ID$VERSION_ID")" = "debian$1" ]; then
    contrib/debian/make.sh "$scratch" >/dev/null
else
    # Nothing but its output leaves that system.
    contrib/testbed/with-debian.sh "$1" bash -c \
        'contrib/debian/make.sh /tmp/packages >&2 && tar -C /tmp/packages -cf - .' >"$scratch/packages.tar"
    tar -C "$scratch" -xf "$scratch/packages.tar"
fi
if command -v lintian >/dev/null; then
    lintian --allow-root --fail-on error,warning "$scratch"/*.changes
fi
cp contrib/testbed/installed-package.sh "$scratch"
here=$PWD
cd "$scratch"
BANYAN_DEBIAN_FRESH=1 "$here/contrib/testbed/with-debian.sh" "$1" ./installed-package.sh

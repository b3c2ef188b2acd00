#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# hwloc-machines.sh DIRECTORY: fetches the machines that hwloc's own tests have, from the source package
# of this Debian, into DIRECTORY/hwloc, for test/system/topology_machines.sh (HWLOC_MACHINES=DIRECTORY/hwloc).
# 3 to 20 MB by apt, with lists of its own: the system's configuration is not touched. Nothing is fetched
# if they are there. Exits with 77 and a reason on stderr if they cannot be had.
set -eu
if [ $# -ne 1 ]; then
    echo "usage: hwloc-machines.sh DIRECTORY" >&2
    exit 2
fi
directory=$1
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

skip() {
    echo "hwloc-machines.sh: $1" >&2
    exit 77
}

[ ! -d "$directory/hwloc/xml" ] || exit 0
command -v apt-get >/dev/null || skip "there is no apt-get"
[ -r "$keyring" ] || skip "$keyring is missing"
mkdir -p "$directory/lists/partial"
directory=$(cd "$directory" && pwd)
# The first archive that this machine has packages from.
archive=$(apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    grep -E '^[^ ]*/debian/? [a-z]+ main$' | head -n 1) || true
[ -n "$archive" ] || archive="http://deb.debian.org/debian $(. /etc/os-release && echo "$VERSION_CODENAME") main"
echo "deb-src [signed-by=$keyring] $archive" >"$directory/source.list"

apt() {
    timeout 60 apt-get -q -o Dir::Etc::sourcelist="$directory/source.list" \
        -o Dir::Etc::sourceparts=/dev/null -o Dir::State::Lists="$directory/lists" \
        -o APT::Get::List-Cleanup=0 -o Acquire::Languages=none -o APT::Sandbox::User=root \
        -o Acquire::Retries=2 "$@" </dev/null >>"$directory/apt.log" 2>&1
}

cd "$directory"
apt update || skip "apt-get update: $(grep -m 1 '^[EW]:' apt.log || tail -n 1 apt.log)"
apt source --download-only hwloc || skip "apt-get source: $(grep -m 1 '^E:' apt.log || tail -n 1 apt.log)"
mkdir -p new
tar -xf hwloc_*.orig.tar.* -C new --strip-components=3 --wildcards '*/tests/hwloc'
rm -rf hwloc lists hwloc_*.tar.*
mv new hwloc

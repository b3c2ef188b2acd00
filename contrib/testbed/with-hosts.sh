#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# with-hosts.sh COUNT COMMAND [ARGUMENT...]: runs a command to which v1 ... vCOUNT are names of
# loopback addresses (127.20.0.1 upwards), by an /etc/hosts that only the command sees.
#
# The virtual nodes of fakessh need no address, and neither banyan nor hydra asks for one. orterun
# asks for the address of each name, and where the name server is slow or silent that costs 5 s a
# time. Nothing is changed outside; an ordinary user gets it through a user namespace.
set -eu
if [ $# -lt 2 ]; then
    echo "usage: with-hosts.sh COUNT COMMAND [ARGUMENT...]" >&2
    exit 2
fi
count=$1
shift

hosts=$(mktemp "${TMPDIR:-/tmp}/hosts.XXXXXX")
trap 'rm -f "$hosts"' EXIT
{
    cat /etc/hosts
    awk -v count="$count" 'BEGIN {
        for (i = 1; i <= count; i++)
            printf "127.20.%d.%d v%d\n", i / 250, i % 250 + 1, i
    }'
} >"$hosts"
chmod 644 "$hosts"

options=(--mount)
[ "$(id -u)" -eq 0 ] || options+=(--map-current-user --keep-caps)
# The file is removed once it is mounted; the mount keeps what is in it.
trap - EXIT
exec unshare "${options[@]}" bash -c '
    mount --bind "$0" /etc/hosts
    mounted=$?
    rm -f "$0"
    [ $mounted -eq 0 ] || exit 125
    exec "$@"' "$hosts" "$@"

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# with-debian.sh VERSION COMMAND [ARGUMENT...]: runs a command, as root, in a Debian of another
# version (12, 13) that has what contrib/setup.sh installs. Must be called as root.
#
# The system is made once, by mmdebstrap with this machine's sources of packages, and kept in
# $BANYAN_DEBIAN_DIR (default /var/tmp/banyan-debian-VERSION; remove it to have it made anew).
# Packages that setup.sh has come to want since are added. Each command then gets
#
# - a fresh layer over that system, which is thrown away afterwards: it may write anywhere;
# - mount, pid, ipc, uts and network namespaces of its own, with a loopback interface and one that
#   leads nowhere: no process of it is left, and it speaks to nobody;
# - the current directory, read-only, under its own name and as its working directory.
#
# With BANYAN_DEBIAN_FRESH=1 the command gets the bare system and the network of this machine, as
# somebody who installs banyan on a new machine does.
set -eu
if [ $# -lt 2 ]; then
    echo "usage: with-debian.sh VERSION COMMAND [ARGUMENT...]" >&2
    exit 2
fi
version=$1
shift
case $version in
12) suite=bookworm ;;
13) suite=trixie ;;
*)
    echo "with-debian.sh: unknown version $version; known are 12 and 13" >&2
    exit 2
    ;;
esac
if [ "$(id -u)" -ne 0 ]; then
    echo "with-debian.sh: only root can make and enter another system" >&2
    exit 1
fi
here=$(cd "$(dirname "$0")/../.." && pwd)
keep=${BANYAN_DEBIAN_DIR:-/var/tmp/banyan-debian-$version}
log=$(mktemp)
scratch=
mounted=

clean_up() {
    [ -z "$mounted" ] || umount "$mounted" 2>/dev/null || umount --lazy "$mounted"
    rm -rf "$log" ${scratch:+"$scratch"}
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# quiet WHAT COMMAND...: the end of its output is shown if it fails.
quiet() {
    local what=$1
    shift
    "$@" </dev/null >"$log" 2>&1 && return
    tail -n 30 "$log" >&2
    echo "with-debian.sh: cannot $what" >&2
    exit 1
}

# enter ROOT NETWORK COMMAND...: in namespaces of its own, with the usual file systems. The pid
# namespace takes everything along when it ends.
enter() {
    local root=$1 network=$2
    shift 2
    local spaces=(--mount --pid --ipc --uts --fork --kill-child)
    [ "$network" = yes ] || spaces+=(--net)
    # shellcheck disable=SC2016 # expanded by the inner shell
    unshare "${spaces[@]}" bash -c '
        set -eu
        root=$0 network=$1 here=$2
        shift 2
        mount --make-rprivate /
        mount -t proc proc "$root/proc"
        mount --rbind /dev "$root/dev"
        mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
        mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
        mount -t tmpfs -o mode=755 tmpfs "$root/run"
        mount --rbind /sys "$root/sys" # cgroups are seen, as on a machine of its own
        if [ "$network" = no ]; then
            mount -t sysfs sysfs "$root/sys"
            mount --rbind /sys/fs/cgroup "$root/sys/fs/cgroup" 2>/dev/null || true
            ip link set lo up
            # Open MPI takes a machine with a loopback address only for one without a network.
            ip link add veth0 type veth peer name veth1
            ip address add 192.0.2.1/24 dev veth0
            ip link set veth0 up
            ip link set veth1 up
        fi
        cp --remove-destination /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
        if [ -n "$here" ]; then
            mkdir -p "$root$here"
            mount --bind "$here" "$root$here"
            mount -o remount,bind,ro "$root$here"
        fi
        hostname debian
        printf "127.0.0.1 localhost\n::1 localhost\n127.0.1.1 debian\n" >"$root/etc/hosts"
        exec chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin \
            TERM="${TERM:-dumb}" USER=root LOGNAME=root LC_ALL=C.UTF-8 CI="${CI:-}" \
            "BANYAN_DIRECTORY=$here" bash -c "
                [ -z \"\$BANYAN_DIRECTORY\" ] || cd \"\$BANYAN_DIRECTORY\"
                unset BANYAN_DIRECTORY
                exec \"\$@\"" banyan "$@"
    ' "$root" "$network" "$([ "$PWD" = / ] || echo "$PWD")" "$@"
}

# The bare system, and a second layer with the packages of setup.sh.
make_bare() {
    [ ! -e "$keep/bare" ] || return 0
    command -v mmdebstrap >/dev/null ||
        quiet "install mmdebstrap" env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y -q --no-install-recommends mmdebstrap
    echo "with-debian.sh: making a Debian $version" >&2
    mkdir -p "$keep"
    rm -rf "$keep/bare.new"
    quiet "make a Debian $version" mmdebstrap --variant=apt "$suite" "$keep/bare.new"
    mv "$keep/bare.new" "$keep/bare"
}

# with_layer LOWER UPPER COMMAND...: COMMAND is called with the directory where both are mounted.
with_layer() {
    local lower=$1 upper=$2 rc=0
    shift 2
    mkdir -p "$upper/files" "$upper/work" "$upper/root"
    mount -t overlay overlay -o "lowerdir=$lower,upperdir=$upper/files,workdir=$upper/work" \
        "$upper/root"
    mounted=$upper/root
    "$1" "$upper/root" "${@:2}" || rc=$?
    umount "$upper/root"
    mounted=
    return $rc
}

in_packages() {
    (cd "$here" && enter "$1" yes contrib/setup.sh)
}

make_packages() {
    local wanted
    wanted=$(sha256sum <"$here/contrib/setup.sh")
    [ "$(cat "$keep/packages/wanted" 2>/dev/null)" != "$wanted" ] || return 0
    echo "with-debian.sh: installing packages in a Debian $version" >&2
    quiet "install packages in a Debian $version" \
        with_layer "$keep/bare" "$keep/packages" in_packages
    echo "$wanted" >"$keep/packages/wanted"
}

run_in() {
    local root=$1 network=$2
    shift 2
    enter "$root" "$network" "$@"
}

mkdir -p "$keep"
exec 9>"$keep/lock"
flock 9 # one at a time makes it
make_bare
[ "${BANYAN_DEBIAN_FRESH:-}" = 1 ] || make_packages
exec 9>&-

scratch=$(mktemp -d "$keep/run.XXXXXX")
lower=$keep/packages/files:$keep/bare
network=no
if [ "${BANYAN_DEBIAN_FRESH:-}" = 1 ]; then
    lower=$keep/bare
    network=yes
fi
rc=0
with_layer "$lower" "$scratch" run_in "$network" "$@" || rc=$?
exit $rc

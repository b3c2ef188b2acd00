#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# setup.sh: are the Debian packages here that building and testing banyan takes? Root gets the
# missing ones installed; anyone else is told their names (exit 1). Elsewhere than on Debian
# configure says what is missing.
set -eu

build=(gcc make autoconf automake libtool pkg-config libc6-dev libevent-dev libhwloc-dev
    libpmix-dev libssl-dev libfabric-dev libzstd-dev libjansson-dev libmunge-dev python3-sphinx)
# The sources are formatted by clang-format 14, which is Debian 12's; elsewhere its default clang does.
clang=(clang libclang-rt-dev clang-format)
case $(. /etc/os-release 2>/dev/null && echo "${ID:-}${VERSION_ID:-}") in
debian12) clang=(clang-14 libclang-rt-14-dev clang-format-14) ;;
esac
# Other compilers and sanitizers, the MPIs that are launched and compared with, tools of the tests.
tests=(g++ "${clang[@]}" musl-tools bats
    openmpi-bin libopenmpi-dev mpich libmpich-dev slurm-client slurm-wlm libslurm-dev libpmi2-0-dev munge
    python3-mpi4py lammps hpcc openssh-server openssh-client
    procps psmisc util-linux iproute2 python3 groff-base gnuplot-nox xz-utils git zsh fish debhelper
    rpm environment-modules tcl build-essential gdb vim-tiny)

if ! command -v dpkg-query >/dev/null; then
    echo "setup.sh: this is no Debian: configure will say what is missing"
    exit 0
fi

missing=()
for package in "${build[@]}" "${tests[@]}"; do
    # dpkg-query also knows packages that were removed.
    # shellcheck disable=SC2016
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
    echo "setup.sh: packages are missing; as root: apt-get install ${missing[*]}" >&2
    exit 1
fi
echo "setup.sh: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
options=(-y -q --no-install-recommends -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# The lists are fetched only if they are too old to install from.
if ! apt-get install "${options[@]}" "${missing[@]}" </dev/null >"$log" 2>&1; then
    if ! { apt-get update -q && apt-get install "${options[@]}" "${missing[@]}"; } \
        </dev/null >"$log" 2>&1; then
        tail -n 30 "$log" >&2
        echo "setup.sh: cannot install ${missing[*]}" >&2
        exit 1
    fi
fi

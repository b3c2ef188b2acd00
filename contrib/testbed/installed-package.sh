#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# installed-package.sh: installs the packages of the current directory in the Debian that this is, runs jobs by
# them as somebody who is not root, removes them, and compares the system with what it was. For a Debian that
# can be thrown away (packages.sh).
set -u
failed=0
# check WHAT COMMAND...: its output is shown if it fails.
check() {
    local what=$1 out
    shift
    if out=$("$@" 2>&1); then
        echo "passed: $what"
    else
        failed=$((failed + 1))
        echo "failed: $what"
        printf '%s\n' "$out" | tail -n 20
    fi
}
# Every file and package, without what apt keeps for itself, and groups: one that a library of Debian adds stays.
system() {
    find / -xdev \( -path /tmp -o -path /run -o -path /proc -o -path /sys -o -path /dev -o -path /var/lib/apt \
        -o -path /var/cache -o -path /var/lib/dpkg -o -path /var/log -o -path "$PWD" -o -path '/etc/g*shadow*' -o -path '/etc/group*' \) -prune \
        -o -type f -printf '%p %M %s\n' -o -printf '%p %M %l\n'
    dpkg-query -W -f 'package ${Package} ${db:Status-Status}\n' | grep -v ' not-installed$'
}
# as_user COMMAND...: in a directory that it can read.
as_user() { (cd / && setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nonexistent USER=nobody "$@"); }
ranks() { [ "$(as_user "$@" sh -c 'echo $BANYAN_RANK' | sort -n | tr '\n' ' ')" = "0 1 2 3 " ]; }
personality() { ranks "$(dpkg -L banyan | grep '/bin/mpiexec$')" --virtual-nodes 2 -n 4; }
instance() {
    local dir rc=0
    dir=$(as_user banyan start --daemonize --virtual-nodes 2 --slots 2) || return
    ranks banyan run --instance "$dir" -n 4 || rc=1
    as_user banyan ps --instance "$dir" || rc=1
    as_user banyan stop --instance "$dir" || rc=1
    return $rc
}
# What Open MPI and PMIx programs speak to comes by dlopen.
plugins() {
    local file files
    files=$(dpkg -L banyan | grep '\.so$') || return
    for file in $files; do
        ! ldd "$file" | grep 'not found' || return
    done
}
completion() { (. /usr/share/bash-completion/completions/banyan && complete -p banyan); }
manual() { zcat /usr/share/man/man1/banyan-run.1.gz | grep -q 'TH "BANYAN-RUN"'; }
libraries() {
    local name
    for name in sock fabric; do
        dpkg -L "libbanyan-$name-dev" | grep "/banyan-$name.pc$" && ldconfig -p | grep "libbanyan-$name.so.0" || return
    done
}
nothing_runs() { ! grep -lazE '^banyand?$' /proc/[0-9]*/cmdline 2>/dev/null; }
nothing_lies() { ! find /tmp /dev/shm /var/tmp -path "$PWD" -prune -o \( -name 'banyan*' -o -name 'bv-*' \) -print | grep .; }
same_system() { diff "$before" <(system); }

export DEBIAN_FRONTEND=noninteractive
before=$(mktemp)
apt-get update -q >"$before" 2>&1 || {
    cat "$before"
    exit 1
}
system >"$before"
names=(banyan libbanyan-sock0 libbanyan-sock-dev libbanyan-fabric0 libbanyan-fabric-dev)
files=()
for name in "${names[@]}"; do files+=("$PWD/$name"_*.deb); done
check "apt installs the packages" apt-get install -y -q --no-install-recommends "${files[@]}"
check "the program says its version" as_user banyan version
check "a job of four ranks on two nodes" ranks banyan run --virtual-nodes 2 -n 4
check "the same as mpiexec" personality
check "an instance" instance
check "banyan doctor" as_user banyan doctor --virtual-nodes 2
check "the libraries of the plugins" plugins
check "completion in bash" completion
check "the man page" manual
check "the libraries for others" libraries
check "nothing runs any more" nothing_runs
check "nothing lies about" nothing_lies
check "apt removes them" apt-get purge -y -q --autoremove "${names[@]}"
check "the system is as it was" same_system
[ $failed -eq 0 ]

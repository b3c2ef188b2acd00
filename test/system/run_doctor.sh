#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `banyan doctor` on nodes of which one is broken, in one way after the other: it finds what is wrong,
# where, and says what mends it.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/net_lib.sh"
. "$srcdir/test/support/leftovers.sh"

bridge lan
node front n1 n2 n3
number=1
for name in front n1 n2 n3; do
    wire $name eth0 lan 10.1.0.$number/24
    number=$((number + 1))
done
printf '10.1.0.1 front\n10.1.0.2 n1\n10.1.0.3 n2\n10.1.0.4 n3\n' >"$scratch/n1.hosts"
cp "$scratch/n1.hosts" "$scratch/n2.hosts"
cp "$scratch/n1.hosts" "$scratch/n3.hosts"

# doctor OPTION...: over n1, n2, n3 in a line, from front, with all facts.
doctor() {
    new_mark
    run env BT_MARK="$mark" nsenter --net=/run/netns/front timeout 300 "$banyan" doctor \
        --ssh-agent "$agent" --tmpdir "$TMPDIR" --start-timeout 60 --radix 2 --host 'n[1-3]' -v "$@" \
        </dev/null
}

# finds REGEX NAME: status 1, and a line of the table that begins with "check ! nodes".
finds() {
    like "$status $(grep ' ! ' <<<"$out")" "^1 .*$1" "$2"
}

# n2_is SHELL...: what is done on n2 before its daemon starts; `healthy` undoes it.
n2_is() {
    printf '%s\n' "$@" >"$scratch/n2.sh"
}
healthy() {
    rm -f "$scratch/n2.sh"
    cp "$scratch/n1.hosts" "$scratch/n2.hosts"
}

doctor
is "$status" 0 "all is well: exit status 0"
like "$out" 'No problems found on 3 nodes' "and so it says"
like "$out" $'start +n\\[1-3\\] ' "nodes are grouped"
like "$out" $'network +\\(here\\),n\\[1-3\\] +listens on eth0 10\\.1\\.0\\.0/24\n' "networks"
like "$out" $'leftovers +\\(here\\),n\\[1-3\\] +none' "leftovers"
like "$out" $'clock +n\\[1-3\\] +agrees with this machine' "clocks"
nothing_left "it leaves nothing behind itself"
[ "$status" = 0 ] || diag "$out"
doctor --json ls
like "$out" '"well": true' "--json says that all is well"
like "$out" '"check": "program",' "and each finding"
if command -v python3 >/dev/null; then
    is "$(python3 -c 'import json, sys
d = json.load(sys.stdin)
print(d["nodes"], d["well"], {f["nodes"] for f in d["findings"] if f["check"] == "program"})' <<<"$out")" \
        "3 True {'n[1-3]'}" "as JSON"
else
    skip "no python3 to read it"
fi

# Nodes that do not start are no end: here the first and with it the place of those below it.
new_mark
run env BT_MARK="$mark" nsenter --net=/run/netns/front timeout 300 "$banyan" doctor --ssh-agent \
    "$agent" --tmpdir "$TMPDIR" --start-timeout 60 --radix 2 --host 'x1,n1,n2,x2,n3' -v </dev/null
finds 'start +! +x\[1-2\] +agent exited 255: ssh: Could not resolve hostname x1 \(reported by x1\)' "a node that does not start: its words"
like "$out" 'try by hand: .*agent x1 .*banyand --version' "and what to try"
like "$out" ' n\[1-3\] +its daemon starts and joins' "the others are started in its stead"
like "$out" 'topology +n\[1-3\] +class' "and examined"
nothing_left "nodes that do not start: nothing is left"

# Names.
echo "10.1.0.4 n2" >"$scratch/n2.hosts"
doctor
finds 'name +! +n2 .*resolves to 10\.1\.0\.4, which is another machine' "a name that leads elsewhere"
healthy
echo "10.1.0.3 node-two" >"$scratch/n2.hosts"
n2_is 'hostname node-two'
doctor
like "$status $out" '^0 .*name +- n2 +host name node-two; it cannot resolve' "a name that is not known is told"
healthy

# Directions of the tree: n2 can connect, but not be connected to.
ip -n n2 rule add ipproto tcp sport 7000-7010 blackhole
doctor --port-range 7000-7010
finds 'tree +! +n1 +cannot reach its child n2: 10\.1\.0\.3:7000: Connection timed out' "a way that leads one way only"
like "$out" '> choose a network .*--net.*--port-range' "and the options that mend it"
ip -n n2 rule del ipproto tcp sport 7000-7010 blackhole
bridge apart0 apart1
wire n1 eth1 apart0 10.9.0.1/24
wire n2 eth1 apart1 10.9.0.2/24
doctor
like "$status $out" '^0 .*- n1 +reaches its child n2, but not at every .*10\.9\.0\.2' "a network that leads nowhere"
doctor --net 10.1.0.0/16
unlike "$status $out" '10\.9\.0' "which --net leaves out"
ip -n n1 link del eth1
ip -n n2 link del eth1

# A clock that is wrong, and a name server that does not answer: a library that lies.
cat >"$scratch/lie.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *now)
{
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int rc = real(id, now);
    if (id == CLOCK_REALTIME && getenv("LIE_SECONDS") != NULL)
        now->tv_sec += atoi(getenv("LIE_SECONDS"));
    return rc;
}
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **found)
{
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
        dlsym(RTLD_NEXT, "getaddrinfo");
    if (getenv("LIE_HANG") != NULL)
        sleep(100);
    return real(node, service, hints, found);
}
C
if [ -z "${BANYAN_SANITIZERS:-}" ] &&
    ${CC:-cc} -shared -fPIC -o "$scratch/lie.so" "$scratch/lie.c" -ldl 2>/dev/null; then
    n2_is "export LD_PRELOAD=$scratch/lie.so LIE_SECONDS=-90"
    doctor
    finds 'clock +! +n2 +90 s behind this machine.s clock' "a clock that is wrong"
    unlike "$out" 'clock.*n3.*(behind|ahead)' "but not that of the node below it"
    n2_is "export LD_PRELOAD=$scratch/lie.so LIE_HANG=1"
    doctor
    finds 'name +! +n2 +this check did not finish' "a check that hangs"
    like "$out" 'limits +(\(here\),)?n\[1-3\]' "what was found before it is told"
    nothing_left "a check that hangs: nothing is left"
else
    skip "no library can be put in front of the daemon"
fi
healthy

# Versions of banyan and libpmix.
version=$("$banyan" version)
version=${version#banyan }
LC_ALL=C sed "s/$version/${version//[0-9]/9}/g" "$BANYAN_DAEMON" >"$scratch/other"
chmod +x "$scratch/other"
if [ "$("$scratch/other" --version 2>/dev/null)" != "$("$BANYAN_DAEMON" --version)" ]; then
    n2_is "mount --bind $scratch/other $BANYAN_DAEMON"
    doctor
    finds "banyan +! +n2 +banyand ${version//[0-9]/9} .*the root is banyan $version" "another version of banyan"
else
    skip "no other version can be made"
fi
n2_is "export BANYAN_PKGLIBDIR=/nowhere"
doctor
finds 'pmix +! +n2 +cannot open the PMIx host: /nowhere' "no libpmix"

# The program.
mkdir "$scratch/lib"
echo 'int answer(void) { return 42; }' >"$scratch/answer.c"
echo 'int answer(void); int main(void) { return answer() - 42; }' >"$scratch/ask.c"
${CC:-cc} -shared -fPIC -o "$scratch/lib/libanswer.so" "$scratch/answer.c"
${CC:-cc} -o "$scratch/ask" "$scratch/ask.c" -L"$scratch/lib" -lanswer -Wl,-rpath,"$scratch/lib"
healthy
doctor "$scratch/ask"
like "$status $out" "^0 .*program +n\\[1-3\\] +$scratch/ask: all shared libraries found" "a program with its libraries"
n2_is "mount -t tmpfs none $scratch/lib"
doctor "$scratch/ask"
finds "program +! +n2 +$scratch/ask: missing shared libraries: libanswer.so" "a library that is missing"
n2_is "mount -t tmpfs none $scratch/lib"
mkdir "$scratch/elsewhere"
cp "$scratch/lib/libanswer.so" "$scratch/elsewhere"
doctor -x LD_LIBRARY_PATH="$scratch/elsewhere" "$scratch/ask"
is $status 0 "what mends it"
healthy
doctor no-such-program
finds 'program +! +n\[1-3\] +no-such-program does not exist' "a program that is missing"
doctor "$agent"
like "$status $out" '^0 .*program.*needs no shared libraries' "a script"

# Limits and space.
n2_is 'ulimit -n 200' 'ulimit -u 20'
doctor
finds 'limits +! +n2 +open files: at most 200' "a limit of open files"
like "$out" 'n2 +processes and threads: at most 20' "a limit of processes"
n2_is "mount -t tmpfs -o size=4m none $TMPDIR" 'mount -t tmpfs -o size=2m none /dev/shm'
doctor
finds "space +! +n2 +TMPDIR $TMPDIR: [34] MiB are free" "a TMPDIR that is full"
like "$out" 'n2 +shared memory /dev/shm: [12] MiB are free' "a /dev/shm that is full"

# Machines that differ are classes.
n2_is 'export HWLOC_SYNTHETIC="package:2 core:4 pu:2"'
doctor
like "$out" 'n2 +class [0-9a-f]{8}: 2 packages, .* 8 cores, 16 threads' "another machine is another class"
like "$out" 'n\[1,3\] +class' "the others are one"
healthy

# Ports: on n2 all of the range are taken.
rm -f "$scratch/release"
at n2 timeout 300 "$banyan" run --ssh-agent "$agent" --tmpdir "$TMPDIR" --host n2 \
    --port-range 7500-7501 sh -c "echo up; until [ -e $scratch/release ]; do sleep 0.05; done" \
    >"$scratch/held.out" 2>/dev/null </dev/null &
held=$!
until_true 30 grep -q up "$scratch/held.out"
doctor --port-range 7500-7501
finds 'start +! +n2 .*no free port in 7500-7501' "ports that are taken"
touch "$scratch/release"
wait $held

# A daemon that dies while its node is examined.
n2_is "export LD_PRELOAD=$scratch/lie.so LIE_HANG=1" "echo \$\$ >$scratch/n2.pid"
if [ -e "$scratch/lie.so" ]; then
    (
        # Once the process that examines n2 is there.
        until_true 60 eval '[ -s "$scratch/n2.pid" ]'
        until_true 60 eval 'grep -lsz "^LIE_HANG=1" $(pgrep -f -- "--examine" | sed "s,.*,/proc/&/environ,") | grep -q .'
        kill -KILL "$(cat "$scratch/n2.pid")"
    ) &
    doctor
    wait
    like "$status $out" '^1 .*start +! +n2 ' "a daemon that dies meanwhile is told"
    like "$out" 'topology +n\[1,3\] +class' "the others are examined"
    nothing_left "a daemon that dies: nothing is left"
else
    skip "no library can be put in front of the daemon"
fi
healthy

# Leftovers: of an instance that lives, none; of a dead one, all, and the command removes them.
rm -f "$scratch/release"
at front timeout 300 "$banyan" run --ssh-agent "$agent" --tmpdir "$TMPDIR" --host n1 \
    sh -c "echo up; until [ -e $scratch/release ]; do sleep 0.05; done" >"$scratch/held.out" \
    2>/dev/null </dev/null &
held=$!
until_true 30 grep -q up "$scratch/held.out"
doctor
like "$status $out" '^0 .*leftovers +\(here\),n\[1-3\] +none' "an instance that lives is no leftover"
touch "$scratch/release"
wait $held
dead=0123456789abcdef
mkdir -p "$TMPDIR/banyan-$(id -u)/$dead.3" "/dev/shm/banyan-$dead.3"
touch -d "1 hour ago" "$TMPDIR/banyan-$(id -u)/$dead.3" "/dev/shm/banyan-$dead.3" # nobody is about to hold them
BANYAN_HELPER=1.1 BANYAN_SESSION=$dead sleep 300 &
disown
cgroup=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)/banyan-$(stat -Lc %i /proc/self/ns/pid)-1.1
mkdir "$cgroup" 2>/dev/null || cgroup=
doctor
finds "leftovers +! +\\(here\\),n\\[1-3\\] +left by dead session $dead: 2 directories, 1 process" "leftovers of a dead instance"
if [ -n "$cgroup" ]; then
    finds "left by dead sessions: 1 cgroup" "its cgroup"
else
    skip "no cgroups of version 2"
fi
like "$out" "-> run there: banyan clean --tmpdir $TMPDIR"$'\n' "and what removes them"
run "$banyan" clean --tmpdir "$TMPDIR"
like "$status $out" "^0 removed of session $dead: 2 directories, 1 process" "which does"
doctor
like "$status $out" '^0 .*leftovers +\(here\),n\[1-3\] +none' "nothing is left then"

# Virtual nodes: no name service is asked for them.
new_mark
run env BT_MARK="$mark" timeout 300 "$banyan" doctor -v --virtual-nodes 6 --radix 2 --tmpdir "$TMPDIR" sh
like "$status $out" '^0 .*name +v\[1-6\] +is a virtual node' "virtual nodes"
nothing_left "virtual nodes: nothing is left"
run timeout 300 "$banyan" doctor --virtual-nodes 2 --tmpdir "$TMPDIR" sh
like "$status $out" '^0 (.*[^ ]  .*)?No problems found on 2 nodes' "without -v it says so"
unlike "$out" 'agrees with|listens on|shared libraries' "and no facts"
is "$err" "" "nothing is printed beside the table"

# The end.
new_mark
printf '#!/bin/sh\nexec sleep 60\n' >"$scratch/slow"
chmod +x "$scratch/slow"
run env BT_MARK="$mark" nsenter --net=/run/netns/front timeout --preserve-status -s INT 1 "$banyan" \
    doctor --ssh-agent "$scratch/slow" --host 'n[1-3]'
is "$status $out$err" "130 banyan: interrupted" "interrupted: one line"
nothing_left "interrupted: nothing is left"
run "$banyan" doctor --np 3
like "$status $err" '^125 banyan: .*--np' "an option that it does not have"
run "$banyan" doctor --help
like "$status $out" '^0 Usage: banyan doctor .*--port-range' "its help"
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Addresses, over networks that the script makes: several of which some lead nowhere, subnets, ports,
# names, IPv6, other instances.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/net_lib.sh"
. "$srcdir/test/support/leftovers.sh"

# from NODE OPTION...: `banyan run` there.
from() {
    local node=$1
    shift
    new_mark
    run at "$node" timeout 300 "$banyan" run --ssh-agent "$agent" --tmpdir "$TMPDIR" \
        -x BT_MARK="$mark" --start-timeout 30 "$@" </dev/null
}

# works NAME NODE OPTION...: a rank on each node says where it is.
works() {
    local name=$1
    shift
    from "$@" --per-node 1 sh -c 'echo $BANYAN_NODE'
    is "$status $(sort <<<"$out" | tr '\n' ' ')$err" "0 n1 n2 n3 " "$name"
}

# hold NODE OPTION...: an instance whose ranks stay until `release`; rank 0 says "up".
hold() {
    local node=$1
    shift
    rm -f "$scratch/release"
    : >"$scratch/held.out"
    at "$node" timeout 300 "$banyan" run --ssh-agent "$agent" --tmpdir "$TMPDIR" "$@" --per-node 1 \
        sh -c 'echo up; until [ -e '"$scratch/release"' ]; do sleep 0.05; done' \
        >"$scratch/held.out" 2>"$scratch/held.err" </dev/null &
    held=$!
    until_true 30 grep -q up "$scratch/held.out" || diag "not held: $(cat "$scratch/held.err")"
}

# release NAME: it ends, and has not been harmed.
release() {
    touch "$scratch/release"
    wait $held
    is "$? $(cat "$scratch/held.err")" "0 " "$1"
}

# Two networks each: eth0 comes first and leads nowhere (a bridge per node), eth1 does.
bridge good nowhere0 nowhere1 nowhere2 nowhere3
node front n1 n2 n3
number=0
for name in front n1 n2 n3; do
    wire $name eth0 nowhere$number 10.2.0.$((number + 1))/24
    wire $name eth1 good 10.1.0.$((number + 1))/24
    number=$((number + 1))
done

works "one network of two leads nowhere" front --host 'n[1-3]'
works "the same in a tree" front --host 'n[1-3]' --radix 2
nothing_left "nothing is left of them"
works "--net by network" front --host 'n[1-3]' --net 10.1.0.0/16
works "--net by interface" front --host 'n[1-3]' --net eth7,eth1
from front --host 'n[1-2]' --net 10.2.0.0/24 --start-timeout 8 --per-node 1 true
is $status 125 "--net that leads nowhere: exit status 125"
like "$err" 'cannot start daemons on n\[1-2\] \(2 nodes\): no answer within 8 s.*cannot reach its parent in the tree: 10\.2\.0\.1:[0-9]+: .*--net' \
    "--net that leads nowhere: who, where and what to do"
nothing_left "--net that leads nowhere: nothing is left"
from front --host 'n[1-3]' --net 10.1.0.4/31,10.1.0.2 --per-node 1 true
like "$status $err" '^125 .*--net 10\.1\.0\.4/31,10\.1\.0\.2 matches no address of this machine; it has: .*eth1 10\.1\.0\.1' \
    "--net that fits nothing here: what there is"
from front --host 'n[1-3]' --net eth1,,eth2 true
like "$status $err" '^125 banyan: --net eth1,,eth2: item 2 is neither' "--net that is malformed"

# What the libraries of a program are told.
from front --host n1 -n 1 --net 10.1.0.0/24,eth0 env
like "$out" $'(^|\n)OMPI_MCA_btl_tcp_if_include=eth1,eth0(\n|$)' "Open MPI is told of --net"
like "$out" $'(^|\n)OMPI_MCA_oob_tcp_if_include=eth1,eth0(\n|$)' "also for its own channel"
like "$out" $'(^|\n)UCX_NET_DEVICES=eth1,eth0(\n|$)' "UCX is told"
like "$out" $'(^|\n)FI_TCP_IFACE=eth1(\n|$)' "libfabric is told"
from front --host n1 -n 1 --net eth1 -x UCX_NET_DEVICES=mine env
like "$out" $'(^|\n)UCX_NET_DEVICES=mine(\n|$)' "but the user wins"
from front --host n1 -n 1 env
unlike "$out" 'if_include|NET_DEVICES|FI_TCP' "without --net they choose themselves"

if [ -n "${MPICC_OPENMPI:-}" ] && [ "$MPICC_OPENMPI" != no ]; then
    "$MPICC_OPENMPI" -o "$scratch/hello" "$srcdir/test/tool/mpi/hello.c"
    from front --host 'n[1-2]' --per-node 1 --net eth1 -x OMPI_MCA_btl=self,tcp -x OMPI_MCA_pml=ob1 \
        "$scratch/hello"
    is $status 0 "Open MPI speaks over --net where its own choice leads nowhere"
    diag "$err"
else
    skip "no Open MPI"
fi

# A port that is blocked: the answers from it are thrown away.
ip -n front rule add ipproto tcp sport 6000-6010 blackhole
from front --host 'n[1-2]' --net eth1 --port-range 6000-6010 --start-timeout 8 --per-node 1 true
like "$status $err" '^125 .*n\[1-2\].*10\.1\.0\.1:6000: .*--port-range' "a blocked port is named"
works "another range of ports" front --host 'n[1-3]' --port-range 6020-6030
nothing_left "ports: nothing is left"

# Daemons that join from their own networks, and one that has no way to the root.
node island
at front "$banyan" run --starter join --join-file "$scratch/tokens" --timeout 240 --host 'n[1-2]' \
    --radix 2 --tmpdir "$TMPDIR" --per-node 1 sh -c 'echo "$BANYAN_NODE"' >"$scratch/out" \
    2>"$scratch/err" </dev/null &
joined=($!)
until_true 20 [ -e "$scratch/tokens" ]
run at island "$BANYAN_DAEMON" --join "$scratch/tokens" --node n1
like "$status $err" '^125 banyand: cannot join session [0-9a-f]*: .*10\.1\.0\.1:[0-9]+: Network is unreachable' \
    "who has no way to the root says so"
for name in n1 n2; do
    at $name "$BANYAN_DAEMON" --join "$scratch/tokens" --node $name </dev/null &
    joined+=($!)
done
wait "${joined[@]}"
is "$? $(sort "$scratch/out" | xargs)" "0 n1 n2" "nodes of other networks join"
nothing_left "join: nothing is left"

# Names lead elsewhere, differently on each side: after the start nobody asks for them.
echo "10.1.0.3 n1 n3" >"$scratch/n2.hosts"
echo "10.2.0.9 front n2 n3" >"$scratch/n1.hosts"
echo "127.0.0.1 n1 n2 n3 front" >"$scratch/n3.hosts"
works "names that resolve wrongly" front --host 'n[1-3]' --radix 2
rm "$scratch"/n[1-3].hosts

# The same user, hosts and ports, twice.
hold front --host 'n[1-2]' --net eth1 --port-range 7000-7001
is "$(at front ss -Hltn | awk '{ print $4 }' | sort | tr '\n' ' ')" "10.1.0.1:7000 " \
    "an instance listens on --net only"
works "a second instance of the same user on the same ports" front --host 'n[1-3]' \
    --port-range 7000-7001
from front --host 'n[1-3]' --net eth1 --port-range 7000 true
like "$status $err" '^125 .*no free port in 7000-7000' "a range that is used up: its own words"
ok "in one line" [ "$(wc -l <<<"$err")" = 1 ]
release "the first is unharmed"
hold front --host 'n[1-2]' --net eth1
ports=$(for node in front n1 n2; do
    at $node ss -Hltn | grep -o '10\.1\.0\.[0-9]*:[0-9]*' | cut -d: -f2
done)
is "$(wc -l <<<"$ports") $(sort -u <<<"$ports" | wc -l)" "3 1" "one port serves the whole instance"
release "which ends well"
from front --host n1 --port-range 7001-7000 true
like "$status $err" '^125 .*--port-range.*7001-7000' "a range that is none"

# At one of the parent's addresses another instance answers: that of the node itself.
ip -n front addr add 172.30.0.1/24 dev eth0
ip -n n1 addr add 172.30.0.1/24 dev eth0
hold n1 --host n1 --net 172.30.0.1 --port-range 7100-7101
from front --host n1 --net 172.30.0.1,eth1 --port-range 7100-7102 -n 1 sh -c 'echo $BANYAN_NODE'
is "$status $out $err" "0 n1 " "who answers for another instance is passed over"
from front --host n1 --net 172.30.0.1 --port-range 7100-7102 --start-timeout 8 -n 1 true
like "$status $err" '^125 .*172\.30\.0\.1:7100: .*(another|does not know) ' \
    "or, if there is no other address, named"
release "the other instance is unharmed"

# Bridges of containers are the same everywhere: left alone.
ip -n front link add docker0 type bridge
ip -n front addr add 172.17.0.1/16 dev docker0
ip -n front link set docker0 up
hold front --host n1
unlike "$(at front ss -Hltn)" '172\.17\.0\.1' "nobody listens on docker0"
like "$(at front ss -Hltn)" '10\.1\.0\.1' "but on the others"
release "without docker0"

# Subnets behind a router.
node far router
bridge other
wire router lan0 good 10.1.0.254/24
wire router lan1 other 10.3.0.254/24
ip netns exec router sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
wire far eth0 other 10.3.0.1/24
ip -n far route add default via 10.3.0.254
for name in front n1; do ip -n $name route add 10.3.0.0/24 via 10.1.0.254; done
from front --host n1,far --net 10.1.0.0/24,10.3.0.0/24 --radix 2 --per-node 1 sh -c 'echo $BANYAN_NODE'
is "$status $(sort <<<"$out" | tr '\n' ' ')$err" "0 far n1 " "different subnets"

# IPv6 only.
bridge six
node front6 m1 m2 m3
number=0
for name in front6 m1 m2 m3; do
    number=$((number + 1))
    wire $name eth0 six fd00:6::$number/64
done
from front6 --host 'm[1-3]' --radix 2 --per-node 1 sh -c 'echo $BANYAN_NODE'
is "$status $(sort <<<"$out" | tr '\n' ' ')$err" "0 m1 m2 m3 " "IPv6 only"
from front6 --host 'm[1-3]' --net fd00:6::/64 --port-range 7000-7003 --per-node 1 true
is "$status $err" "0 " "IPv6 with --net and --port-range"
nothing_left "nothing is left at the end"
done_testing

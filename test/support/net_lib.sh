# SPDX-License-Identifier: BSD-3-Clause
#
# A network of name spaces for scripts that have read test/support/lib.sh: everything is in a network and a
# mount name space of the script's own and ends with it. A node is a network name space of its name;
# bridges are in the script's. $agent is called as ssh is and enters the node.

if [ -z "${BT_NETWORK:-}" ]; then
    PATH=$PATH:/sbin:/usr/sbin
    for tool in ip ss nsenter unshare; do
        command -v $tool >/dev/null ||
            skip_all "$tool is not installed"
    done
    unshare -mnu sh -c 'mount -t tmpfs none /run && ip link add try0 type veth peer name try1' \
        >/dev/null 2>&1 || skip_all "network name spaces need root (and veth in the kernel)"
    rm -rf "$scratch"
    export BT_NETWORK=1 BT_PRIVATE_SHM=1
    exec unshare -mnu sh -c 'mount -t tmpfs none /run && mount -t tmpfs none /dev/shm; exec "$0" "$@"' \
        "$0" "$@"
fi
export PATH=$PATH:/sbin:/usr/sbin
ip link set lo up
mkdir -p /run/netns

# bridge NAME...
bridge() {
    local name
    for name in "$@"; do
        ip link add "$name" type bridge && ip link set "$name" up
    done
}

# node NAME...: with loopback only.
node() {
    local name
    for name in "$@"; do
        ip netns add "$name" && ip -n "$name" link set lo up
    done
}

# wire NODE INTERFACE BRIDGE ADDRESS/BITS...
wires=0
wire() {
    local node=$1 interface=$2 bridge=$3 address
    shift 3
    wires=$((wires + 1))
    ip link add "w$wires" type veth peer name "$interface" netns "$node"
    ip link set "w$wires" master "$bridge" up
    ip -n "$node" link set "$interface" up
    for address in "$@"; do
        case $address in
        *:*) ip -n "$node" addr add "$address" dev "$interface" nodad ;;
        *) ip -n "$node" addr add "$address" dev "$interface" ;;
        esac
    done
}

# at NODE COMMAND...: there, as `ssh NODE` would; also a script, $agent. A file $scratch/NODE.hosts is
# its /etc/hosts, a file $scratch/NODE.sh is read first.
agent=$scratch/agent
cat >"$agent" <<AGENT
#!/bin/bash
node=\$1
shift
[ -e "/run/netns/\$node" ] || { echo "ssh: Could not resolve hostname \$node" >&2; exit 255; }
export NODE_SETUP=$scratch/\$node
exec nsenter --net=/run/netns/\$node unshare -mu bash -c 'hostname "\${NODE_SETUP##*/}"
if [ -e "\$NODE_SETUP.hosts" ]; then mount --bind "\$NODE_SETUP.hosts" /etc/hosts; fi
if [ -e "\$NODE_SETUP.sh" ]; then . "\$NODE_SETUP.sh"; fi
eval "exec \$*"' bash "\$@"
AGENT
chmod +x "$agent"

at() {
    local node=$1
    shift
    nsenter --net=/run/netns/"$node" "$@"
}

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `banyan fabric --nics`: the NICs of nodes, as hwloc shows those of this machine and of one in test/data, and as a provider of
# libfabric that is built here describes them (test/tool/ofi_nics.c).
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"
unset SLURM_CONF HWLOC_XMLFILE HWLOC_SYNTHETIC HWLOC_THISSYSTEM

command -v python3 >/dev/null || skip_all "python3 reads the descriptions"

# nics FILE FIELD...: a line for each NIC: its name and these fields, of itself or its device.
nics() {
    python3 -c 'import json, sys
for nic in json.load(open(sys.argv[1]))["nics"]:
    of = {**nic.get("device", {}), **nic}
    print(nic["name"], *[of.get(field, "-") for field in sys.argv[2:]])' "$@"
}

# described NAME OPTION... -- OPTION OF RUN...: the description is in $scratch/nics, and banyan reads it again.
described() {
    local name=$1
    shift
    run "$banyan" fabric --nics "$@" </dev/null
    echo "$out" >"$scratch/nics"
    is "$status-$err" "0-" "$name"
    run "$banyan" fabric --topology "$scratch/nics" --matrix
    is "$status-$(($(wc -l <<<"$out") - 1))" "0-$(nics "$scratch/nics" | wc -l)" "$name: which banyan reads"
}

# ---- Interfaces of PCI devices, without a provider of libfabric ----

plain=(--timeout 60 -x FI_PROVIDER=banyan_none)
cards=(-x "HWLOC_XMLFILE=$srcdir/test/data/nics.xml")
xml=("${plain[@]}" "${cards[@]}")

described "a machine of hwloc's" -- --virtual-nodes 2 "${xml[@]}"
is "$(nics "$scratch/nics" node switch up pci numa vendor address plane)" \
    "v1:eth0 v1 network 1 0000:00:03.0 0 0x1af4 02:fc:00:00:00:01 -
v1:eth1 v1 network 1 0001:01:00.1 - 0x8086 - -
v1:ib0 v1 network 1 0000:c1:00.0 1 0x15b3 00:00:10:29 -
v1:qib0 v1 network 1 0000:21:00.0 0 0x1077 0011:7500:0000:0001 -
v2:eth0 v2 network 1 0000:00:03.0 0 0x1af4 02:fc:00:00:00:01 -
v2:eth1 v2 network 1 0001:01:00.1 - 0x8086 - -
v2:ib0 v2 network 1 0000:c1:00.0 1 0x15b3 00:00:10:29 -
v2:qib0 v2 network 1 0000:21:00.0 0 0x1077 0011:7500:0000:0001 -" "each card once, with what is known of it"
cp "$scratch/nics" "$scratch/before"
described "again" -- --virtual-nodes 2 "${xml[@]}"
ok "equal nodes give an equal description" cmp -s "$scratch/before" "$scratch/nics"

mkdir "$scratch/plugins"
echo "no object" >"$scratch/plugins/fabric_ofi.so"
run "$banyan" fabric --nics -- --virtual-nodes 1 "${xml[@]}" -x "BANYAN_PKGLIBDIR=$scratch/plugins" </dev/null
echo "$out" >"$scratch/nics"
is "$status-$(nics "$scratch/nics" | wc -l)" "0-4" "without libfabric: hwloc's"
like "$err" "^banyan: v1: cannot open the libfabric plugin: .*; the NICs are those that hwloc shows" "with a warning"
refuses 125 "cannot read the NICs of v1: cannot open the libfabric plugin: " "unless hwloc shows none" \
    fabric --nics -- --virtual-nodes 1 "${plain[@]}" -x HWLOC_SYNTHETIC=pu:2 -x "BANYAN_PKGLIBDIR=$scratch/plugins"
refuses 125 "v\[1-3\]: no NIC that is up: .*do not count\); write a description yourself" "no node has a NIC" \
    fabric --nics -- --virtual-nodes 3 "${plain[@]}" -x HWLOC_SYNTHETIC=pu:2
refuses 125 "1 of 2 nodes have answered: process 1 has said nothing; do not give .* --output-from" "a node that is not heard" \
    fabric --nics -- --virtual-nodes 2 "${xml[@]}" --output-from 0
echo "no XML" >"$scratch/broken.xml"
refuses 125 "cannot read the NICs of v\[1-2\]: hwloc cannot read the devices: " "nodes whose hwloc fails" \
    fabric --nics -- --virtual-nodes 2 "${plain[@]}" -x "HWLOC_XMLFILE=$scratch/broken.xml"

# An interface of this machine that is up and has a PCI device, which hwloc shows: one of USB has none itself.
shown=$("$banyan" fabric --nics -- --virtual-nodes 1 "${plain[@]}" </dev/null 2>/dev/null)
for interface in /sys/class/net/*; do
    path=$(readlink -f "$interface")
    [ "$(cat "$interface/operstate")" = up ] && [[ $path == */pci*/net/* && $path != */usb* ]] &&
        [[ $shown == *"\"v1:${interface##*/}\""* ]] && break
    interface=
done
if [ -z "$interface" ]; then
    skip "no interface of this machine is up and has a PCI device that hwloc shows"
else
    described "this machine" -- --virtual-nodes 3 "${plain[@]}"
    name=${interface##*/}
    is "$(nics "$scratch/nics" address mtu state | grep "^v3:$name ")" \
        "v3:$name $(cat "$interface/address") $(cat "$interface/mtu") up" "its $name"
    unlike "$(nics "$scratch/nics")" ':lo$' "not its loopback"
fi
nothing_left_within 30 none "nothing is left"

# ---- What libfabric describes ----

ofi=(--timeout 60 -x "FI_PROVIDER_PATH=$scratch/providers" -x FI_PROVIDER=banyan_nics)

# The provider; prints why there is none. The errors of the compiler are in a file.
build_provider() {
    [ -e "$BANYAN_PKGLIBDIR/fabric_ofi.so" ] || { echo "fabric_ofi.so is not built"; return 1; }
    mkdir "$scratch/providers"
    # shellcheck disable=SC2046
    ${CC:-cc} -shared -fPIC -I"$top_builddir" $(pkg-config --cflags libfabric) -o "$scratch/providers/libbanyan_nics-fi.so" \
        "$srcdir/test/tool/ofi_nics.c" $(pkg-config --libs libfabric) >"$scratch/compiled" 2>&1 ||
        { echo "no provider of libfabric can be built here"; return 1; }
    "$banyan" fabric --nics -- --virtual-nodes 1 "${ofi[@]}" </dev/null >"$scratch/asked" 2>&1
    ! grep -Eq "incompatible with sanitizer runtime|ASan runtime does not come first" "$scratch/asked" ||
        { echo "the sanitizers do not let libfabric open it"; return 1; }
}

with_libfabric() {
    described "two NICs of libfabric's" -- --virtual-nodes 2 "${ofi[@]}"
    is "$(nics "$scratch/nics" up down speed mtu state address driver type pci plane)" \
        "v1:mlx5_0 1 1 200000000000 4096 up fe80::v1:0 test_core InfiniBand 0000:c1:00.0 -
v1:mlx5_1 2 2 100000000000 4096 up fe80::v1:1 test_core InfiniBand 0000:21:00.0 -
v2:mlx5_0 1 1 200000000000 4096 up fe80::v2:0 test_core InfiniBand 0000:c1:00.0 -
v2:mlx5_1 2 2 100000000000 4096 up fe80::v2:1 test_core InfiniBand 0000:21:00.0 -" \
        "each once, the slower at twice the cost, not one that is down, and no interface"
    is "$("$banyan" fabric --topology "$scratch/nics" --matrix)" "from,v1:mlx5_0,v1:mlx5_1,v2:mlx5_0,v2:mlx5_1
v1:mlx5_0,0,1,2,3
v1:mlx5_1,1,0,3,4
v2:mlx5_0,2,3,0,1
v2:mlx5_1,3,4,1,0" "what paths cost"
    is "$("$banyan" fabric --topology /dev/stdin --from v1:mlx5_1 --to v2 <"$scratch/nics")" "v1:mlx5_1 -> v2:mlx5_0: 3
v2:mlx5_0 -> v1:mlx5_1: 3" "also from standard input"
    described "with hwloc's cards" -- --virtual-nodes 1 "${ofi[@]}" "${cards[@]}"
    is "$(nics "$scratch/nics" numa vendor address)" "v1:mlx5_0 1 0x15b3 fe80::v1:0
v1:mlx5_1 0 0x15b3 fe80::v1:1" "the NUMA nodes are those of the same PCI addresses"
    described "several fabrics" -- --virtual-nodes 1 "${ofi[@]}" -x OFI_NICS_PLANES=1
    is "$(nics "$scratch/nics" plane)" "v1:mlx5_0 IB-0xfe01
v1:mlx5_1 IB-0xfe02" "are planes"
    refuses 125 "v\[2,4\]: no NIC that is up: .*; exclude nodes by -- --host \^v\[2,4\], " "some nodes without a NIC" fabric --nics -- --virtual-nodes 4 \
        "${ofi[@]}" -x "OFI_NICS_NONE= v2 v4 " -x HWLOC_SYNTHETIC=pu:2
    described "switches of a description" --topology <(printf 'SwitchName=a Nodes=v[1-2]\nSwitchName=b Nodes=v[3-4]\nSwitchName=c Switches=a,b\n') \
        -- --virtual-nodes 3 "${ofi[@]}"
    is "$(nics "$scratch/nics" switch up)" "v1:mlx5_0 a 1
v1:mlx5_1 a 2
v2:mlx5_0 a 1
v2:mlx5_1 a 2
v3:mlx5_0 b 1
v3:mlx5_1 b 2" "each NIC is below that of its node"
    like "$("$banyan" fabric --topology "$scratch/nics")" "6 NICs on 3 nodes, 2 levels of switches" "with the switches above"
    refuses 125 "option --topology: it does not have v\[3-4\]; add them" "nodes that it does not have" \
        fabric --nics --topology <(echo 'SwitchName=a Nodes=v[1-2]') -- --virtual-nodes 4 "${ofi[@]}"
    nothing_left_within 30 none "nothing is left"
}
reason=$(build_provider)
if [ -z "$reason" ]; then
    with_libfabric
else
    [ ! -s "$scratch/compiled" ] || diag "$(cat "$scratch/compiled")"
    skip "$reason"
fi

# ---- What PMIx clients see ----

program=$top_builddir/test/tool/pmix_fabric
known=" vndr=0x15b3 vendid=0x101b driver=mlx5_core addr=fe80::1 speed=200000000000 mtu=4096 state=UP type=InfiniBand"
known="$known btyp=PCI pcidevid=0000:c1:00:00"
with_pmix() {
    cat >"$scratch/pmix" <<'END'
{"switches": [{"name": "s"}],
 "nics": [{"name": "v1:x", "node": "v1", "switch": "s", "device": {"driver": "mlx5_core", "vendor": "0x15b3",
           "device": "0x101b", "address": "fe80::1", "speed": 200000000000, "mtu": 4096, "state": "up",
           "type": "InfiniBand", "pci": "0000:c1:00.0", "numa": 1}},
          {"name": "v2:x", "node": "v2", "switch": "s", "device": {"state": "down"}},
          {"name": "v2:y", "node": "v2", "switch": "s"}]}
END
    run_client --virtual-nodes 2 -n 2 --per-node 1 --fabric-topology "$scratch/pmix" -- r1:ask:pmix.fab.devs \
        "r1:ask:pmix.fabdev;pmix.hname=v1" fence
    is "$status:$out" "0:pmix.fab.devs: 3
pmix.fabdev: v1:x v1:x 0 v1 s  at:0.0$known
pmix.fabdev: v2:x v2:x 1 v2 s  at:0.1 state=DOWN
pmix.fabdev: v2:y v2:y 2 v2 s  at:0.2
ask: SUCCESS
pmix.fabdev: v1:x v1:x 0 v1 s  at:0.0$known
ask: SUCCESS" "a query of the devices has what the description knows of each"
    is "$err" "" "without a warning"
}

# An instance over the nodes that were asked.
in_instance() {
    local dir
    described "the nodes of an instance" -- --virtual-nodes 2 "${xml[@]}"
    dir=$("$banyan" start --daemonize --virtual-nodes 2 --fabric-topology "$scratch/nics" </dev/null)
    run "$banyan" run --instance "$dir" --timeout 60 --mpi pmix -n 1 "$program" \
        "ask:pmix.fabdev;pmix.fabdev.nm=v2:ib0" </dev/null
    is "$status:$out" "0:pmix.fabdev: v2:ib0 v2:ib0 6 v2 network  at:0.6 vndr=0x15b3 vendid=0x101b addr=00:00:10:29 btyp=PCI pcidevid=0000:c1:00:00
ask: SUCCESS" "what --nics has described is the fabric of an instance"
    run "$banyan" fabric --topology "$dir/fabric.json"
    is "$status-$(head -n 1 <<<"$out")" "0-8 NICs on 2 nodes, 1 level of switches" "whose file has it"
    ok "with all that is known" cmp -s "$scratch/nics" "$dir/fabric.json"
    run "$banyan" fabric --nics -- --instance "$dir" "${xml[@]}"
    is "$status-$out" "0-$(cat "$scratch/nics")" "its nodes are asked like others"
    run "$banyan" stop --instance "$dir"
    nothing_left_within 30 none "nothing is left"
}
if [ -x "$program" ]; then
    with_pmix
    in_instance
else
    skip "pmix_fabric is not built"
fi

# ---- Wrong use ----

for other in --measure "--fabric tcp" "--size 8" "--repeat 1" "--from a" "--to b" --matrix "--nodes n1" --json; do
    refuses 125 "options --nics and ${other%% *} cannot be used together" "with $other" fabric --nics $other
done
refuses 125 "options --nics and --instance cannot be used together: .* after --nics --" "with --instance" \
    fabric --nics --instance "$scratch/none"
refuses 125 "'true' is no option of banyan run" "a program" fabric --nics -- true
refuses 125 "unknown option '--bogus'" "an option that banyan run does not have" fabric --nics -- --bogus
refuses 125 "cannot read $scratch/none: No such file" "a description that does not exist" \
    fabric --nics --topology "$scratch/none" -- --virtual-nodes 1
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# --fabric ofi: the same runs with libfabric beside the links give the same results; a daemon that
# dies is noticed, though its endpoint says nothing; who does not ask for libfabric never opens it.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
stalls_matter=yes
. "$srcdir/test/support/leftovers.sh"

provider='tcp;ofi_rxm'
nodes=64
[ -z "${BANYAN_SANITIZERS:-}" ] || nodes=8

run "$banyan" run --fabric quux true </dev/null
is $status 125 "--fabric quux: refused"
like "$err" "option --fabric: 'quux' is not one of tcp, ofi" "with the words that are known"

# Nothing of banyan's is here to be opened: a start that asks for nothing needs nothing.
mkdir -p "$scratch/empty"
run env BANYAN_PKGLIBDIR="$scratch/empty" "$banyan" run --virtual-nodes 2 -n 2 --timeout 240 true \
    </dev/null
is $status 0 "without --fabric no shared object is opened"

if [ ! -e "${BANYAN_PKGLIBDIR:-}/fabric_ofi.so" ]; then
    skip "libfabric: fabric_ofi.so is not built"
    done_testing
    exit
fi

new_mark
run "$banyan" run --virtual-nodes 3 -n 3 --fabric ofi:none-such -x BT_MARK="$mark" true </dev/null
is $status 125 "a provider that is not there"
like "$err" "libfabric has no reliable datagrams of none-such" "is named"
nothing_left "a provider that is not there"

# same NAME OPTION...: what a run prints over tcp it prints over libfabric.
same() {
    local name=$1 expected
    shift
    run "$banyan" run --timeout 240 --start-timeout 60 "$@" </dev/null
    expected="$status $(sort <<<"$out")"
    new_mark
    run "$banyan" run --timeout 240 --start-timeout 60 --fabric "ofi:$provider" -x BT_MARK="$mark" "$@" \
        </dev/null
    is "$status $(sort <<<"$out")" "$expected" "$name"
    [ "$status" -eq 0 ] || diag "$err"
    nothing_left "$name: nothing is left"
}

# shellcheck disable=SC2016
same "$nodes daemons: the same lines" --virtual-nodes $nodes -n $nodes --per-node 1 \
    sh -c 'echo "$BANYAN_RANK on $BANYAN_NODE"; seq 1 200'
same "standard output of some megabytes" --virtual-nodes 3 -n 3 --per-node 1 -l seq 1 100000

client=$top_builddir/test/tool/pmix_client
if command -v mpicc.openmpi >/dev/null &&
    mpicc.openmpi -O1 -o "$scratch/hello" "$srcdir/test/tool/mpi/hello.c"; then
    same "Open MPI: 16 ranks on 8 nodes" --virtual-nodes 8 -n 16 --per-node 2 --oversubscribe \
        "$scratch/hello"
else
    skip "mpicc.openmpi is not installed"
fi

# Other providers: libfabric's oldest, and where there is an RDMA device, also of soft-RoCE or siw
# (`rdma link add rxe0 type rxe netdev eth0`), verbs.
few=16
[ -z "${BANYAN_SANITIZERS:-}" ] || few=4
# shellcheck disable=SC2016
of_provider() {
    provider=$1
    same "$1: $few daemons" --virtual-nodes $few -n $few --per-node 1 \
        sh -c 'echo "$BANYAN_RANK on $BANYAN_NODE"; seq 1 2000'
    provider='tcp;ofi_rxm'
}
if fi_info -p sockets >/dev/null 2>&1 || ! command -v fi_info >/dev/null; then
    of_provider sockets
else
    skip "sockets: libfabric has none"
fi
if [ -n "$(ls /sys/class/infiniband 2>/dev/null)" ]; then
    of_provider 'verbs;ofi_rxm'
else
    run "$banyan" run --virtual-nodes 2 -n 2 --fabric 'ofi:verbs;ofi_rxm' true </dev/null
    is "$status $(wc -l <<<"$err")" "125 1" "verbs: without a device (/sys/class/infiniband) one line"
    like "$err" 'libfabric has no reliable datagrams of verbs;ofi_rxm' "verbs: which says so"
fi

# A daemon is killed: its link tells.
cat >"$scratch/kill-daemon" <<'SH'
if [ "$BANYAN_RANK" = 2 ]; then
    kill -KILL "$(awk '/^PPid:/ { print $2 }' "/proc/$PPID/status")"
fi
sleep 60
SH
new_mark
started=$SECONDS
run "$banyan" run --virtual-nodes 4 -n 4 --per-node 1 --fabric "ofi:$provider" --timeout 240 \
    --start-timeout 60 -x BT_MARK="$mark" sh "$scratch/kill-daemon" </dev/null
is $status 125 "a daemon is killed: the job ends"
like "$err" "lost node v3" "and names the node"
ok "without waiting for the fabric" [ $((SECONDS - started)) -lt 40 ]
nothing_left "a daemon is killed"
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What has been built runs without being installed: banyan finds banyand and the shared objects beside
# itself, on other nodes too. Nothing in the environment says where they are.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/leftovers.sh"

unset BANYAN_PKGLIBDIR BANYAN_DAEMON
fakessh=$top_builddir/contrib/testbed/fakessh
client=$top_builddir/test/tool/pmix_client
[ -x "$client" ] || skip_all "test/tool/pmix_client is not built"
# A rank that fences once with real libpmix.
cat >"$scratch/rank" <<SH
#!/bin/sh
export TEST_SIZE=\$BANYAN_SIZE TEST_LOCAL_SIZE=\$BANYAN_LOCAL_SIZE
export TEST_RANK=\$BANYAN_RANK TEST_LOCAL_RANK=\$BANYAN_LOCAL_RANK
exec $client fence
SH
chmod +x "$scratch/rank"
fence=(--mpi pmix --timeout 240 --per-node 1 "$scratch/rank")

run "$banyan" run --virtual-nodes 3 "${fence[@]}"
is "$status $err" "0 " "a fence of libpmix on the nodes of one machine"

if [ -x "$fakessh" ]; then
    export FAKESSH_BASE=$scratch/nodes
    mkdir "$FAKESSH_BASE"
    run "$banyan" run --ssh-agent "$fakessh" --net lo --host 'n[1-3]' "${fence[@]}"
    is "$status $err" "0 " "and on nodes reached by ssh"
else
    skip "contrib/testbed/fakessh is not built"
fi

for compiler in "${MPICC_OPENMPI:-no}" "${MPICC_MPICH:-no}"; do
    if ! command -v "$compiler" >/dev/null ||
        ! "$compiler" -O1 -o "$scratch/hello" "$srcdir/test/tool/mpi/hello.c" 2>/dev/null; then
        skip "no MPI compiler $compiler"
        continue
    fi
    run "$banyan" run --virtual-nodes 2 --per-node 1 --timeout 240 "$scratch/hello"
    is "$status" 0 "a program built with ${compiler##*/} runs on two nodes"
    [ "$status" -eq 0 ] || diag "$out $err"
done

# A copy in a directory that others can write to takes nothing from there.
mkdir "$scratch/shared" "$scratch/shared/.libs"
cp "$top_builddir/banyan" "$top_builddir/banyand" "$scratch/shared"
cp "$top_builddir/pmix_host.la" "$scratch/shared"
cp "$top_builddir/.libs/pmix_host.so" "$scratch/shared/.libs"
run "$scratch/shared/banyan" run --virtual-nodes 1 "${fence[@]}"
is "$status" 0 "a copy of the build tree runs"
chmod o+w "$scratch/shared"
run "$scratch/shared/banyan" run --virtual-nodes 1 "${fence[@]}"
installed=$(env -u MAKEFLAGS -u MAKELEVEL make -s -C "$top_builddir" \
    --eval 'show-pkglibdir: ; @echo "$(pkglibdir)"' show-pkglibdir)
if [ -e "$installed/pmix_host.so" ]; then
    skip "banyan is installed here"
else
    like "$status $err" "^[1-9][0-9]* .*cannot open the PMIx host" \
        "but not from where others can write"
fi
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Programs that people run, on virtual nodes: LAMMPS and HPCC of Debian (both Open MPI). The tests of
# run_mpi.sh show that the ranks meet; these show that a whole program gets through and is right.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/leftovers.sh"

if [ -n "${BANYAN_SANITIZERS:-}" ]; then
    skip_all "whole programs are slow under sanitizers"
fi

cd "$scratch" || exit 1

# A crystal of 2,048 atoms that melts: the energy after 40 steps does not depend on who computes.
cat >melt.in <<'LAMMPS'
units           lj
atom_style      atomic
lattice         fcc 0.9
region          cube block 0 8 0 8 0 8
create_box      1 cube
create_atoms    1 box
mass            1 1.0
velocity        all create 2.0 4711 loop geom
pair_style      lj/cut 2.5
pair_coeff      1 1 1.0 1.0
fix             move all nve
thermo          40
run             40
LAMMPS

# energy OUTPUT: total energy after the last step.
energy() {
    awk '$1 == 40 && NF >= 5 { print $5 }' <<<"$1" | tail -n 1
}

if command -v lmp >/dev/null; then
    # Without a launcher Open MPI 5 leaves its own directory behind.
    mkdir alone
    TMPDIR=$PWD/alone run lmp -in melt.in -log none </dev/null
    alone=$(energy "$out")
    new_mark
    run "$banyan" run --virtual-nodes 4 -n 8 --per-node 2 --oversubscribe --timeout 240 \
        -x BT_MARK="$mark" lmp -in melt.in -log none </dev/null
    is "$status $(energy "$out")" "0 $alone" "LAMMPS: 8 ranks on 4 nodes reach the energy of one"
    is "$(grep -c '^Loop time of .* on 8 procs' <<<"$out")" 1 "LAMMPS: one world of 8"
    nothing_left "LAMMPS: nothing is left behind"
else
    skip "LAMMPS is not installed"
fi

example=/usr/share/doc/hpcc/examples/_hpccinf.txt
if command -v hpcc >/dev/null && [ -r $example ]; then
    # Its smallest useful size: a matrix of 200 x 200 over 2 x 2 ranks.
    sed 's/^1000\( *Ns\)/200\1/; s/^1000 /200 /' $example >hpccinf.txt
    new_mark
    run "$banyan" run --virtual-nodes 2 -n 4 --per-node 2 --oversubscribe --timeout 200 \
        -x BT_MARK="$mark" hpcc </dev/null
    is "$status $(grep -cE '^(Success=1|CommWorldProcs=4)$' hpccoutf.txt)" "0 2" \
        "HPCC: 4 ranks on 2 nodes succeed"
    nothing_left "HPCC: nothing is left behind"
else
    skip "HPCC is not installed"
fi

done_testing

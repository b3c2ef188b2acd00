#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `banyan fabric`: fabrics of any size from shapes and files, and what it says of files that are wrong.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"
unset SLURM_CONF

run "$banyan" fabric --topology fat-tree:32x32x100
is "$status-$out$err" "0-102400 NICs on 102400 nodes, 3 levels of switches
LEVEL   SWITCHES  NICS BELOW EACH
    0          1  102400
    1        100  1024
    2       3200  32" "a fabric of 102,400 NICs"
run "$banyan" fabric --topology dragonfly:4x8x16 --from n1 --to n512
is "$status-$out" "0-n1 -> n512: 5
n512 -> n1: 5" "ways across a dragonfly"

mkdir "$scratch/slurm"
cat >"$scratch/slurm/topology.conf" <<'END'
SwitchName=leaf1 Nodes=n[1-2]
SwitchName=leaf2 Nodes=n[3-4]
SwitchName=spine Switches=leaf[1-2]
END
run env SLURM_CONF="$scratch/slurm/slurm.conf" "$banyan" fabric --matrix --nodes 'n[1,4]'
is "$status-$out" "0-from,n1,n4
n1,0,4
n4,4,0" "Slurm's file is found beside its configuration"
if command -v python3 >/dev/null; then
    is "$("$banyan" fabric --topology "$scratch/slurm/topology.conf" --json | python3 -c 'import json, sys
d = json.load(sys.stdin)
print(d["nics"], d["nodes"], [(l["switches"], l["nics_min"], l["nics_max"]) for l in d["levels"]])')" \
        "4 4 [(1, 4, 4), (2, 2, 2)]" "JSON"
else
    skip "no python3 to read JSON"
fi

# wrong REGEX NAME OPTION...
wrong() {
    local regex=$1 name=$2
    shift 2
    run "$banyan" fabric "$@"
    like "$status $out$err" "^125 banyan: $regex" "$name"
    is "$(wc -l <<<"$err")" 1 "$name: one line"
}

echo 'SwitchName=leaf3 Switches=nowhere' >>"$scratch/slurm/topology.conf"
wrong "$scratch/slurm/topology.conf: line 4: switch nowhere is not described" "a switch that is missing" \
    --topology "$scratch/slurm/topology.conf"
wrong 'cannot read .*/none: No such file' "a missing file" --topology "$scratch/none"
wrong 'cannot read .*: Is a directory' "a directory" --topology "$scratch"
wrong "unknown argument 'x'" "an argument" x
wrong 'option --topology: "fat-tree:1000000x5": more than' "a fabric that is too large" --topology fat-tree:1000000x5
run "$banyan" fabric --help
like "$status $out" '^0 Usage: banyan fabric .*--matrix' "its help"
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# PMI-2 by Slurm's client library (libpmi2, test/tool/mpi/pmi2_client.c): values, fences, attributes and
# limits on one node and over four, what happens when a rank aborts or is missing, and nonsense on the
# socket, which harms only the process that says it.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

program=$scratch/pmi2_client
echo '#include <slurm/pmi2.h>
int main(void) { return PMI2_Initialized(); }' | cc -x c -o "$scratch/try" - -lpmi2 2>/dev/null ||
    skip_all "Slurm's libpmi2 (libpmi2-0-dev) is not installed"
cc -O1 -Wall -o "$program" "$srcdir/test/tool/mpi/pmi2_client.c" -lpmi2 || exit 1

one=(-n 4 --oversubscribe)
four=(--virtual-nodes 4 -n 9 --oversubscribe --map-by slot:3)

# content NAME RANKS OPTION... -- ARGUMENT...: every rank is content.
content() {
    local name=$1 ranks=$2 options=()
    shift 2
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    run "$banyan" run --timeout 240 "${options[@]}" "$program" "$@" </dev/null
    is "$status:$(grep -c " of $ranks is content\$" <<<"$out"):$(grep -c wrong <<<"$out")" \
        "0:$ranks:0" "$name"
    [ -z "$err" ] || diag "$err"
    grep wrong <<<"$out" | sed 's/^/# /' >&2
}

content "one node" 4 --mpi pmi2 "${one[@]}" -- exchange 1
content "four nodes" 8 --mpi pmi2 --virtual-nodes 4 --per-node 2 -n 8 --oversubscribe -- exchange 4
content "three nodes with 3, 3 and 1 ranks" 7 --virtual-nodes 3 --per-node 3 -n 7 --oversubscribe \
    -- exchange 3
content "ranks round robin over nodes" 7 --virtual-nodes 3 -n 7 --oversubscribe --map-by node \
    -- exchange 3

# ---- spawn ----

for nodes in "--slots 6 -n 2" "--virtual-nodes 4 --slots 2 --per-node 1 -n 4"; do
    read -ra options <<<"$nodes"
    run "$banyan" run --timeout 240 --oversubscribe "${options[@]}" "$program" spawn 2 </dev/null
    is "$status:$(grep -c "^child [012] of 3: spawned 1, program 0 in /: 'two words;' 'hello; you'\$" <<<"$out"):$(
        grep -c "^child [012] of 3: spawned 1, program 1 in -: 'two words;' 'hello; you'\$" <<<"$out"):$(
        grep -c "is content" <<<"$out")" "0:2:1:${options[*]: -1}" "PMI2_Job_Spawn with $nodes"
    [ $status -eq 0 ] || diag "$out $err"
done

run "$banyan" run --timeout 240 --virtual-nodes 4 --per-node 2 -n 8 "$program" abort 5 </dev/null
is "$status" 1 "PMI2_Abort ends the job"
like "$err" 'rank 5 on v3 .*enough' "with the rank's word"
run "$banyan" run --timeout 240 --virtual-nodes 4 --per-node 2 -n 8 "$program" late 5 </dev/null
ok "a rank that ends without finalize ends the job" test "$status" -ne 0
like "$err" 'rank 5 on v3' "and is named"

# ---- nonsense ----

cat >"$scratch/nonsense.py" <<'PYTHON'
import os, socket, sys, time
words = {
    "line": b"\x1b[31mhello\n",
    "long": b"x" * 10000,
    "message": b"cmd=init pmi_version=2 pmi_subversion=0\n7     cmd=no;",
    "length": b"cmd=init pmi_version=2 pmi_subversion=0\ncmd=fullinit;",
    "late": b"cmd=init pmi_version=1 pmi_subversion=1\ncmd=init pmi_version=1 pmi_subversion=1\n",
}
sock = socket.socket(fileno=int(os.environ["PMI_FD"]))
if os.environ["PMI_RANK"] == "2":
    sock.sendall(words[sys.argv[1]])
    while True:
        time.sleep(1)  # whoever says nonsense does not end by itself
sock.sendall(b"cmd=init pmi_version=1 pmi_subversion=1\ncmd=finalize\n")
file = sock.makefile()
if "finalize_ack" in (file.readline(), file.readline())[1]:
    print("served")
PYTHON
for words in line long message length late; do
    run "$banyan" run --timeout 240 --on-failure continue --virtual-nodes 2 --per-node 2 -n 4 \
        python3 "$scratch/nonsense.py" "$words" </dev/null
    is "$status:$(grep -c served <<<"$out")" "137:3" "nonsense ($words) ends its process, no other"
    like "$err" "rank 2 on v2 is killed: what it has sent is not PMI: PMI-[12]: " \
        "with a line that says why"
    ok "and does nothing to the terminal" test "$err" = "${err//[^[:print:][:space:]]/}"
done

done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Barriers of groups of ranks (PMI 1.2), by a client that speaks the wire itself: on one node and over four, several at
# once by their tags, and with members that are late, have finalized or have died, for whom the others do not hang.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
stalls_matter=yes
. "$srcdir/test/support/run_lib.sh"

cat >"$scratch/client.py" <<'PYTHON'
import os, socket, sys, time

rank, size = int(os.environ["PMI_RANK"]), int(os.environ["PMI_SIZE"])
sock = socket.socket(fileno=int(os.environ["PMI_FD"]))
lines = sock.makefile()
early = {}  # answers to barriers that others than who reads now wait for


def pairs(line):
    return dict(word.split("=", 1) for word in line.split())


def say(line):
    sock.sendall(line.encode() + b"\n")


def answer(command):
    while True:
        line = lines.readline()
        if not line:
            sys.exit(f"rank {rank}: the server has closed")
        got = pairs(line)
        if got["cmd"] == command:
            return got
        early.setdefault(got.get("group", ""), []).append(got)


def ask(line, command):
    say(line)
    return answer(command)


def released(group):
    while not early.get(group):
        got = answer("barrier_out")
        early.setdefault(got.get("group", ""), []).append(got)
    return early[group].pop(0)


def enter(group):
    say(f"cmd=barrier_in group={group}")


def barrier(group):
    enter(group)
    return released(group)


def put(key, value):
    assert ask(f"cmd=put kvsname={space} key={key} value={value}", "put_result")["rc"] == "0"


def get(key):
    return ask(f"cmd=get kvsname={space} key={key}", "get_result").get("value")


def content(what):
    print(f"rank {rank} is content" if what else f"rank {rank} is wrong", flush=True)


def exchange():
    """Even and odd ranks, and the first and last, each with their values."""
    good = version == "2"
    for turn in range(3):
        for group in (range(rank % 2, size, 2), [size - 1, 0]):
            if rank not in group:
                continue
            name = ",".join(map(str, group))
            put(f"{turn}-{rank}-{len(name)}", f"{turn}.{rank}")
            good &= barrier(f"{name}:{turn}" if turn else name)["rc"] == "0"
            for other in group:
                good &= get(f"{turn}-{other}-{len(name)}") == f"{turn}.{other}"
    good &= barrier("NODE")["rc"] == "0" and barrier("WORLD:7")["rc"] == "0"
    for other in range(size):
        good &= get(f"2-{other}-{len(','.join(map(str, range(other % 2, size, 2))))}") is not None
    content(good)


def tags():
    """As threads: eight at once in another order on each rank, beside the barrier of all."""
    every = ",".join(map(str, range(size)))
    say("cmd=barrier_in")
    order = [(i * 3 + rank) % 8 for i in range(8)]
    for tag in order:
        put(f"{rank}-{tag}", f"{rank}.{tag}")
        enter(f"{every}:{tag}")
    good = True
    for tag in reversed(order):
        good &= released(f"{every}:{tag}")["rc"] == "0"
        good &= all(get(f"{other}-{tag}") == f"{other}.{tag}" for other in range(size))
    good &= released("")["rc"] == "0"
    content(good)


def refused():
    """What no group is, while others are in a barrier."""
    good = True
    if rank < 2:
        enter("0,1")
    words = {"0,99": "rank_of_group_does_not_exist", "0,,1": "group_is_no_list_of_ranks",
             "0,1,0": "rank_is_twice_in_group", f"{(rank + 1) % size}": "caller_is_not_in_group",
             "0,1:": "tag_malformed_or_too_long", "x" * 9000: "group_is_no_list_of_ranks"}
    for group, word in words.items():
        enter(group)
        got = released(group)
        good &= got["rc"] == "-1" and got["msg"] == word
    if rank < 2:
        good &= released("0,1")["rc"] == "0"
    good &= ask("cmd=barrier_in", "barrier_out")["rc"] == "0"
    content(good)


def finalized():
    """The last rank finalizes, and lives on; who is in a group with it gets an error, others do not."""
    last = size - 1
    if rank == last:
        ask("cmd=finalize", "finalize_ack")
        time.sleep(12)
        sys.exit(0)
    if rank % 2 == 0:
        time.sleep(1)
    group = f"{rank},{last}"
    good = all(barrier(group).get("msg") == "a_member_has_ended" for turn in range(2))
    good &= barrier("0,1,2")["rc"] == "0" if rank < 3 else True
    content(good)


def died():
    """The last rank dies in a barrier of two tags, of which it has called one."""
    every = ",".join(map(str, range(size)))
    if rank == size - 1:
        barrier("WORLD:1")
        os.kill(os.getpid(), 9)
    good = barrier("WORLD:1")["rc"] == "0"
    good &= barrier(every).get("msg") == "a_member_has_ended"
    good &= barrier(f"0,{size - 2}")["rc"] == "0" if rank in (0, size - 2) else True
    content(good)


def late():
    """Rank 5 comes late to its group with 0, 1 and 2."""
    if rank == 5:
        time.sleep(9)
    good = barrier("0,1,2,5:4")["rc"] == "0" if rank in (0, 1, 2, 5) else True
    content(good)


version = ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init")["pmi_subversion"]
space = ask("cmd=get_my_kvsname", "my_kvsname")["kvsname"]
globals()[sys.argv[1]]()
assert ask("cmd=finalize", "finalize_ack")["rc"] == "0"
PYTHON

# content NAME RANKS STATUS TEST OPTION...
content() {
    run "$banyan" run --timeout 240 --oversubscribe "${@:5}" python3 "$scratch/client.py" "$4" </dev/null
    is "$status:$(grep -c ' is content$' <<<"$out"):$(grep -c ' is wrong$' <<<"$out")" "$3:$2:0" \
        "$4: $1"
    [ "$status" -eq "$3" ] || diag "$out $err"
}

one=(-n 6)
four=(--virtual-nodes 4 --per-node 2 -n 8)
content "one node" 6 0 exchange "${one[@]}"
content "four nodes" 8 0 exchange "${four[@]}"
content "four nodes, round robin" 7 0 exchange --virtual-nodes 4 --map-by node -n 7
content "one node" 6 0 tags "${one[@]}"
content "four nodes" 8 0 tags "${four[@]}"
content "one node" 6 0 refused "${one[@]}"
content "four nodes" 8 0 refused "${four[@]}"
content "one node" 5 0 finalized "${one[@]}"
content "four nodes" 7 0 finalized "${four[@]}"
content "a node of its own" 3 0 finalized --virtual-nodes 4 --per-node 1 -n 4
content "one node" 5 137 died --on-failure continue "${one[@]}"
content "four nodes" 7 137 died --on-failure continue "${four[@]}"
content "a node of its own" 3 137 died --on-failure continue --virtual-nodes 4 --per-node 1 -n 4

content "four nodes" 8 0 late "${four[@]}"
like "$err" 'barrier 1 of a group of job 1: waiting for rank 5 on v3 \(alive\); 3 arrived' \
    "who is missing in a group is said"
is "$(grep -c 'waiting for' <<<"$err")" 1 "and once"
nothing_left_within 5 none "nothing is left"
done_testing

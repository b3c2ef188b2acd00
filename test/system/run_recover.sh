#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `banyan start --survive`: the root is killed, the jobs go on, `banyan recover` makes another root, and no line that
# a job has written is missing.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

# start_instance OPTION...: sets dir and root (its pid).
start_instance() {
    dir=$("$banyan" start --virtual-nodes 8 --slots 2 --daemonize "$@" 2>"$scratch/start.err")
    find_root
}
find_root() {
    root=$("$banyan" status --instance "$dir" | sed -n 's/^root  *process \([0-9]*\).*/\1/p')
}
# kill_root: at once, and it is gone.
kill_root() {
    kill -9 "$root"
    until_true 30 not_there "$root"
}
not_there() {
    [ ! -e "/proc/$1" ] || grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null
}
in_instance() {
    local verb=$1
    shift
    "$banyan" "$verb" --instance "$dir" "$@"
}
# Each rank writes numbered lines until there is the file NAME.go; the first one, which is the last to end, has status 3.
cat >"$scratch/writer" <<'W'
#!/bin/bash
name=$1 pause=$2 i=0
echo $$ >>"$name.pids"
until [ -e "$name.go" ]; do
    i=$((i + 1))
    echo "$PMI_RANK $i"
    [ $((i % 50)) != 0 ] || echo "$i" >"$name.at.$PMI_RANK"
    [ "$pause" = 0 ] || sleep "$pause"
done
echo "$PMI_RANK last $i"
: >"$name.end.$PMI_RANK"
[ "$PMI_RANK" = 0 ] || exit 0
until [ "$(ls "$name".end.* | wc -l)" = "$PMI_SIZE" ]; do sleep 0.1; done
exit 3
W
chmod +x "$scratch/writer"
# has_grown NAME RANKS: all of them have written on since `mark NAME`.
mark() {
    rm -f "$scratch/$1".at.*
}
has_grown() {
    [ "$(find "$scratch" -name "$1.at.*" | wc -l)" = "$2" ]
}
all_live() {
    local process
    for process in $(cat "$scratch/$1.pids"); do
        kill -0 "$process" 2>/dev/null || return 1
    done
}
# complete FILE RANKS: of each rank all lines up to its last one, once, in order.
complete() {
    awk -v ranks="$2" '
        $2 == "last" { if ($3 != at[$1]) { print "rank " $1 " has " at[$1] " of " $3; bad = 1 } ended++; next }
        { if ($2 != at[$1] + 1) { print "rank " $1 ": " $2 " after " at[$1]; bad = 1; exit 1 } at[$1] = $2 }
        END { if (bad || ended != ranks) { print ended " of " ranks " have ended"; exit 1 } }' "$1"
}
# complete_tail FILE RANKS: the same, but the first lines may be missing.
complete_tail() {
    awk 'NF >= 2 && !($1 in first) && $2 != "last" { first[$1] = $2 - 1 } $2 == "last" { $3 -= first[$1]; print; next } { $2 -= first[$1]; print }' \
        "$1" >"$1.tail"
    complete "$1.tail" "$2"
}

mkdir "$scratch/log"
start_instance --survive 600 --log "$scratch/log"
ok "an instance that survives its root is ready" test -S "$dir/control"
is "$(stat -c %a "$dir/journal")" 600 "its journal is its user's only"
refuses 125 "the root of the instance at .* lives: there is nothing to recover" \
    "who recovers an instance whose root lives gets one line" recover --instance "$dir"

job=$(in_instance run --detach -n 8 "$scratch/writer" "$scratch/slow" 0.01)
is "$job" 1 "a job without a client runs there"
until_true 60 has_grown slow 8
kill_root
mark slow
ok "without the root the ranks write on" until_true 60 has_grown slow 8
ok "and none of them has ended" all_live slow
run "$banyan" ps --instance "$dir"
like "$err" "its root has died; its nodes go on" "who asks meanwhile is told why there is no answer"

is "$("$banyan" clean -n)" "nothing to remove" "nothing of it is a leftover"
out=$(in_instance recover 2>"$scratch/recover.err")
is "$out" "$dir" "a new root is there, at the same directory"
is "$(cat "$scratch/recover.err")" "" "and has nothing to complain about"
find_root
like "$(in_instance ps)" "1  running  *8 " "it knows the job"
mark slow
until_true 60 has_grown slow 8
touch "$scratch/slow.go"
in_instance wait 1 2>/dev/null
is $? 3 "the job ends with its own status"
in_instance attach 1 >"$scratch/slow.out" 2>/dev/null
is $? 3 "and so does who attaches to it"
ok "no line is missing, none comes twice" complete "$scratch/slow.out" 8

# Somebody else has the root's port meanwhile: the line says so, and the next attempt succeeds.
python3 - "$root" "$scratch/port" <<'P' &
import os, re, socket, struct, sys, time
root, said = sys.argv[1:]
inodes = set()
for fd in os.listdir(f"/proc/{root}/fd"):
    found = re.match(r"socket:\[(\d+)\]", os.readlink(f"/proc/{root}/fd/{fd}"))
    if found:
        inodes.add(found[1])
for line in open("/proc/net/tcp"):
    words = line.split()
    if len(words) > 9 and words[3] == "0A" and words[9] in inodes:
        host, port = words[1].split(":")
        address = (socket.inet_ntoa(struct.pack("<I", int(host, 16))), int(port, 16))
open(said + ".known", "w").close()
with socket.socket() as holder:
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    while True:
        try:
            holder.bind(address)
            holder.listen()
            break
        except OSError:
            time.sleep(0.05)
    open(said, "w").close()
    while os.path.exists(said):
        time.sleep(0.05)
P
holder=$!
until_true 30 test -e "$scratch/port.known"
kill_root
until_true 30 test -e "$scratch/port"
refuses 125 "cannot take the place of the dead root: .*no free port" "a new root that cannot have the port of the old one says so" \
    recover --instance "$dir"
rm "$scratch/port"
wait $holder
is "$(in_instance recover)" "$dir" "and the next attempt succeeds"
find_root

# A root that is killed while much is written, again and again; somebody reads it in between.
job=$(in_instance run --detach -n 4 "$scratch/writer" "$scratch/fast" 0)
for round in 1 2 3; do
    mark fast
    until_true 60 has_grown fast 4
    kill_root
    in_instance recover >/dev/null
    find_root
done
in_instance attach "$job" >"$scratch/fast.out" 2>/dev/null &
reader=$!
mark fast
until_true 60 has_grown fast 4
touch "$scratch/fast.go"
wait $reader
is $? 3 "three roots later the job ends with its status"
ok "and from where the reader began no line is missing" complete_tail "$scratch/fast.out" 4

# Fences of all nodes meet at the root: they wait for the next one, and none fails.
cat >"$scratch/fencer" <<'W'
#!/bin/bash
i=0
call() {
    printf '%s\n' "$1" >&"$PMI_FD"
    read -r answer <&"$PMI_FD" && [[ $answer == *"$2"* ]] || { echo "$PMI_RANK: $answer instead of $2 after $i"; exit 7; }
}
call "cmd=init pmi_version=1 pmi_subversion=1" response_to_init
while [ $i -lt 2000 ]; do
    i=$((i + 1))
    call "cmd=barrier_in" barrier_out
    [ $((i % 20)) != 0 ] || : >"$1.at.$PMI_RANK"
done
call "cmd=finalize" finalize_ack
W
chmod +x "$scratch/fencer"
job=$(in_instance run --detach -n 16 "$scratch/fencer" "$scratch/fence")
for round in 1 2; do
    mark fence
    until_true 60 has_grown fence 16
    kill_root
    in_instance recover >/dev/null
    find_root
done
in_instance attach "$job" >"$scratch/fence.out" 2>&1
is "$? $(cat "$scratch/fence.out")" "0 " "no fence fails when the root that it meets at dies"

is "$(in_instance run -n 2 echo new | wc -l)" 2 "jobs run in it as before"
# The client of a job dies with the connection, so its job is ended, as if it had been killed.
in_instance run -n 1 "$scratch/writer" "$scratch/owned" 0.01 >/dev/null 2>"$scratch/owned.err" &
client=$!
until_true 60 has_grown owned 1
kill_root
wait $client
is $? 125 "who waits for a job when the root dies learns that"
in_instance recover >/dev/null
gone() {
    for process in $(cat "$scratch/owned.pids"); do
        kill -0 "$process" 2>/dev/null && return 1
    done
    return 0
}
ok "and its job is ended by the next root" until_true 60 gone

session=$(basename "${dir%.0}")
in_instance stop
is $? 0 "a recovered instance is stopped like any other"
nothing_left_within 30 "$session" "and leaves nothing"
refuses 125 "cannot recover the instance at .*: No such file" "there is nothing to recover then" \
    recover --instance "$dir"

refuses 125 "option --survive: it needs --fabric tcp" "nor is libfabric survived" \
    start --survive 10 --virtual-nodes 2 --fabric ofi

# The tree follows switches: the next root knows the fabric, too.
describe() { # NODES OF A SWITCH, OF THE OTHER
    printf 'SwitchName=s1 Nodes=%s\nSwitchName=s2 Nodes=%s\nSwitchName=top Switches=s[1-2]\n' "$1" "$2" >"$scratch/next"
    mv "$scratch/next" "$scratch/topology"
}
costs() { # EXPECTED: both ways between v1 and v2
    [ "$(in_instance fabric --from v1 --to v2 2>&1 | grep -oE '[0-9]+$' | tr '\n' ' ')" = "$1 $1 " ]
}
describe 'v[1,3,5,7]' 'v[2,4,6,8]'
start_instance --survive 600 --radix 2 --fabric-topology "$scratch/topology"
session=$(basename "${dir%.0}")
job=$(in_instance run --detach -n 8 "$scratch/writer" "$scratch/shaped" 0.01)
until_true 60 has_grown shaped 8
ok "a fabric is known" until_true 60 costs 4
describe 'v[1-4]' 'v[5-8]'
ok "it changes" until_true 60 costs 2
program=$top_builddir/test/tool/pmix_fabric
if [ -x "$program" ]; then
    in_instance run --detach --mpi pmix -n 1 "$program" events register "touch:$scratch/there" updated update \
        "touch:$scratch/heard" >/dev/null
    until_true 60 test -e "$scratch/there"
fi
shape=$(in_instance tree)
kill_root
mv "$scratch/topology" "$scratch/kept"
mark shaped
ok "ranks of a shaped tree write on" until_true 60 has_grown shaped 8
in_instance recover >"$scratch/recover.out" 2>"$scratch/recover.err"
is $? 0 "its root is recovered"
like "$(cat "$scratch/recover.err")" "cannot read $scratch/topology: No such file or directory: the fabric is as it was when the root died" \
    "also without the description"
find_root
ok "the fabric is as it was" costs 2
if [ -x "$program" ]; then
    ok "a process that has registered hears that it may have changed" until_true 60 test -e "$scratch/heard"
else
    skip "pmix_fabric is not built"
fi
is "$(in_instance tree)" "$shape" "and so is the tree"
describe 'v[1,3,5,7]' 'v[2,4,6,8]'
ok "the description is followed again" until_true 60 costs 4
kill_root
mv "$scratch/topology" "$scratch/kept"
rm "$dir/fabric.json"
like "$(in_instance recover 2>&1)" "there is no fabric until it can be read" "a root without a description is recovered, too"
find_root
mv "$scratch/kept" "$scratch/topology"
ok "and knows the fabric when it is there again" until_true 60 costs 4
mark shaped
until_true 60 has_grown shaped 8
touch "$scratch/shaped.go"
in_instance attach 1 >"$scratch/shaped.out" 2>/dev/null
is $? 3 "the job ends with its own status"
ok "no line of it is missing, none comes twice" complete "$scratch/shaped.out" 8
in_instance stop
nothing_left_within 30 "$session" "and nothing is left"

start_instance
session=$(basename "${dir%.0}")
job=$(in_instance run --detach -n 2 sleep 1000)
cp -r "$dir" "$scratch/copy"
kill_root
nothing_left_within 60 "$session" "without --survive all ends with the root"
chmod 700 "$scratch/copy"
refuses 125 "has no journal: only an instance started with --survive can be recovered" \
    "which cannot be recovered" recover --instance "$scratch/copy"

# A relay dies while the root lives: what it had taken over is sent again.
start_instance --survive 60 --radix 2
cat >"$scratch/many" <<'EOP'
#!/bin/sh
[ "$BANYAN_RANK" != 0 ] || echo $PPID >"$1"
i=0
while [ $i -lt 60000 ]; do i=$((i + 1)); echo "line $i"; done
EOP
chmod +x "$scratch/many"
in_instance run -N 1 --on-failure continue --timeout 300 -l "$scratch/many" "$scratch/helper" >"$scratch/many.out" 2>/dev/null &
client=$!
until_true 60 test -s "$scratch/many.out"
kill -9 "$(awk '/^PPid:/ { print $2 }' "/proc/$(cat "$scratch/helper")/status")"
wait $client
complete=
for rank in 1 2 3 4 5 6 7; do
    complete+=" $(sed -n "s/^\[$rank\] line //p" "$scratch/many.out" | cmp -s - <(seq 60000) && echo yes)"
done
is "$complete" " yes yes yes yes yes yes yes" "no line of the others is lost with a relay"
in_instance stop

# Nobody recovers it.
start_instance --survive 5 --patience 5
session=$(basename "${dir%.0}")
job=$(in_instance run --detach -n 2 sleep 1000)
kill_root
ok "when the time is over the nodes end" until_true 90 sh -c "! grep -qsz BANYAN_SESSION=$session /proc/[0-9]*/environ"
swept() {
    start_instance
    in_instance stop
    [ ! -e "$TMPDIR/banyan-$(id -u)/$session.0" ]
}
ok "and later instances on this machine remove what was kept" until_true 60 swept
"$banyan" clean "$session" >/dev/null 2>&1
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# aprun of PALS and flux exec start all daemons with one call. Both are stand-ins here that check what
# they are told, start each daemon on a virtual node of its own (fakessh), and give it what the real
# one gives: aprun PALS_NODEID and PALS_APINFO, but input to rank 0 only; flux input to all.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/leftovers.sh"

export FAKESSH=$top_builddir/contrib/testbed/fakessh FAKESSH_BASE=$TMPDIR/nodes
export FAKESSH_KEEP=PALS_NODEID,PALS_APINFO
export SEEN=$scratch/seen MODE=good
mkdir "$scratch/bin" "$SEEN"
for host in n1 n2 n3 n4; do mkdir -p "$FAKESSH_BASE/$host"; done
files_before=$(left_files)

cat >"$scratch/bin/all" <<'A'
# each HOST COMMAND...: one of them; what it says has its number in front.
trap 'kill -TERM $(jobs -p) 2>/dev/null' TERM INT
number=0
each() {
    local host=$1
    shift
    PALS_NODEID=$number "$FAKESSH" "$host" "$@" <&0 &
    number=$((number + 1))
}
finish() {
    local status=0
    while [ -n "$(jobs -pr)" ]; do wait || status=$?; done
    exit $status
}
refuse() {
    echo "$1: no resources are left" >&2
    exit 1
}
A
cat >"$scratch/bin/aprun" <<'A'
#!/bin/bash
printf '%s\n' "$@" >"$SEEN/arguments"
. "${0%/*}/all"
[ "$MODE" != refuse ] || refuse aprun
[ "$1 $3 $4 $5 $6 $7" = "-n -N 1 --cc none -L" ] || { echo "aprun: what is $*?" >&2; exit 99; }
IFS=, read -ra hosts <<<"$8"
for host in "${hosts[@]}"; do
    [[ ${host%%.*} = n[1-4] ]] || { echo "aprun: $host is not in the job" >&2; exit 1; }
done
[ "$2" = ${#hosts[@]} ] || { echo "aprun: $2 processes on ${#hosts[@]} nodes?" >&2; exit 99; }
shift 8
export PALS_APINFO=$SEEN/apinfo
python3 - "$PALS_APINFO" "${hosts[@]%%.*}" <<'P'
import struct, sys
nodes = sys.argv[2:]
ranks = b"".join(struct.pack("3i", 0, 0, node) for node in range(len(nodes)))
names = b"".join(struct.pack("i64s", node, name.encode()) for node, name in enumerate(nodes))
head = bytearray(192)
struct.pack_into("i", head, 0, 5)
struct.pack_into("QQi", head, 64, 12, len(head), len(nodes))
struct.pack_into("QQi", head, 88, 68, len(head) + len(ranks), len(nodes))
open(sys.argv[1], "wb").write(bytes(head) + ranks + names)
P
for host in "${hosts[@]}"; do
    [ "$MODE" = fewer ] && [ "${host%%.*}" = n3 ] && { number=$((number + 1)); continue; }
    each "${host%%.*}" "$@" </dev/null
done
finish
A
cat >"$scratch/bin/flux" <<'F'
#!/bin/bash
if [ "$1 $2" = "kvs get" ]; then
    echo '{"version": 1, "execution": {"R_lite": [{"rank": "0-3", "children": {"core": "0-1"}}],
        "starttime": 0, "expiration": 0, "nodelist": ["n[1-4]"]}}'
    exit
fi
printf '%s\n' "$@" >"$SEEN/arguments"
. "${0%/*}/all"
[ "$MODE" != refuse ] || refuse flux-exec
[ "$1 $2 $3" = "exec --label-io --dir=/" ] || { echo "flux: what is $*?" >&2; exit 99; }
shift 3
[ "$1" != --noinput ] || exit 0
input=$SEEN/input
cat >"$input"
for host in n1 n2 n3 n4; do
    [ "$MODE" = fewer ] && [ $host = n3 ] && { number=$((number + 1)); continue; }
    each $host "$@" <"$input" > >(sed -u "s/^/$number: /") 2>&1
done
finish
F
chmod +x "$scratch"/bin/{aprun,flux}
export PATH=$scratch/bin:$PATH
printf 'n%d.example.org\nn%d.example.org\n' 1 1 2 2 3 3 4 4 >"$scratch/nodefile"

# in_job SCHEDULER OPTION...: a run in its job.
in_job() {
    local variables=("FLUX_URI=local:///nowhere")
    [ "$1" = flux ] || variables=("PBS_JOBID=7.srv" "PBS_NODEFILE=$scratch/nodefile")
    shift
    new_mark
    rm -f "$SEEN"/*
    run env "${variables[@]}" "$banyan" run --net lo --banyand "$BANYAN_DAEMON" --timeout 240 \
        -x BT_MARK="$mark" "$@" </dev/null
}

for way in pals flux; do
    options=()
    [ $way = flux ] || options=(--boot "file:$scratch")
    in_job $way "${options[@]}" --json "$scratch/record" hostname
    is "$status:$err" "0:" "$way: it runs without a word"
    is "$(sort <<<"$out" | uniq -c | xargs)" "2 n1 2 n2 2 n3 2 n4" "$way: on all nodes of the job"
    like "$(cat "$scratch/record")" "\"starter\": \"$way\"" "$way: by its own starter"
    nothing_left "$way: nothing is left"
    if [ $way = flux ]; then
        run "$BANYAN_DAEMON" <"$SEEN/input"
        is "$status" 1 "their boot record without --started-by: exit status"
        like "$out" "BANYAN-ERROR .*the boot record names no node: .*--started-by" "and the daemon says why"
    fi

    in_job $way "${options[@]}" --host +n0,+n3 hostname
    is "$status:$(sort <<<"$out" | xargs)" "0:n1 n1 n4 n4" "$way: on some of them"
    case $way in
    pals) is "$(head -n 8 "$SEEN/arguments" | tr '\n' ' ')" \
        "-n 2 -N 1 --cc none -L n1.example.org,n4.example.org " "aprun is told which" ;;
    flux) is "$(tail -n +4 "$SEEN/arguments" | xargs)" "$BANYAN_DAEMON --started-by flux" \
        "flux starts on all, for it knows nodes by number only" ;;
    esac
    nothing_left "$way: on some of them: nothing is left"

    MODE=refuse in_job $way "${options[@]}" true
    is "$status" 125 "$way refuses: exit status"
    like "$err" "^banyan: cannot start (the daemon|daemons) on n.*exited 1: .*no resources are left" \
        "$way refuses: its words"
    nothing_left "$way refuses: nothing is left"

    MODE=fewer in_job $way "${options[@]}" --start-timeout 15 true
    is "$status" 125 "$way starts fewer: exit status"
    like "$err" "^banyan: .*n3.* 15 s" "$way starts fewer: who is missing"
    nothing_left "$way starts fewer: nothing is left"

    MODE=fewer in_job $way "${options[@]}" --start-timeout 15 --min-nodes 1 hostname
    is "$status:$(grep -c n3 <<<"$out")" "0:0" "$way starts fewer, with --min-nodes: the others run"
    like "$err" "cannot start (the daemon|daemons) on n[^:]*3.*: no answer within 15 s" "$way: who is missing is named"
    nothing_left "$way starts fewer, with --min-nodes: nothing is left"

    new_mark
    variables=("FLUX_URI=local:///nowhere")
    [ $way = flux ] || variables=("PBS_JOBID=7.srv" "PBS_NODEFILE=$scratch/nodefile")
    set -m # else what stands before "&" ignores SIGINT
    env "${variables[@]}" "$banyan" run --net lo --banyand "$BANYAN_DAEMON" --timeout 240 \
        -x BT_MARK="$mark" "${options[@]}" sh -c 'echo here; exec sleep 300' \
        </dev/null >"$scratch/here" 2>&1 &
    pid=$!
    set +m
    ok "$way: Ctrl-C: it runs" until_true 20 eval '[ "$(grep -c here "$scratch/here")" = 8 ]'
    kill -INT $pid
    status=0
    wait $pid || status=$?
    is "$status" 130 "$way: Ctrl-C: exit status"
    nothing_left "$way: Ctrl-C: nothing is left"

    # What is added to a living instance is started with a second call.
    new_mark
    domain=.example.org
    [ $way = pals ] || domain=
    dir=$(env "${variables[@]}" "$banyan" start --daemonize --net lo --banyand "$BANYAN_DAEMON" --start-timeout 15 \
        "${options[@]}" --host "n1$domain:1,n2$domain:1" </dev/null)
    rm -f "$SEEN"/arguments
    run "$banyan" node add --instance "$dir" "n3$domain:2" "n4$domain:2" </dev/null
    is "$status$err" 0 "$way: two nodes are added"
    [ $way != pals ] || is "$(head -n 8 "$SEEN/arguments" | tr '\n' ' ')" \
        "-n 2 -N 1 --cc none -L n3.example.org,n4.example.org " "$way: by one call for both"
    run "$banyan" run --instance "$dir" -x BT_MARK="$mark" hostname </dev/null
    is "$status:$(sort <<<"$out" | xargs)" "0:n1 n2 n3 n3 n4 n4" "$way: and run jobs"
    run "$banyan" node remove --instance "$dir" "n3$domain" </dev/null
    is "$status$err" 0 "$way: one of them is removed"
    run "$banyan" node add --instance "$dir" "n3$domain" n9 </dev/null
    is "$status" 125 "$way: a node that the scheduler does not have"
    like "$err" 'cannot start (the daemon|daemons) on .*n9' "$way: is named"
    run "$banyan" node add --instance "$dir" "n3$domain" </dev/null
    is "$status$err" 0 "$way: what was removed is added again"
    run "$banyan" run --instance "$dir" --per-node 1 -x BT_MARK="$mark" hostname </dev/null
    is "$status:$(sort <<<"$out" | xargs)" "0:n1 n2 n3 n4" "$way: with a new place"
    run "$banyan" stop --instance "$dir"
    is "$status$err" 0 "$way: the instance ends"
    nothing_left "$way: that has grown: nothing is left"
done

in_job flux --starter pals --boot "file:$scratch" true
is "$status" 0 "a starter by name"
rm "$scratch/bin/aprun"
in_job pals --starter pals --boot "file:$scratch" true
is "$status" 125 "no such command: exit status"
like "$err" '^banyan: cannot start .*aprun.*No such file' "no such command: it is said"
export BANYAN_MUNGE_SOCKET=$scratch/nowhere
in_job pals --starter pals true
like "$status:$err" '^125:banyan: cannot start .*MUNGE' "where nobody has input it is MUNGE"
done_testing

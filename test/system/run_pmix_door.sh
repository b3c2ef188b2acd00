#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Strangers at the port of a node's PMIx server (test/tool/knock.py): silent ones, noise, half a message, too long
# ones, tools, names that are not registered, and other users. Ranks that connect meanwhile are served
# as if nobody else were there; a stranger is told no and nothing is left behind of him.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

program=$top_builddir/test/tool/pmix_calls
[ -x "$program" ] || skip_all "pmix_calls is not built"
command -v python3 >/dev/null || skip_all "python3 is not installed"

# Each rank waits until the strangers are there, then calls, and they stay until it has ended.
cat >"$scratch/rank.sh" <<'RANK'
#!/bin/bash
port=${PMIX_SERVER_URI4##*:}
python3 "$1" "$port" "$2" "$PMIX_NAMESPACE" >"$4.$PMIX_RANK" & # its strangers
until grep -q there "$4.$PMIX_RANK" 2>/dev/null; do sleep 0.05; done
"$3" put:a fence get:0:a get:3:a
status=$?
kill $! 2>/dev/null
exit $status
RANK
chmod +x "$scratch/rank.sh"

for kind in silent half noise long gone tool stranger; do
    for nodes in "-n 4 --oversubscribe" "--virtual-nodes 2 --per-node 2 -n 4"; do
        rm -f "$scratch/said".*
        run "$banyan" run --timeout 240 --mpi pmix $nodes "$scratch/rank.sh" "$srcdir/test/tool/knock.py" \
            $kind "$program" "$scratch/said" </dev/null
        is "$status:$(sort -u <<<"$out" | xargs)" "0:$(printf '%s\n' fence=SUCCESS put:a=SUCCESS \
            get:0:a=SUCCESS=0 get:3:a=SUCCESS=3 | sort -u | xargs)" "$kind strangers, $nodes"
        [ -z "$err" ] || diag "$err"
    done
    case $kind in
    tool) is "$(sort -u "$scratch/said".* | xargs)" "-47 there" "a tool is told NOT_SUPPORTED" ;;
    stranger) is "$(sort -u "$scratch/said".* | xargs)" "-46 there" \
        "a process that is not registered is told NOT_FOUND" ;;
    esac
done

# Whose process it is, is asked of the kernel.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && [ -x /usr/bin/python3 ]; then
    cat >"$scratch/other.sh" <<'RANK'
#!/bin/bash
port=${PMIX_SERVER_URI4##*:}
setpriv --reuid 65534 --clear-groups /usr/bin/python3 - "$port" stranger "$PMIX_NAMESPACE" <"$1" &
sleep 1
kill $! 2>/dev/null
"$2" fence
RANK
    chmod +x "$scratch/other.sh"
    run "$banyan" run --timeout 240 --mpi pmix -n 1 "$scratch/other.sh" "$srcdir/test/tool/knock.py" \
        "$program" </dev/null
    is "$status:$(sort -u <<<"$out" | xargs)" "0:closed fence=SUCCESS there" \
        "another user's connection is closed without an answer"
else
    skip "only root with setpriv and /usr/bin/python3 can be another user"
fi
# PMI-1 has a socket for each rank. Who asks and asks and reads no answer is not listened to: the daemon
# does not store what he does not take. Then he reads, and ends well.
cat >"$scratch/flood.py" <<'FLOOD'
import os
import select
import socket
sock = socket.socket(fileno=int(os.environ["PMI_FD"]))
sock.sendall(b"cmd=init pmi_version=1 pmi_subversion=1\n")
sock.setblocking(False)
ask = b"cmd=get_maxes\n" * 1000
sent = 0
while sent < 64 << 20 and select.select([], [sock], [], 1)[1]:
    sent += sock.send(ask[sent % len(ask):])
print("taken" if sent < 4 << 20 else "%d bytes taken" % sent)
asked = sent // 14
got = 0
while got < asked + 1:
    select.select([sock], [], [])
    got += sock.recv(65536).count(b"\n")
sock.setblocking(True)
sock.sendall((b"cmd=get_maxes\n" * 2)[sent % 14:] + b"cmd=finalize\n")
while b"finalize_ack" not in sock.recv(65536):
    pass
FLOOD
run "$banyan" run --timeout 240 --mpi pmi1 -n 2 python3 "$scratch/flood.py" </dev/null
is "$status:$(sort -u <<<"$out")" "0:taken" "a rank that floods its PMI-1 socket"
[ -z "$err" ] || diag "$err"

nothing_left_within 5 none "nothing is left"
done_testing

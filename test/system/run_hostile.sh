#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Strangers at the root's port while a job runs: silent ones, noise, HTTP, half a handshake, a wrong
# key, another session, and those who go at once. None gets in, the job notices nothing, and the root
# grows by at most 8 MB. BANYAN_HOSTILE=20000 is the full number (on 64 nodes), else it is 1,000
# on 8.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/leftovers.sh"

count=${BANYAN_HOSTILE:-1000}
nodes=8
[ "$count" -lt 20000 ] || nodes=64
growth_max_kb=8192

# status_kb PID FIELD
status_kb() {
    awk -v field="$2:" '$1 == field { print $2 }' "/proc/$1/status"
}

# listening_port PID: of the one TCP socket of it that listens.
listening_port() {
    local inode
    for inode in $(find "/proc/$1/fd" -lname 'socket:*' -printf '%l\n' | tr -dc '0-9\n'); do
        awk -v inode="$inode" '$4 == "0A" && $10 == inode { split($2, a, ":"); print a[2] }' \
            "/proc/$1/net/tcp"
    done | head -n 1
}

new_mark
: >"$scratch/out"
"$banyan" run --virtual-nodes $nodes -n $nodes --per-node 1 --timeout 280 -x BT_MARK="$mark" \
    sh -c "echo up; until [ -e $scratch/over ]; do sleep 0.3; done; echo down" \
    >"$scratch/out" 2>"$scratch/err" </dev/null &
front=$!
ok "a job runs on $nodes nodes" \
    until_true 60 eval '[ "$(grep -c up "$scratch/out")" = '$nodes' ]'
for pid in $(descendants $front); do
    [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = banyan-root ] || continue
    port=$(listening_port "$pid")
    [ -z "$port" ] || root=$pid
    [ -z "$port" ] || break
done
session=$(find "$TMPDIR" -maxdepth 1 -name 'bv-*' -printf '%f\n' | sed 's/^bv-//' | head -n 1)
ok "the root and its port are found" [ -n "$root" ]
echo 5 >"/proc/$root/clear_refs" # the greatest size begins anew
before=$(status_kb "$root" VmRSS)
run "$top_builddir/test/tool/hostile" "127.0.0.1:$((16#$port))" "${session:-0}" "$count"
grown=$(($(status_kb "$root" VmHWM) - before))
is "$status" 0 "$count strangers have connected"
like "$out" '^let in 0, ' "none of them is let in"
[ -z "$err" ] || diag "$err"
diag "$count strangers: $out; the root has grown by $grown kB"
if [ -n "${BANYAN_SANITIZERS:-}" ]; then
    skip "the root has grown by $grown kB: a sanitizer keeps what was freed"
else
    ok "the root has grown by $grown kB, at most $growth_max_kb" [ $grown -le $growth_max_kb ]
fi
: >"$scratch/over"
wait $front
is "$? $(grep -c down "$scratch/out")" "0 $nodes" "the job ends as if nothing had been"
is "$(cat "$scratch/err")" "" "and nothing is said"
nothing_left "nothing is left"
done_testing

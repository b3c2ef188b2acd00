#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# One rank floods stdout, which nobody reads: the others go on, what they write to stderr on other nodes arrives, the
# daemons keep within bounds, and when the reader goes on all of it is there.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

bound_kib=$((64 * 1024))
flood_bytes=$((48 * 1024 * 1024))
stderr_bytes=$((7 * 450000)) # whole lines
line='the quick brown fox jumps over the lazy dog'

# Rank 0 floods; the ranks of the other nodes write more to stderr than all windows together hold.
cat >"$scratch/rank" <<R
#!/bin/bash
case \$BANYAN_RANK in
0) yes '$line' | head -c $flood_bytes ;;
1) for ((step = 1; step <= 100; step++)); do echo \$step >"$scratch/progress.1"; done ;;
*) yes "rank \$BANYAN_RANK" | head -c $stderr_bytes >&2 ;;
esac
echo \$? >"$scratch/end.\$BANYAN_RANK"
R
chmod +x "$scratch/rank"
# ended RANK...: all of these have.
ended() {
    local rank
    for rank; do [ -s "$scratch/end.$rank" ] || return 1; done
}
# The largest resident set that a process of the session has had, in KiB.
most_memory() {
    local process
    for process in $(ours); do
        sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$process/status" 2>/dev/null
    done | sort -n | tail -n 1
}

mkfifo "$scratch/pipe"
dir=$("$banyan" start --daemonize --virtual-nodes 5 --slots 2 --radix 2)
session=$(basename "$dir" | cut -d . -f 1)
"$banyan" run --instance "$dir" true </dev/null
before=$(most_memory)
exec 9<>"$scratch/pipe" # so that neither end waits for the other, and nobody reads
"$banyan" run --instance "$dir" -n 6 --map-by slot "$scratch/rank" </dev/null >"$scratch/pipe" 2>"$scratch/err" 9>&- &
client=$!
ok "a rank of the same node goes on and ends" until_true 60 ended 1
ok "so do those of other nodes, whose stderr is taken" until_true 120 ended 2 3 4 5
stderr_is_there() { [ "$(stat -c %s "$scratch/err")" -eq $((4 * stderr_bytes)) ]; }
ok "all of it arrives" until_true 60 stderr_is_there
ok "the flood is held back" test ! -e "$scratch/end.0"
is "$("$banyan" run --instance "$dir" -n 1 echo other </dev/null)" other "another job of the instance is not affected"
most=$(most_memory)
ok "daemons keep within $bound_kib KiB ($before before, $most with the flood)" \
    test "$((most - before))" -le "$bound_kib"
client_kib=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$client/status")
ok "so does the client ($client_kib)" test "$client_kib" -le "$bound_kib"
cat <"$scratch/pipe" >"$scratch/out" 9>&- &
reader=$!
exec 9>&-
wait "$client"
is $? 0 "when the reader goes on the job ends"
wait "$reader"
is "$(sha256sum <"$scratch/out")" "$(yes "$line" | head -c $flood_bytes | sha256sum)" "and all of it is there"
is "$(sort "$scratch/err" | uniq -c | awk '{ print $2 $3 }' | head -n 4 | sort | xargs)" "rank2 rank3 rank4 rank5" \
    "stderr of each rank"
is "$("$banyan" stop --instance "$dir" 2>&1)" "" "the instance ends"
nothing_left_within 30 "$session" "nothing is left"
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `banyan run --stats`: what the processes of a job have used, at its end, folded over ranks.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

# row NAME: of the table in $err, without what is before its numbers.
row() {
    sed -n "s/^banyan: $1  *//p" <<<"$err"
}

# Rank 5 has 200 MiB in use at some time, and rank 2 counts.
cat >"$scratch/work" <<'SH'
#!/bin/sh
case $BANYAN_RANK in
5) exec python3 -c 'a = bytearray(200 << 20)' ;;
2) i=0; while [ $i -lt 400000 ]; do i=$((i + 1)); done ;;
esac
SH
chmod +x "$scratch/work"
run "$banyan" run --timeout 240 --stats --virtual-nodes 8 --radix 2 --per-node 1 "$scratch/work" </dev/null
is "$status $out" "0 " "the job does what it does without it"
is "$(wc -l <<<"$err")" 6 "a table of six lines"
like "$err" '^banyan: 8 ranks  *least \(rank\)  *median  *most \(rank\)' "of all ranks"
like "$(row 'memory, most')" '^[0-9.]+ [KM]iB \([0-9]\)  *[0-9.]+ [KM]iB  *[2-9][0-9]{2}\.[0-9] MiB \(5\)$' "the rank with the most memory"
like "$(row 'CPU, user')" '^0\.[0-9]{3} s \([0-9]\)  *[0-9.]+ s  *[0-9.]+ s \([25]\)$' "and with the most CPU time"
like "$(row 'storage, written')" 'KiB|MiB' "and storage"

run "$banyan" run --timeout 240 --stats -n 2 sh -c 'exit $((BANYAN_RANK + 3))' </dev/null
is "$(wc -l <<<"$err")" 7 "one that fails: the table,"
like "$(tail -n 1 <<<"$err")" '^banyan: rank [01] on [^ ]+ exited with status [34]' "then the reason"

run "$banyan" run --timeout 240 --stats -n 1 "$scratch/no-such-program" </dev/null
is "$status $(wc -l <<<"$err")" "127 1" "one of which nothing has run has no table"

# A node is lost: its rank cannot be counted.
cat >"$scratch/killer" <<'SH'
#!/bin/bash
[ "$BANYAN_RANK" != 1 ] || kill -9 "$PPID"
SH
chmod +x "$scratch/killer"
run "$banyan" run --timeout 240 --stats --virtual-nodes 3 --per-node 1 --on-failure continue "$scratch/killer" </dev/null
like "$err" 'banyan: 2 ranks ' "ranks on nodes that were lost are left out"

# shellcheck disable=SC2016
run "$banyan" run --timeout 240 --stats -n 2 --oversubscribe --on-failure restart sh -c '[ $BANYAN_RESTART = 1 ] || exit 3' </dev/null
is "$status" 0 "ranks that are started again"
like "$err" 'banyan: 2 ranks ' "count once"

dir=$("$banyan" start --daemonize --virtual-nodes 2 --slots 2)
run "$banyan" run --instance "$dir" --timeout 240 --stats -n 3 true </dev/null
like "$err" '^banyan: 3 ranks ' "in an instance"
refuses 125 'option --stats cannot be used with --detach' "a job that is left alone has nobody to read it" \
    run --instance "$dir" --detach --stats true
run "$banyan" stop --instance "$dir"
is "$status" 0 "the instance ends"
refuses 125 'options --tasks and --stats cannot be used together' "tasks have a log" run --stats --tasks /dev/null
nothing_left_within 30 none "nothing is left"
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What `banyan run` and `banyan attach` make of the output of ranks: times and labels.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

# in_order FIRST SECOND THIRD: times as `date -u +%FT%T.%NZ` prints them, which sort as text.
in_order() {
    [ "$(printf '%s\n' "$@" | LC_ALL=C sort)" = "$(printf '%s\n' "$@")" ]
}

# ---- times ----
milliseconds='20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z'
nanoseconds='20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{9}Z'
before=$(date -u +%FT%T.%NZ)
run "$banyan" run --virtual-nodes 2 -n 2 --map-by node --timestamp --timestamp -l sh -c 'echo "a b"; echo; echo err >&2'
after=$(date -u +%FT%T.%NZ)
is "$status $(wc -l <<<"$out") $(wc -l <<<"$err")" "0 4 2" "lines of two ranks"
is "$(grep -cE "^$nanoseconds \[[01]\] (a b)?\$" <<<"$out")" 4 "--timestamp twice with -l: each has time and rank"
is "$(grep -cE "^$nanoseconds \[[01]\] err\$" <<<"$err")" 2 "so have those of stderr"
ok "the first time lies between start and end" in_order "$before" "$(head -n 1 <<<"$out" | cut -d ' ' -f 1)" "$after"
run "$banyan" run -n 1 --timestamp printf 'x\ny'
is "$(grep -cE "^$milliseconds (x|y)\$" <<<"$out")" 2 "--timestamp alone: milliseconds, no label"

# ---- attach ----
: >"$scratch/dir"
"$banyan" start --virtual-nodes 2 --slots 1 >"$scratch/dir" 2>"$scratch/start.err" &
starter=$!
until_true 60 test -s "$scratch/dir"
dir=$(cat "$scratch/dir")
"$banyan" run --instance "$dir" -n 2 \
    sh -c "until [ -e '$scratch/go' ]; do echo beat; sleep 0.1; done; echo done; echo bad >&2" >"$scratch/run.out" 2>&1 &
runner=$!
until_true 60 grep -q beat "$scratch/run.out"
"$banyan" attach --instance "$dir" -l --timestamp 1 >"$scratch/attached" 2>"$scratch/attached.err" </dev/null &
attached=$!
until_true 60 grep -q beat "$scratch/attached"
: >"$scratch/go"
wait "$attached"
is "$?" 0 "attach --label --timestamp"
wait "$runner"
is "$(grep -cE "^$milliseconds \[[01]\] done\$" "$scratch/attached")" 2 "labels and times of what comes after it"
is "$(grep -cE "^$milliseconds \[[01]\] bad\$" "$scratch/attached.err")" 2 "also of stderr"
is "$(grep -vcE "^$milliseconds \[[01]\] (beat|done)\$" "$scratch/attached")" 0 "and nothing without"
kill -TERM "$starter"
wait "$starter"
nothing_left_within 60 "" "nothing is left"
done_testing

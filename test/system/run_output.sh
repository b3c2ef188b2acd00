#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What `banyan run` and `banyan attach` make of the output of ranks: times, labels, folding, files.
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

# ---- folding ----
run "$banyan" run --virtual-nodes 4 -n 64 --oversubscribe --fold sh -c 'echo hello; echo to all; echo err >&2'
is "$status" 0 "--fold"
# How many lines it takes depends on the machine's load; each rank is in each text once.
# members TEXT FILE-TEXT: how many ranks have printed that text.
members() {
    sed -n "s/^\[\([0-9,-]*\)\] $1\$/\1/p" <<<"$2" | tr ',' '\n' |
        awk -F - '{ n += (NF > 1 ? $2 : $1) - $1 + 1 } END { print n + 0 }'
}
is "$(members hello "$out") $(members 'to all' "$out") $(members err "$err")" "64 64 64" "each line of each rank is there once"
run "$banyan" run -n 2 --oversubscribe --fold --merge --timestamp sh -c 'if [ $BANYAN_RANK = 1 ]; then seq 1 20000; fi'
is "$status $(sed 's/^[^ ]* \[1\] //' <<<"$out" | sha256sum)" "0 $(seq 1 20000 | sha256sum)" "lines of one rank keep their order"
refuses 125 "option --fold: " "--fold and files" run -n 1 --fold --output f true

# ---- files ----
cd "$scratch"
run "$banyan" run --virtual-nodes 3 --slots 4 -n 12 --output 'logs/%h/%2r' --error 'err.%r' \
    sh -c 'seq 1 1000; echo "bad $BANYAN_NODE" >&2'
is "$status $out$err" "0 " "output goes to files, and nothing to the terminal"
is "$(cd logs && find . -type f | LC_ALL=C sort | tr '\n' ' ')" \
    "./v1/00 ./v1/01 ./v1/02 ./v1/03 ./v2/04 ./v2/05 ./v2/06 ./v2/07 ./v3/08 ./v3/09 ./v3/10 ./v3/11 " \
    "one for each rank, by node and with zeros"
is "$(sha256sum logs/*/* | cut -d ' ' -f 1 | sort -u)" "$(seq 1 1000 | sha256sum | cut -d ' ' -f 1)" "each is complete"
is "$(cat err.0 err.11)" "bad v1
bad v3" "standard error has its own"
run "$banyan" run -n 2 --oversubscribe -l --output 'both.%r.%t' sh -c 'echo out; echo err >&2'
is "$status $out$err $(cat both.0.out both.1.err | tr '\n' ' ')" "0  [0] out [1] err " "%t takes standard error along"
run "$banyan" run -n 1 --merge --output 'merged.%j.%%' sh -c 'echo out; echo err >&2'
is "$status $out$err $(sort 'merged.1.%' | tr '\n' ' ')" "0  err out " "--merge, %j and %%"
run "$banyan" run -n 4 --oversubscribe --merge -l --output-from 1,3 sh -c 'echo out; echo err >&2'
is "$status $err $(sort <<<"$out" | tr '\n' ' ')" "0  [1] err [1] out [3] err [3] out " "--output-from"
echo before >once
run "$banyan" run -n 1 --output once true
is "$status $(wc -c <once)" "0 0" "a file is emptied also if nothing is printed"
# More files than may be open.
run bash -c 'ulimit -n 128; exec "$@"' - "$banyan" run -n 150 --oversubscribe --virtual-nodes 6 --output 'many.%3r' \
    sh -c 'echo begin; echo end'
is "$status $(cat many.* | sort | uniq -c | tr -s ' \n' ' ')" "0  150 begin 150 end " "150 files with 128 descriptors"

# ---- what cannot be written ----
mkdir folder
echo text >file
refuses 125 "cannot write output to folder: Is a directory" "a directory is not overwritten" run -n 1 --output folder touch started
refuses 125 "cannot write output to files in file: Not a directory" "a file is no directory" run -n 1 --error 'file/%r' touch started
refuses 125 "option --output: 'a.%x': expected %r " "an unknown pattern" run -n 1 --output a.%x touch started
refuses 125 "option --merge: " "--merge and --error" run -n 1 --merge --error e touch started
ok "nothing was started" [ ! -e started ]
is "$(cat file)" text "and nothing overwritten"
mkdir full.1
ln -s /dev/full full.0
run timeout 300 "$banyan" run --json "$scratch/json" -n 2 --oversubscribe --output 'full.%r' \
    sh -c 'if [ $BANYAN_RANK = 0 ]; then while echo line; do :; done; fi; exec sleep 1000'
is "$status" 125 "a full disk ends the job"
is "$err" "banyan: cannot write to full.0: No space left on device" "with one line"
nothing_left_within 60 "$(session_of "$scratch/json")" "and nothing is left"
run timeout 300 "$banyan" run -n 2 --oversubscribe --output 'full.%r' \
    sh -c '[ $BANYAN_RANK = 0 ] || echo line; exec sleep 1000'
is "$status $err" "125 banyan: cannot write to full.1: Is a directory" "so does a directory in the place of a file"

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

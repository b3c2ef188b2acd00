#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# `banyan run --stdin all`: standard input goes to every rank, whatever the others do with it.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"
unset BANYAN_INSTANCE

exists() { [ -e "$scratch/$1" ]; }
# until_there FILE: what a rank runs to wait for it.
until_there() { echo "until [ -e '$scratch/$1' ]; do sleep 0.05; done"; }
# each_of TEXT COUNT: that many equal lines.
each_of() { for ((i = 0; i < $2; i++)); do echo "$1"; done; }
sum() { sha256sum | cut -d ' ' -f 1; }

head -c 16777216 /dev/urandom >"$scratch/data"
data_sum=$(sum <"$scratch/data")
head -c 4000000 "$scratch/data" >"$scratch/part"
part_sum=$(sum <"$scratch/part")

# ---- all of it, to all ----
# shellcheck disable=SC2002 # a pipe is meant
is "$(cat "$scratch/data" | timeout 300 "$banyan" run --virtual-nodes 16 --radix 4 -N 4 --oversubscribe --stdin all \
    sh -c 'sha256sum | cut -d " " -f 1')" "$(each_of "$data_sum" 64)" "16 MiB from a pipe arrive at 64 ranks on 16 nodes"
is "$(timeout 300 "$banyan" run -n 3 --oversubscribe --stdin all sh -c 'sha256sum | cut -d " " -f 1' <"$scratch/part")" \
    "$(each_of "$part_sum" 3)" "from a file, too"
is "$("$banyan" run -n 3 --oversubscribe --stdin all wc -c </dev/null)" "$(each_of 0 3)" "the end alone"
is "$("$banyan" run -n 3 --oversubscribe --stdin all wc -c <&-)" "$(each_of 0 3)" "or nothing"

# A line at a time, as it is typed.
mkfifo "$scratch/typed"
"$banyan" run -n 3 --oversubscribe --stdin all --label cat <"$scratch/typed" >"$scratch/echoed" &
run=$!
exec 9>"$scratch/typed"
for line in one two; do
    echo "$line" >&9
    has_line() { [ "$(grep -c "$line" "$scratch/echoed")" = 3 ]; }
    until_true 60 has_line
    ok "a line arrives at all before there is another" has_line
done
exec 9>&-
wait $run
is $? 0 "the end of the input ends them"

# ---- ranks that do not read ----
cat >"$scratch/some" <<J
case \$BANYAN_RANK in
0) exit 0 ;;
1)
    exec <&-
    until [ -e $scratch/read ]; do sleep 0.05; done
    ;;
2) sleep 1000 & ;;
3)
    head -c 10 >/dev/null
    kill -9 \$\$
    ;;
*)
    sha256sum | cut -d " " -f 1
    touch $scratch/read
    ;;
esac
J
run timeout 300 "$banyan" run --virtual-nodes 3 -N 2 --oversubscribe --on-failure continue --stdin all \
    sh "$scratch/some" <"$scratch/part"
is "$status $out" "137 $(each_of "$part_sum" 2)" \
    "those that end, are killed, close their input or leave it to others do not stop the rest"

# ---- a slow rank ----
dir=$("$banyan" start --daemonize --virtual-nodes 2 --slots 4)
cat >"$scratch/slow" <<J
[ \$BANYAN_RANK != 1 ] || until [ -e $scratch/go ]; do sleep 0.05; done
[ \$BANYAN_RANK = 1 ] || head -c 1000 | tail -c 1 >$scratch/begun.\$BANYAN_RANK
cat >/dev/null
J
{
    cat "$scratch/data"
    touch "$scratch/written"
} | "$banyan" run -n 3 --stdin all sh "$scratch/slow" &
run=$!
both_begin() { exists begun.0 && exists begun.2; }
until_true 60 both_begin
ok "those that read get what the slow one has not read" both_begin
is "$("$banyan" run -n 3 --stdin all cat <<<other)" "$(each_of other 3)" "another job of the instance reads meanwhile"
nok() { ! "$@"; }
ok "the source is held back" nok exists written
touch "$scratch/go"
wait $run
is $? 0 "when it reads, all goes on"
ok "to the end" exists written
"$banyan" stop --instance "$dir" >/dev/null

# ---- a node that is lost ----
# The daemon of the first node, which relays for others, is the parent of the parent of its rank.
cat >"$scratch/lose" <<J
if [ \$BANYAN_NODE = v1 ]; then
    head -c 1000000 >/dev/null
    read -r _ _ _ daemon _ </proc/\$PPID/stat
    kill -9 "\$daemon"
    sleep 1000
fi
sha256sum | cut -d " " -f 1
J
run timeout 300 "$banyan" run --virtual-nodes 6 --radix 2 -N 1 --on-failure continue --stdin all \
    sh "$scratch/lose" <"$scratch/part"
is "$out" "$(each_of "$part_sum" 5)" "the death of a relay loses nothing for the ranks of other nodes"
like "$err" "node v1" "and is reported"

# ---- options ----
refuses 125 "option --stdin: 'al' is not a rank from 0 to 1, all or none" "a word that is none" run -n 2 --stdin al true
nothing_left_within 60 none "nothing is left"

done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What a user of `banyan run` sees: words, output, input, environment, exit statuses.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
stalls_matter=yes
. "$srcdir/test/support/run_lib.sh"
sanitized=${BANYAN_SANITIZERS:+yes}

# ---- words ----
for words in --version version 'run --version' 'map --version' 'alloc -V' 'doctor --version' \
    'sim --version' '-V' '-v --version'; do
    run "$banyan" $words
    like "$status $out" '^0 banyan [0-9]+\.[0-9]+\.[0-9]+$' "banyan $words"
done
for words in --help help 'help help'; do
    run "$banyan" $words
    like "$status $out" '^0 Usage: banyan COMMAND' "banyan $words"
done
for words in 'help run' 'run --help' 'run -n 3 -h' 'run --help --frobnicate' '--help run'; do
    run "$banyan" $words
    like "$status $out" '^0 Usage: banyan run .*--oversubscribe' "banyan $words"
done
run "$banyan" help >/dev/full
status=0
err=$("$banyan" help 2>&1 >/dev/full) || status=$?
is "$status $err" "125 banyan: cannot write to stdout: No space left on device" "help to /dev/full"

# ---- ways to write options ----
is "$("$banyan" run -lxA=1 -Hlocalhost sh -c 'echo "$A"')" "[0] 1" "letters may stand together"
is "$("$banyan" run --n=1 --x A=2 sh -c 'echo "$A"')" 2 "or have two dashes"
run "$banyan" run -vv -n1 true
like "$status $err" "^0 banyan: .*" "-vv"
is "$("$banyan" -l -n 1 run echo x)" "[0] x" "options may stand before the command"
refuses 125 "no command given; did you mean 'banyan run -n ... hostname'" "but there must be one" \
    -n 1 hostname
refuses 125 "no command given; 'banyan help' lists" "also when nothing follows" -v
is "$("$banyan" run --json - -n 1 echo out | sed -n '1p;s/^  "processes": \(.*\),/\1/p' | tr '\n' ' ')" "out 1 " \
    "--json - is standard output"
is "$(find . -maxdepth 1 -name -)" "" "and no file"
is "$("$banyan" alloc -H n1 -H n2:3,n1 --json | tr -d ' \n' | grep -o '"slots":[0-9]*' | head -n 1)" \
    '"slots":5' "a second -H adds"

# ---- exit statuses ----
# ends STATUS REGEX NAME ARGUMENT...: status and what stderr says ('' = nothing).
ends() {
    local expected=$1 regex=$2 name=$3
    shift 3
    run "$banyan" run --json "$scratch/json" "$@" </dev/null
    is "$status" "$expected" "$name: status"
    if [ -z "$regex" ]; then
        is "$err" "" "$name: nothing is complained of"
    else
        like "$err" "^banyan: .*$regex" "$name: message"
    fi
    nothing_left_within 5 "$(session_of "$scratch/json")" "$name: nothing is left"
}
ends 0 '' "true" -n 2 --oversubscribe true
ends 3 'rank [0-9]+ .*status 3' "exit 3" -n 2 --oversubscribe sh -c 'exit 3'
ends 7 'rank 1 .*status 7' "one of four fails" -n 4 --oversubscribe \
    sh -c 'if [ $BANYAN_RANK = 1 ]; then exit 7; fi; sleep 100'
ends 139 'rank 0 .*(SIGSEGV|signal 11|Segmentation)' "a crash" -n 1 sh -c 'kill -SEGV $$'
ends 124 'timed out after 5 s' "a time-out" --timeout 5 -n 2 --oversubscribe sleep 100
# record NAME: a member of the last record.
record() {
    sed -n "s/^ *\"$1\": \([^,]*\),*\$/\1/p" "$scratch/json"
}
is "$(record failure) $(record status) $(record processes) $(record nodes)" '"timeout" 124 2 1' \
    "the record says why"
ends 0 '' "more slots than processes" --slots 4 -n 1 true
ends 0 '' "two virtual nodes" --virtual-nodes 2 -n 2 true
ends 0 '' "three levels of virtual nodes" --virtual-nodes 7 --radix 2 true

# ---- output ----
run "$banyan" run -n 8 --oversubscribe sh -c 'i=0; while [ $i -lt 200 ]; do
    echo "line $i of rank $BANYAN_RANK, which is long enough to be cut somewhere"; i=$((i+1)); done'
is "$(printf '%s\n' "$out" | sort -u | grep -cx 'line [0-9]* of rank [0-7], which is long enough to be cut somewhere')" \
    1600 "1600 different lines come whole"
is "$(printf '%s\n' "$out" | wc -l)" 1600 "and nothing else"
is "$(printf '%s\n' "$out" | awk '$5 == "3," { if ($2 != n++) bad = 1 } END { print n, bad + 0 }')" \
    "200 0" "those of a rank in order"
run "$banyan" run -n 3 --oversubscribe -l sh -c 'printf "a\nb"'
is "$(printf '%s\n' "$out" | sort | tr '\n' ' ')" "[0] a [0] b [1] a [1] b [2] a [2] b " "-l labels lines"
run "$banyan" run -n 4 --oversubscribe printf foo
is "$out" foofoofoofoo "no byte is added to unfinished lines"
run "$banyan" run -n 1 sh -c 'echo out; echo err >&2'
is "$out $err" "out err" "stdout and stderr stay apart"
is "$("$banyan" run -n 1 head -c 20000000 /dev/zero | sha256sum)" \
    "$(head -c 20000000 /dev/zero | sha256sum)" "20 MB of zeros"
is "$("$banyan" run -n 2 --oversubscribe sh -c 'seq 300000' | sort -n | uniq -c | awk '$1 == 2' | wc -l)" \
    300000 "two ranks' numbers through a pipe"
is "$("$banyan" run -n 2 --oversubscribe sh -c 'seq 100000; echo end' |
    { sleep 1; cat; } | grep -c end)" 2 "a reader that begins late"

# What has no newline goes as fast as what has: within a second or so, where a line that keeps the
# output for nothing costs a second each time it does.
long_line="head -c 4000000 /dev/zero | tr '\\0' \$BANYAN_RANK"
started=$SECONDS
timeout 300 "$banyan" run -n 4 --oversubscribe sh -c "$long_line" >"$scratch/.long"
is "$(for rank in 0 1 2 3; do tr -cd $rank <"$scratch/.long" | wc -c; done | xargs) $(wc -c <"$scratch/.long")" \
    "4000000 4000000 4000000 4000000 16000000" "4 MB of each of four ranks without a newline"
timeout 300 "$banyan" run -n 4 --oversubscribe --virtual-nodes 2 -l sh -c "$long_line" >"$scratch/.long"
is "$(sed 's/\[[0-3]\] //g' "$scratch/.long" | tr -d '\n' | wc -c)" 16000000 "with labels, and on two nodes"
is "$(wc -l <"$scratch/.long")" 4 "which add no newline but at each rank's end"
timeout 300 "$banyan" run -n 16 --oversubscribe sh -c 'printf "%s\nlast" begin' >"$scratch/.long"
is "$(wc -c <"$scratch/.long")" 160 "lines that end without one"
ok "without waiting for each other" [ $((SECONDS - started)) -lt 100 ]

# ---- input ----
seq 200000 >"$scratch/numbers"
is "$(cat "$scratch/numbers" | "$banyan" run -n 2 --oversubscribe cat | cksum)" \
    "$(cksum <"$scratch/numbers")" "stdin goes to rank 0"
is "$("$banyan" run -n 1 cat <"$scratch/numbers" | cksum)" "$(cksum <"$scratch/numbers")" "also from a file"
is "$("$banyan" run -n 1 wc -c </dev/null | tr -d ' ')" 0 "and from /dev/null"
is "$(echo x | "$banyan" run -n 2 --oversubscribe --stdin 1 -l cat)" "[1] x" "--stdin 1"
is "$(echo x | "$banyan" run -n 2 --oversubscribe --stdin none -l cat)" "" "--stdin none"
is "$({ echo x; exec sleep 3; } | timeout 300 "$banyan" run -n 1 head -n 1)" x \
    "a program that does not read to the end"
is "$("$banyan" run -n 1 cat <&-; echo $?)" 0 "a closed stdin is empty"

# A job of the shell that comes to the foreground hears nothing of it: it was never stopped.
cat >"$scratch/fg" <<'J'
set -m
"$banyan" run -n 1 sh -c 'read line; echo "it is $line"' &
sleep 0.5
fg >/dev/null
J
if command -v script >/dev/null; then
    out=$({ sleep 1; echo here; sleep 1; } | banyan=$banyan timeout 300 script -qec "bash $scratch/fg" /dev/null)
    like "$out" "it is here" "input after fg"
else
    skip "no script(1): no terminal"
fi

# ---- programs that cannot be run ----
printf '#!/nowhere/sh -e\nexit\n' >"$scratch/gone"
printf '#!/bin/sh\r\nexit\r\n' >"$scratch/dos"
chmod +x "$scratch/gone" "$scratch/dos"
refuses 127 "cannot run $scratch/gone on .* \(rank 0\): its interpreter /nowhere/sh does not exist" \
    "an interpreter that is not there" run "$scratch/gone"
refuses 127 "its interpreter /bin/sh.r does not exist; it has DOS line endings" "a script from DOS" \
    run "$scratch/dos"
PATH=$scratch:$PATH refuses 127 "its interpreter /nowhere/sh does not exist" "found by PATH" run gone
refuses 126 "cannot run $scratch on .* \(rank 0\): Is a directory" "a directory" run "$scratch"

# ---- several that fail ----
run "$banyan" run -n 4 --oversubscribe sh -c 'exit $BANYAN_RANK' </dev/null
like "$err" "^banyan: rank [1-3] on [^ ]* exited with status $status(;|\$)" "the line is about the rank of the status"

# ---- the record ----
run "$banyan" run -n 2 --oversubscribe --json "$scratch/record" false
is "$status $(sed -n 's/^ *"\(processes\|nodes_used\|processes_ended\)": \([0-9]*\),*$/\1=\2/p' "$scratch/record" | xargs)" \
    "1 nodes_used=1 processes=2 processes_ended=2" "the record of a job that fails at once counts it"

# ---- stdout that cannot be written ----
status=0
err=$("$banyan" run -n 1 echo hello 2>&1 >/dev/full) || status=$?
is "$status $err" "125 banyan: cannot write to stdout: No space left on device" "/dev/full"
status=0
err=$("$banyan" run -n 1 echo hello 2>&1 >&-) || status=$?
is "$status $err" "125 banyan: cannot write to stdout: Bad file descriptor" "a closed stdout"
is "$("$banyan" run -n 1 true >&-; echo $?)" 0 "a closed stdout that is not needed"
"$banyan" run -n 2 --oversubscribe yes 2>"$scratch/.err" | head -n 1 >"$scratch/.out"
is "${PIPESTATUS[0]} $(cat "$scratch/.out")" "141 y" "a reader that goes away"
is "$(cat "$scratch/.err")" "" \
    "and is told of"

# ---- what the processes see ----
is "$("$banyan" run -n 1 --wdir / pwd)" / "--wdir"
is "$(cd /usr && "$banyan" run -n 1 pwd)" /usr "the current directory"
is "$("$banyan" run -n 1 -x A=1 -x A=2 -x 'B=x y' sh -c 'echo "$A $B"')" "2 x y" "-x"
is "$(C=here "$banyan" run -n 1 sh -c 'echo "$C"')" here "the environment is forwarded"
is "$(PMIX_RANK=77 "$banyan" run -n 1 sh -c 'echo "$PMIX_RANK"')" 0 "but not a launcher's around us"
newline=$'one\ntwo\n'
is "$(N=$newline "$banyan" run -n 1 sh -c 'printf "%s." "$N"')" "$newline." "newlines in variables"
is "$("$banyan" run -n 1 printf '%s.' "$newline")" "$newline." "and in arguments"
greet() {
    echo "hello $1"
}
export -f greet
is "$("$banyan" run -n 1 bash -c 'greet you')" "hello you" "exported shell functions"
latin=$(printf '\351t\351')
is "$(L=$latin "$banyan" run -n 1 sh -c 'printf "%s %s" "$L" "$1"' sh "$latin" | od -An -tx1)" \
    "$(printf '%s %s' "$latin" "$latin" | od -An -tx1)" "bytes that are not UTF-8"
long=$(head -c 100000 /dev/zero | tr '\0' x)
is "$(V1=$long V2=$long V3=$long "$banyan" run -n 2 --oversubscribe \
    sh -c 'echo ${#V1} ${#V2} ${#V3} ${#1} ${#2}' sh "$long" "$long" | sort -u)" \
    "100000 100000 100000 100000 100000" "500 kB of environment and arguments"

# ---- many short runs ----
runs=20
[ -z "$sanitized" ] || runs=3
good=0
for ((i = 0; i < runs; i++)); do
    [ "$(timeout 300 "$banyan" run -n 64 --oversubscribe echo x | wc -l)" = 64 ] && good=$((good + 1))
done
is "$good" $runs "64 ranks that end at once, $runs times"
is "$(left_files)" "" "nothing is left in TMPDIR"
done_testing

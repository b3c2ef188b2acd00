#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# --stack: when the time of a job is over the user reads in which functions its ranks are, equal stacks in one line; and
# banyan ps --stack of a job that goes on.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"
. "$srcdir/test/support/timeout_lib.sh"

compiler=${CC:-cc}
type -P gdb >/dev/null && type -P ${compiler%% *} >/dev/null || skip_all "needs gdb and a compiler"
sleep 100 &
sleeper=$!
traced=$(gdb -nx -batch -p $sleeper -ex bt 2>&1 </dev/null)
kill $sleeper
[[ $traced == *"#0 "* ]] || skip_all "gdb cannot trace processes here"

cat >"$scratch/program.c" <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) void wait_for_ever(void)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s", getenv("MARKS"), getenv("BANYAN_RANK"));
    close(open(path, O_CREAT | O_WRONLY, 0666));
    for (;;)
        pause();
}

__attribute__((noinline)) void exchange_halo(void)
{
    wait_for_ever();
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void write_output(void)
{
    wait_for_ever();
    __asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
    if (argc > 1 && atoi(argv[1]) == atoi(getenv("BANYAN_RANK")))
        write_output();
    exchange_halo();
    return 0;
}
C
$compiler -O0 -fno-omit-frame-pointer -o "$scratch/program" "$scratch/program.c" || exit 1
timeout_options=(--stack)

expected=('banyan: ranks 0-1,3-7 on v\[1-4\]: main > exchange_halo > wait_for_ever > [^ ]*pause'
    'banyan: rank 2 on v2: main > write_output > wait_for_ever > [^ ]*pause')
times_out "stacks" 8 --virtual-nodes 4 --per-node 2 "$scratch/program" 2
like "$(head -n 1 <<<"$err")" 'ranks 0-7 on v\[1-4\]: sleeping' "first comes the state"
like "$(tail -n 1 <<<"$err")" 'timed out after [0-9]* s$' "and then the reason"
is "$(grep -c . <<<"$err")" 4 "and nothing else"

expected=('banyan: ranks 0-7 on v1: main > exchange_halo' 'banyan: and 4 more ranks, on nodes with more than 8')
times_out "many ranks of a node" 12 --virtual-nodes 1 --per-node 12 "$scratch/program"

expected=('ranks 0-6 on v\[1-7\]: main > exchange_halo')
times_out "a deep tree, and a shell around the program" 7 --virtual-nodes 7 --radix 2 --per-node 1 \
    sh -c '"$0"; true' "$scratch/program"

# A PATH with neither, and one with programs of that name.
mkdir "$scratch/bin"
for tool in bash sh sleep cat touch; do ln -s "$(type -P $tool)" "$scratch/bin/$tool"; done
cat >"$scratch/run-there" <<SH
#!/bin/bash
PATH=$scratch/bin exec "$banyan" "\$@"
SH
chmod +x "$scratch/run-there"
real=$banyan
banyan=$scratch/run-there
expected=('no stack of ranks 0-3 on v\[1-4\]: neither gdb nor eu-stack is in PATH there; install gdb or elfutils')
times_out "neither" 4 --virtual-nodes 4 --per-node 1 "$scratch/program"
is "$(grep -c 'no stack of' <<<"$err")" 1 "one line for all nodes"

printf '#!/bin/sh\necho "ptrace: Operation not permitted." >&2\nexit 1\n' >"$scratch/bin/gdb"
chmod +x "$scratch/bin/gdb"
expected=('no stack of ranks 0-3 on v\[1-4\]: ptrace is not permitted: ')
times_out "refused" 4 --virtual-nodes 4 --per-node 1 "$scratch/program"

printf '#!/bin/sh\necho $$ >>"%s/hung"\nexec sleep 1000\n' "$scratch" >"$scratch/bin/gdb"
expected=('no stack of ranks 0-1 on v\[1-2\]: gdb took too long and was killed')
times_out "a gdb that hangs" 2 --virtual-nodes 2 --per-node 1 "$scratch/program"
alive=0
for pid in $(cat "$scratch/hung"); do
    if [ -d /proc/$pid ] && grep -q sleep /proc/$pid/comm 2>/dev/null; then alive=$((alive + 1)); fi
done
is $alive 0 "and is not left"
banyan=$real

# A job of an instance, which goes on.
dir=$("$banyan" start --virtual-nodes 2 --slots 2 --daemonize 2>/dev/null)
job=$("$banyan" run --instance "$dir" --detach -x MARKS --per-node 2 "$scratch/program" 1)
rm -f "$MARKS"/*
for _ in {1..600}; do
    said=$("$banyan" ps --instance "$dir" --stack $job)
    [[ $said == *exchange_halo*write_output* ]] && break
    sleep 0.1
done
like "$said" 'ranks 0,2-3 on v\[1-2\]: main > exchange_halo > wait_for_ever' "ps --stack"
like "$said" 'rank 1 on v1: main > write_output > wait_for_ever' "of all ranks"
like "$("$banyan" ps --instance "$dir")" $'\n'" *$job  *running" "the job goes on"
refuses 125 "no job 99 is running" "another job" ps --instance "$dir" --stack 99
refuses 125 "option --stack needs one job" "no job" ps --instance "$dir" --stack
refuses 125 "option --stack cannot be used with --json" "JSON" ps --instance "$dir" --stack --json $job
"$banyan" kill --instance "$dir" $job >/dev/null 2>&1
run "$banyan" stop --instance "$dir" --now </dev/null

refuses 125 "option --stack cannot be used with --detach" "detached" run --detach --stack true
refuses 125 "option --stack cannot be used with --no-daemons" "without daemons" run --no-daemons --stack -H localhost true

nothing_left_within 30 none "nothing is left"
done_testing

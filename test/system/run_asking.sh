#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# --alloc: asked of a real Slurm (contrib/testbed/with-slurm.sh) the nodes come, are used and given
# back however the run ends; LSF and PBS are stand-ins here that check what they are told.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
stalls_matter=yes

export TMPDIR=$scratch
cd "$scratch" || exit 1

refuses() {
    local name=$1 regex=$2
    shift 2
    run "$banyan" run "$@" true </dev/null
    is "$status:$out" "125:" "$name: refused"
    like "$err" "^banyan: $regex" "$name: it says why"
}

if [ -z "${SLURM_TESTBED:-}" ]; then
    # ---- Stand-ins ----
    mkdir bin
    cat >bin/bsub <<'B'
#!/bin/bash
printf '%s\n' "$@" >bsub.arguments
[ "$1" = -I ] || exit 99
shift
while [ "${1#-}" != "$1" ]; do shift 2; done
export LSB_JOBID=17 LSB_MCPU_HOSTS="localhost 3 "
trap 'kill -TERM $run' TERM
"$@" & run=$!
wait $run; status=$?
[ $status -le 128 ] || { wait $run; status=$?; }
echo given back >>bsub.end
exit $status
B
    cat >bin/qsub <<'Q'
#!/bin/bash
printf '%s\n' "$@" >qsub.arguments
[ -t 0 ] || { echo "qsub: standard input not a terminal" >&2; exit 98; }
while [ "$1" != -- ]; do shift; done
shift
printf 'localhost\nlocalhost\n' >nodes
cd /
PBS_JOBID=5.srv PBS_NODEFILE=$OLDPWD/nodes "$@"
Q
    chmod +x bin/*
    export PATH=$scratch/bin:$PATH

    run "$banyan" run -l --alloc "lsf: -n 3 -q 'two words' -W 1:00" --timeout 240 sh -c 'echo "a b"' </dev/null
    is "$status" 0 "LSF: it runs"
    is "$(sort <<<"$out" | xargs)" "[0] a b [1] a b [2] a b" "with as many ranks as slots"
    is "$(head -n 8 bsub.arguments | xargs -d '\n')" "-I -n 3 -q two words -W 1:00 $(readlink -f "$banyan")" \
        "bsub is told the options, quotes kept together"
    is "$(tail -n +9 bsub.arguments | xargs -d '\n')" 'run -l --timeout 240 sh -c echo "a b"' \
        "and the run without --alloc"
    run "$banyan" run --alloc=lsf: sh -c 'exit 9' </dev/null
    is "$status" 9 "the run's status"
    rm bsub.end
    "$banyan" run --alloc=lsf: sleep 8642 </dev/null 2>/dev/null &
    pid=$!
    ok "a run" until_true 20 pgrep -f '^sleep 8642'
    kill -KILL "$pid"
    ok "SIGKILL of the front end reaches bsub" until_true 20 test -e bsub.end
    ok "and ends the run" until_true 20 eval '! pgrep -f "^sleep 8642" >/dev/null'

    if command -v script >/dev/null; then
        run script -qec "'$banyan' run --alloc 'pbs: -l select=2' pwd" /dev/null </dev/null
        is "$status:$(sort -u <<<"$out" | tr -d '\r' | xargs)" "0:$scratch" \
            "PBS: it runs where the user is"
        is "$(head -n 6 qsub.arguments | xargs -d '\n')" "-I -V -x -l select=2 --" "qsub is told how"
    else
        skip "no script(1) for a terminal"
    fi
    # Without one it gets a terminal; no byte of input or output is changed.
    printf 'a b\n\ttab\n' >input
    run "$banyan" run --alloc pbs: -n 1 --timeout 240 cat <input
    is "$status:$out" "0:$(cat input)" "PBS without a terminal: input, its end and output"
    run "$banyan" run --alloc pbs: -n 1 --timeout 240 sh -c 'exit 9' </dev/null
    is "$status" 9 "and the status"
    printf '#!/bin/sh\nprintf "salloc: %%s\\n" "Granted job allocation 7" "Nodes n1 are ready for job" >&2\nexec "$@"\n' \
        >bin/salloc
    chmod +x bin/salloc
    run "$banyan" run --alloc slurm: -n 1 --timeout 240 echo good </dev/null
    is "$status:$out:$err" "0:good:" "Slurm: good news of salloc is not told"
    rm bin/salloc
    refuses "an unknown scheduler" "option --alloc: 'moab: -n 1' does not begin with" \
        --alloc 'moab: -n 1'
    refuses "no colon" "option --alloc: .* does not begin" --alloc 4
    refuses "an open quote" "option --alloc: unterminated quote" --alloc "lsf: -q 'a"
    run env PATH=/nowhere "$banyan" run --alloc slurm: true </dev/null
    is "$status:$err" "125:banyan: no nodes: salloc: error: cannot run: No such file or directory" \
        "no such command: it says why"

    # ---- The real one ----
    in_slurm run_asking.sh 4 400 >real
    if [ "$status" -eq 77 ]; then
        skip "$(tail -n 1 "$scratch/reason")"
    else
        sed 's/^\(ok\|not ok\) [0-9]*/\1/' real | grep -E '^(ok|not ok)' >results
        while read -r line; do
            case $line in
            ok*) pass "Slurm: ${line#ok - }" ;;
            *) fail "Slurm: ${line#not ok - }" ;;
            esac
        done <results
        grep '^#' "$scratch/reason" >&2
        is "$status" 0 "the part with Slurm ends well"
    fi
    done_testing
fi

no_job() {
    [ -z "$(squeue -h)" ]
}
gone() {
    no_job && ! pgrep -x banyand >/dev/null && ! pgrep -f "^sleep 8642" >/dev/null
}
sleeping() {
    [ "$(pgrep -cf "^sleep 8642")" -ge 3 ]
}

run "$banyan" run --alloc "slurm: -N3 -n4" hostname </dev/null
is "$status:$err" "0:" "it runs without a word"
is "$(sort <<<"$out" | xargs)" "sim1 sim1 sim2 sim3" "on the nodes that were asked for"
ok "which are given back" until_true 10 no_job
# Its own pipes then get the numbers that the run's are to have.
statuses=
for fd in 3 4 5 6 7; do
    eval "exec $fd</dev/null"
    run "$banyan" run --alloc "slurm: -N1" true </dev/null
    statuses+="$status:$err "
done
exec 3<&- 4<&- 5<&- 6<&- 7<&-
is "$statuses" "0: 0: 0: 0: 0: " "whatever descriptors are open already"
ok "and those are given back, too" until_true 10 no_job
run "$banyan" run --alloc "slurm: -w sim[2,4]" -v hostname </dev/null
is "$(sort <<<"$out" | xargs)" "sim2 sim4" "nodes by name"
run "$banyan" run --alloc "slurm: -N2" --stdin 0 cat <<<"a line"
is "$out" "a line" "stdin goes in"
run "$banyan" run --alloc "slurm: -N2" sh -c 'exit 7' </dev/null
is "$status" 7 "the run's status comes back"
run "$banyan" run --alloc "slurm: -N2 -p nowhere" touch never </dev/null
is "$status" 125 "what Slurm refuses"
like "$err" "^banyan: no nodes: salloc: error: .*nvalid partition" "is said in its words"
ok "nothing has run" test ! -e never
printf 'SlurmctldHost=nowhere\nnonsense\n' >nowhere.conf
run env SLURM_CONF="$PWD/nowhere.conf" "$banyan" run --alloc "slurm: -N2" touch never </dev/null
like "$status:$err" "^125:banyan: no nodes: salloc: [a-z]+: [^
]*$" "where there is no Slurm one line says so"

for signal in TERM KILL; do
    "$banyan" run --alloc "slurm: -N3" sleep 8642 </dev/null >/dev/null 2>"err.$signal" &
    pid=$!
    ok "a run to end with SIG$signal" until_true 30 sleeping
    kill -s "$signal" "$pid"
    wait "$pid"
    status=$?
    ok "everything is given back after SIG$signal" until_true 20 gone || diag "$(squeue)"
    case $signal in
    TERM) is "$status" 143 "with its status" ;;
    KILL) is "$status" 137 "with its status" ;;
    esac
done

# While it waits in the queue, and the same when it is killed there.
salloc -Q -N4 --exclusive sleep 60 </dev/null 2>/dev/null &
holder=$!
ok "all nodes are busy" until_true 20 eval '[ "$(squeue -h -t R | wc -l)" = 1 ]'
"$banyan" run --alloc "slurm: -N3" sleep 8642 </dev/null >/dev/null 2>err.wait &
pid=$!
ok "it waits" until_true 20 eval '[ "$(squeue -h -t PD | wc -l)" = 1 ]'
ok "and says so" until_true 20 grep -q "^banyan: salloc: .*queued and waiting" err.wait
kill -KILL "$pid"
wait "$pid" 2>/dev/null
ok "killed while it waits it wants nothing any more" \
    until_true 20 eval '[ "$(squeue -h -t PD | wc -l)" = 0 ]'
for signal in INT TERM; do
    env --default-signal=INT "$banyan" run --alloc "slurm: -N3" sleep 8642 </dev/null >/dev/null \
        2>"err.queued.$signal" &
    pid=$!
    ok "another one waits" until_true 20 eval '[ "$(squeue -h -t PD | wc -l)" = 1 ]'
    kill -s "$signal" "$pid"
    wait "$pid"
    is $? $([ $signal = INT ] && echo 130 || echo 143) "SIG$signal while it waits: the status"
    ok "it wants nothing any more" until_true 20 eval '[ "$(squeue -h -t PD | wc -l)" = 0 ]'
    like "$(grep -v 'salloc: .*\(Pending\|queued\)' "err.queued.$signal")" \
        "^banyan: ended by signal [0-9]+ [^
]* while waiting for nodes; [^
]*$" "which is told in one line"
done
kill "$holder"
wait "$holder" 2>/dev/null
done_testing

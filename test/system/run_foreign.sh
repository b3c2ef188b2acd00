#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What somebody types who comes from mpirun, mpiexec.hydra, prterun or srun: each option that their
# help prints on this machine is one of banyan's, or gets a line of its own.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

# names: the options in a help text on stdin, without dashes and values, one a line.
names() {
    grep -oE '^ *-[^ ]*( \| --?[^ ]*|, --[^ ]*)*' | tr ',| ' '\n\n\n' | sed -n 's/^--*\([A-Za-z][A-Za-z0-9_-]*\).*/\1/p' |
        sort -u
}

# table_names: the same of a help in a table, whose first cell is 20 characters wide and goes on below
# (PRRTE 3, and Open MPI 5, whose mpirun is prterun).
table_names() {
    awk '/^\+/ { print cell; cell = ""; next }
        /^\|/ { part = substr($0, 3, 20); sub(/ +$/, "", part)
            cell = cell ((cell == "" || cell ~ /-$/) ? "" : " ") part }' |
        grep -oE '"--?[A-Za-z][A-Za-z0-9_-]*' | sed 's/^"-*//' | sort -u
}

# unanswered: those of the names on stdin that banyan only calls unknown, or takes for a slip. What
# it has itself is followed by an option that nobody has, so that nothing starts.
unanswered() {
    local name
    while read -r name; do
        for word in "-$name" "--$name"; do
            run "$banyan" run "$word" --nobody-has-this </dev/null
            [[ $err != "banyan: unknown option '$word': --help lists"* &&
                $err != "banyan: unknown option '$word': did you mean"* ]] || echo "$word"
        done
    done
}

# answers COMMAND AT_LEAST PRINT...: all that PRINT prints, if there is such a command.
answers() {
    local command=$1 least=$2 list count
    shift 2
    if ! command -v "$command" >/dev/null; then
        skip "$command is not installed"
        return
    fi
    list=$("$@" 2>&1 | tee "$scratch/help" | names)
    list=$({ echo "$list"; table_names <"$scratch/help"; } | sort -u | sed '/^$/d')
    count=$(printf '%s\n' "$list" | wc -l)
    ok "$command --help prints $least options or more, it is $count" [ "$count" -ge "$least" ]
    is "$(printf '%s\n' "$list" | unanswered)" "" "each of them has an answer"
}

printf 'ClusterName=x\nSlurmctldHost=localhost\nNodeName=localhost\nPartitionName=p Nodes=localhost\n' \
    >"$scratch/slurm.conf"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 SLURM_CONF=$scratch/slurm.conf
# That of Open MPI 5 prints none, and hands all to prterun.
if mpirun.openmpi --version 2>&1 | grep -qE ' [5-9]\.'; then
    skip "mpirun.openmpi prints no options"
else
    answers mpirun.openmpi 20 mpirun.openmpi --help full
fi
answers mpiexec.hydra 40 mpiexec.hydra --help
answers prterun 30 prterun --help
answers srun 100 srun --help

# ---- words that people type ----
while IFS='|' read -r words expected; do
    [ -n "$words" ] || continue
    read -ra list <<<"$words"
    refuses 125 "$expected" "${words}" run "${list[@]}"
done <<'EOT'
--ntasks-per-node=2 hostname|: use -N N
-perhost 2 hostname|: use -N N
-npernode 2 hostname|: use -N N
--n=0 hostname|must be a whole number from 1
--mca btl tcp,self hostname|: banyan reads no MCA parameters.* -x OMPI_MCA_NAME=VALUE
--prefix /usr hostname|: not needed; --banyand PATH
--app file|: use --app-file FILE
-o out.%t hostname|: use --output FILE.%r
--wait 3 hostname|: a job ends with its last rank
-p debug hostname|: an option of the scheduler
--byslot hostname|: use --map-by slot
-genv FOO bar hostname|: use -x NAME=VALUE
-w n1,n2 hostname|: use --host LIST
-c 2 hostname|: use -n N .* --cpus-per-rank N
-t 5 hostname|: use --timeout SECONDS
--mem=4G hostname|: use --require
--pty bash|option --pty: standard input is not a terminal
-iface eth0 hostname|: use --net INTERFACE
--do-not-launch hostname|: use 'banyan map'
--cpu-bind=cores hostname|: use --bind-to LEVEL
-Host n1 hostname|did you mean '--host'\?
--oversubscrbe hostname|did you mean '--oversubscribe'\?
--lable hostname|did you mean '--label'\?
--frobnicate hostname|: --help lists the options
-x n3_is_not_set hostname|is not set here
EOT
run "$banyan" uptime </dev/null
unlike "$err" "did you mean" "no command is near to uptime"
like "$err" "^banyan: unknown command 'uptime'; .*'banyan run uptime' starts a program" "which may be a program"
run "$banyan" alloc --ntasks-per-node 2
like "$err" "unknown option '--ntasks-per-node': --help lists" "who starts no ranks says nothing of -N"
run "$banyan" alloc -f hosts
like "$err" "unknown option '-f': use --hostfile FILE" "but of its own options"
done_testing

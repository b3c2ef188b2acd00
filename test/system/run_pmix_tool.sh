#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Tools (test/tool/pmix_tool.c, and pps if it is installed) connect to a node's PMIx server by search, by the server's
# process id, by a namespace and by a file, ask about the job and control it; nobody is disturbed by those that cannot.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

program=$top_builddir/test/tool/pmix_query
tool=$top_builddir/test/tool/pmix_tool
[ -x "$program" ] && [ -x "$tool" ] || skip_all "pmix_tool is not built"
unset "${!PMIX_@}"
export TMPDIR=$scratch

# tool STEP...: what it says, in one line.
tool() {
    timeout 300 "$tool" "$@" 2>/dev/null | xargs
}

find_file() { # END: of the file's name
    find "$scratch" -name "pmix.*.tool.*$1" 2>/dev/null | head -n 1
}

"$banyan" run --timeout 240 --mpi pmix -n 2 "$program" running sleep:100000 </dev/null >"$scratch/out" 2>"$scratch/err" &
job=$!
for ((i = 0; i < 600; i++)); do
    file=$(find_file -1)
    [ -z "$file" ] || break
    sleep 0.05
done
namespace=${file##*.tool.}
like "$namespace" '^banyan-[0-9a-f]+-1$' "a job that uses PMIx has a file for tools"
is "$(stat -c %a "$file")" 600 "which only its user can read"
server=$(ls "${file%/*}" | sed -n 's/^pmix\..*\.tool\.\([0-9]*\)$/\1/p')
like "$(cat "/proc/$server/comm")" pmix "another is named after the server's process"

like "$(tool search self)" '^self: banyan-tool-[0-9]+-1$' "a tool that searches gets a namespace"
is "$(tool search jobs)" "jobs: $namespace" "and hears of the job"
is "$(tool "pid:$server" name=my.tool self "table:$namespace" jobs)" \
    "self: my.tool table: 0@$(hostname -s) 1@$(hostname -s) jobs: $namespace" "by process id, with a name of its own"
is "$(tool "namespace:$namespace" jobs)" "jobs: $namespace" "by the job's namespace"
is "$(tool "file:$file" jobs)" "jobs: $namespace" "by the file"
is "$(tool "uri:$(head -n 1 "$file")" jobs)" "jobs: $namespace" "by what is in it"
# libpmix 4.2.2 does not heed the refusal in a tool, which then fails a moment later, or waits.
is "$(timeout 3 "$tool" search "name=$namespace" jobs 2>/dev/null | grep -c '^jobs:')" 0 "who calls itself like a job is refused"
for ((i = 0; i < 8; i++)); do
    tool search jobs &
    tools[i]=$!
done >"$scratch/many"
wait "${tools[@]}"
is "$(grep -c "^jobs: $namespace$" "$scratch/many")" 8 "eight at once"
if command -v pps >/dev/null; then
    like "$(timeout 300 pps 2>&1)" "Active nspaces: $namespace" "pps of libpmix"
else
    skip "pps of libpmix is not installed (package libpmix-bin)"
fi
is "$(tool search "pause:$namespace:1" "resume:$namespace:all" pause:none:0)" \
    "pause: SUCCESS resume: SUCCESS pause: NOT-FOUND" "a tool controls the job"
is "$(tool search allocate:2 allocate:2 jobs)" "allocate: NOT-SUPPORTED allocate: NOT-SUPPORTED jobs: $namespace" \
    "a tool cannot change the allocation"
# The run ends with its job, and with it the server that answers, which libpmix 5 may notice first.
like "$(tool search "kill:$namespace:all")" '^kill: (SUCCESS|COMM-FAILURE)$' "and ends it"
wait "$job"
is "$?:$(tail -n 1 "$scratch/err")" "137:banyan: killed by a tool" "which is said"
is "$(head -n -1 "$scratch/err")" \
    "banyan: PMIx_Allocation_request on $(hostname -s): cannot extend the allocation: the nodes of a running banyan do not change: start it with all nodes that are needed" \
    "and so is the allocation that was refused"
is "$(find_file '')" "" "nothing is left for tools"
is "$(tool search jobs | sed 's/:.*//')" PMIx_tool_init "and none can connect"

# A tool spawns, through a job that runs.
worker=$top_builddir/test/tool/pmix_spawn
"$banyan" run --timeout 240 --mpi pmix --virtual-nodes 4 --slots 2 -n 2 --map-by node "$program" running sleep:100000 \
    </dev/null >"$scratch/out" 2>"$scratch/err" &
job=$!
for ((i = 0; i < 600; i++)); do
    file=$(find_file -1)
    [ -z "$file" ] || break
    sleep 0.05
done
is "$(tool "file:$file" name=my-spawner "spawn:4:$worker:say" "spawn:1:sh:-c:sleep 1; exit 3" spawn:1:/nowhere/none "spawn:99:$worker:say" jobs)" \
    "spawn: SUCCESS end: 0 spawn: SUCCESS end: 3 spawn: JOB-EXE-NOT-FOUND spawn: JOB-FAILED-TO-MAP jobs: ${file##*.tool.}" \
    "a tool spawns jobs, and hears of their ends"
is "$(sed -n 's/^job \([0-9]*\) rank [0-9]* of \([0-9]*\) .* parent \([^ ]*\) in .*/\1 \2 \3/p' "$scratch/out" | sort | uniq -c | xargs)" \
    "4 2 4 spawner.0" "which know the tool as their parent"
is "$(grep -c "^banyan: job [45], which a tool has spawned, does not run: " "$scratch/err")" 2 "what does not run is said"
is "$(tool "file:$file" name=my.quitter spawn:1:sleep:100 >/dev/null & wait_ps=$!; sleep 2; kill -KILL $wait_ps; wait $wait_ps 2>/dev/null; tool "file:$file" jobs | wc -w)" 2 "a job lives on without its tool"
is "$(tool "file:$file" "kill:${file##*.tool.}:all")" "kill: SUCCESS" "until the job ends through which it was spawned"
wait "$job"
is "$(pgrep -fxc 'sleep 100')" 0 "with which it ends"

done_testing

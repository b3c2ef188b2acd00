#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# --profile: how long the nodes of a run took for each phase, as a table and in the JSON summary.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"
unset BANYAN_INSTANCE

# phases: of the table on stderr; nodes PHASE: how many; slowest PHASE: the first.
phases() { sed -n 's/^banyan: \(join\|wait\|start\|run\|drain\) .*/\1/p' <<<"$err" | tr '\n' ' '; }
nodes() { sed -n "s/^banyan: $1  *\([0-9]*\) .*/\1/p" <<<"$err"; }
slowest() { sed -n "s/^banyan: $1 .*s  \([^ ]*\) (.*/\1/p" <<<"$err"; }

mkdir "$scratch/done"
# The others have ended, or nearly so, two seconds before rank 4 does.
run "$banyan" run --profile --json "$scratch/summary" --virtual-nodes 7 --radix 2 --per-node 1 sh -c '
    if [ "$BANYAN_RANK" = 4 ]; then
        until [ "$(ls "$0" | wc -l)" = 6 ]; do sleep 0.1; done
        sleep 2
    else
        touch "$0/$BANYAN_RANK"
    fi
    echo "$BANYAN_RANK"' "$scratch/done" </dev/null
is "$status $(sort <<<"$out" | tr '\n' ' ')" "0 0 1 2 3 4 5 6 " "a run with --profile"
is "$(phases)" "join wait start run drain " "a line for each phase"
like "$err" 'phase +nodes +min +median +p99 +max +slowest' "below titles"
is "$(nodes join) $(nodes run)" "7 7" "of all nodes"
is "$(slowest run)" v5 "the slowest node is named"
is "$(python3 - "$scratch/summary" <<'PY'
import json, sys
profile = json.load(open(sys.argv[1]))["profile"]
run = profile["run"]
print(sorted(profile), run["nodes"], run["slowest"][0]["node"], run["max_ms"] > 1000,
      run["min_ms"] <= run["median_ms"] <= run["p99_ms"] <= run["max_ms"], len(run["slowest"]))
PY
)" "['drain', 'join', 'run', 'start', 'wait'] 7 v5 True True 3" "in JSON, too"

run "$banyan" run --profile --virtual-nodes 2 --per-node 1 sh -c 'exit 3' </dev/null
is "$status $(nodes run)" "3 2" "of a job that fails, too"
run "$banyan" run --json "$scratch/summary" --virtual-nodes 2 true </dev/null
is "$err$(grep -c '"profile"' "$scratch/summary")" 0 "nothing without the option"

run "$banyan" run --profile --virtual-nodes 2 --per-node 1 sh -c '
    [ "$BANYAN_RANK" != 1 ] || kill -9 "$(sed -n "s/^PPid:[^0-9]*//p" "/proc/$PPID/status")"
    exec sleep 1000' </dev/null
is "$status $(nodes run)" "125 1" "a lost node has no times, the others have"

dir=$("$banyan" start --daemonize --virtual-nodes 3)
run "$banyan" run --instance "$dir" --profile --per-node 1 true </dev/null
is "$(phases)" "start run drain " "in an instance nobody waited for daemons"
run "$banyan" stop --instance "$dir" </dev/null
refuses 125 "option --profile cannot be used with --detach" "detached nobody would read it" run --detach --profile true
nothing_left_within 60 none "nothing is left"
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The survey before a launch that binds: nodes that cannot look at themselves, that take long (hwloc
# reads a pipe into which nobody writes), or that die while they look, are told in one line, nothing
# stays, and the daemons go on meanwhile.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

cat >"$scratch/good.xml" <<'X'
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
 <object type="Machine" os_index="0" cpuset="0x1" complete_cpuset="0x1" allowed_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1" allowed_nodeset="0x1">
  <object type="NUMANode" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1" local_memory="1024"/>
  <object type="Core" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1">
   <object type="PU" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1"/>
  </object>
 </object>
</topology>
X
mkfifo "$scratch/pipe.xml"

export HWLOC_THISSYSTEM=1

# ---- It cannot be read ----

echo '<nonsense' >"$scratch/bad.xml"
HWLOC_XMLFILE=$scratch/bad.xml refuses 125 \
    "cannot inspect v\[1-3\]: hwloc cannot read .*: Invalid argument$" \
    "what cannot be read is told, for all nodes in one line" \
    run --virtual-nodes 3 --slots 1 --map-by core touch "$scratch/never"
nothing_left_within 5 none "and nothing stays"

# ---- It takes its time ----

export HWLOC_XMLFILE=$scratch/pipe.xml

# readers: the processes that look at a node, children of the helpers, which are the daemons'.
readers() {
    for process in $(ours); do
        [ "$(cat "/proc/$process/comm" 2>/dev/null)" != banyan-survey ] || echo "$process"
    done
}
looking() {
    [ "$(readers | wc -l)" -eq "$1" ]
}
# begin N: a run in which N nodes look and do not come back.
begin() {
    env --default-signal=INT "$banyan" run --virtual-nodes "$1" --slots 1 --map-by core touch "$scratch/never" \
        >"$scratch/out" 2>&1 </dev/null &
    front=$!
    until_true 10 looking "$1" || diag "no node looks at itself: $(cat "$scratch/out")"
}
finish() {
    wait "$front"
    status=$?
}

begin 3
kill -INT "$front"
finish
is "$status" 130 "Ctrl-C ends a job whose nodes are looked at"
nothing_left_within 5 none "and nothing stays"

begin 3
kill -KILL $(readers)
finish
is "$status:$(cat "$scratch/out")" "125:banyan: cannot inspect v[1-3]: its \
inspection process exited early" "nodes whose process was killed are named in one line"
nothing_left_within 5 none "and nothing stays"

for victim in helper daemon; do
    begin 3
    helper=$(ps -o ppid= -p "$(readers | head -n 1)" | xargs)
    daemon=$(ps -o ppid= -p "$helper" | xargs)
    kill -KILL "${!victim}"
    finish
    is "$status" 125 "a $victim that is killed ends it"
    like "$(cat "$scratch/out")" "^banyan: lost node v[1-3]: its daemon (has ended|closed the connection); the job was ended$" \
        "and the node is named in one line"
    nothing_left_within 10 none "and nothing stays"
done

begin 1
timeout 5 cp "$scratch/good.xml" "$scratch/pipe.xml"
finish
is "$status:$(cat "$scratch/out")" "0:" "what comes late is taken"
ok "the job has run then" test -e "$scratch/never"
nothing_left_within 5 none "and nothing stays"

done_testing

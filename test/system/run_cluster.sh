#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Clusters that the configuration describes: names of their nodes, which are derived and may be the same in two
# clusters, how the nodes are reached, and what is wrong with a description, in one line.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"

export TMPDIR=$scratch
cd "$scratch" || exit 1
for variable in $(env | sed -n 's/^\(\(SLURM\|PBS\|LSB\)_[A-Z_]*\)=.*/\1/p'); do
    unset "$variable"
done
export BANYAN_CONFIG=$scratch/banyan.conf

# Every call of the agent is recorded, with the address that it was given.
mkdir bin
cat >bin/ssh <<END
#!/bin/bash
echo "\$*" | sed 's/ *\/.*//' >>"$scratch/calls"
exec "$top_builddir/contrib/testbed/fakessh" "\$@"
END
chmod +x bin/ssh
export PATH=$scratch/bin:$PATH

cat >"$BANYAN_CONFIG" <<'END'
net = lo
[cluster "west"]
nodes = q[0-1023]
address = %n.west.example
[cluster "west" "gpu"]
nodes = q[512-519]
slots = 4
features = a100
memory = 64G
[cluster "east"]
nodes = q[0-9]
starter-options = -p 2222
[cluster "north"]
END

# refuses NAME REGEX ARGUMENT...: `banyan ARGUMENT...` fails with one line.
refuses() {
    local name=$1 regex=$2
    shift 2
    run "$banyan" "$@" </dev/null
    is "$status:$out" "125:" "$name: refused"
    like "$err" "^banyan: $regex" "$name: in one line"
    is "$(wc -l <"$scratch/.err")" 1 "$name: one"
}

# ---- Names ----

run "$banyan" alloc --host west/512+100
like "$out" "100 nodes, 124 slots" "100 nodes from number 512 on, with the slots of their kind"
run "$banyan" alloc --host 'west/gpu/,^west/q512'
like "$out" "7 nodes, 28 slots" "the nodes of a kind but one"
run "$banyan" alloc --host 'west/q1,north/q1,q1'
like "$out" "3 nodes, 3 slots" "the same name in two clusters, and in none, are three nodes"
like "$out" "west/q1,north/q1,q1" "and have their own names"
run "$banyan" alloc --host 'west/511+2'
like "$out" "west/q512 .*mem=64G,feature=a100" "what is known of nodes of a kind"
refuses "a requirement of which no node is known" ".*feature=a100" \
    run --starter ssh --host west/q1 --facts 'west/q1:feature=b' --require feature=a100 true
refuses "a misspelt cluster" "option --host: column 1: unknown cluster 'wset': did you mean 'west'\?" \
    alloc --host wset/q1
refuses "a node that it does not have" "option --host: column 6: east has no node q10" \
    alloc --host east/q10
refuses "more nodes than it has" "option --host: column 6: 2 names starting at number 9 are requested, but there are only 1" \
    alloc --host east/9+2

# ---- A run ----

rm -f calls

if [ -x "$top_builddir/contrib/testbed/fakessh" ]; then
    run "$banyan" run --timeout 240 --mpi none --ssh-agent ssh --banyand "$BANYAN_DAEMON" \
        --host west/q1,east/q1 --output 'out.%h' sh -c 'echo $BANYAN_NODE' </dev/null
    is "$status" 0 "a run over two clusters"
    [ "$status" -eq 0 ] || diag "$err"
    is "$(cat out.west-q1 out.east-q1 | xargs)" "west/q1 east/q1" "whose processes know their nodes"
    is "$(grep -o 'q1[^ ]*' calls | sort | xargs)" "q1 q1.west.example" "reaches each by its address"
    rm -f calls
    run "$banyan" run --timeout 240 --mpi none --banyand "$BANYAN_DAEMON" --log "$scratch" \
        --host east/0+2 sh -c 'echo $BANYAN_NODE' </dev/null
    is "$status:$(sort <<<"$out" | xargs)" "0:east/q0 east/q1" "a run on one of them"
    like "$(cat calls)" "^-p 2222 " "calls its agent with its options"
    ok "names of log files have no slash" eval 'ls banyan-*-east-q0.log >/dev/null'
    rm -f calls
    run "$banyan" run --timeout 240 --no-daemons --ssh-agent ssh --host west/q3 sh -c 'echo $BANYAN_NODE' </dev/null
    is "$status:$out" "0:west/q3" "a run without daemons"
    like "$(cat calls)" "q3\.west\.example" "reaches it likewise"
    refuses "two ways to start" "the clusters west and east are started differently \(ssh and ssh -p 2222\)" \
        run --host west/q1,east/q1 true
    refuses "a scheduler's starter" "the starter srun cannot reach nodes that are named by their cluster" \
        run --starter srun --host west/q1 true
else
    skip "contrib/testbed/fakessh is not built"
fi

# ---- Directories ----

# where OPTION...: the nodes, and the directories in which those of their sessions are.
where() {
    run "$banyan" run --timeout 240 "$@" sh -c \
        'd=${PMIX_SERVER_TMPDIR%/banyan-*}; echo "$BANYAN_NODE ${d##*/}"' </dev/null
    out=$(sort -u <<<"$out" | xargs)
    [ "$status" -eq 0 ] || diag "$err"
}
mkdir one two
where --virtual-nodes 3 --ppn 1 --tmpdir "$scratch/one;v[2-3]=$scratch/two"
is "$out" "v1 one v2 two v3 two" "a directory for all nodes, and one for some"
refuses "a directory that is not one" "option --tmpdir: 'two' is not an absolute path" \
    run --virtual-nodes 2 --tmpdir "/tmp;v1=two" true
if [ -x "$top_builddir/contrib/testbed/fakessh" ]; then
    printf 'tmpdir = %s\n' "$scratch/one" | sed -i '/^nodes = q.0-1023/r /dev/stdin' "$BANYAN_CONFIG"
    printf 'tmpdir = %s\n' "$scratch/two" | sed -i '/^slots = 4/r /dev/stdin' "$BANYAN_CONFIG"
    where --banyand "$BANYAN_DAEMON" --host west/q1:1,west/q512:1,north/q1
    like "$out" "^north/q1 [^ ]* west/q1 one west/q512 two$" \
        "each node of a cluster uses the directory of its kind"
    ok "nothing is left there" eval '! ls one/banyan-*/* two/banyan-*/* 2>/dev/null'
else
    skip "contrib/testbed/fakessh is not built"
fi

# ---- A request ----

cat >bin/salloc <<'S'
#!/bin/bash
printf '%s\n' "$@" >salloc.arguments
while [ "$1" != /bin/sh ]; do shift; done
export SLURM_JOB_ID=7 SLURM_JOB_NODELIST=localhost SLURM_TASKS_PER_NODE=2
exec "$@"
S
cat >bin/login <<'L'
#!/bin/bash
printf '%s\n' "$@" >login.arguments
eval "${@: -1}"
L
printf '#!/bin/sh\necho "localhost|(null)|2048|(null)"\n' >bin/sinfo
chmod +x bin/salloc bin/login bin/sinfo
cat >site.conf <<END
[cluster "south"]
scheduler = slurm
scheduler-options = -p batch
starter = local
tmpdir = $scratch/one
[cluster "south" "gpu"]
scheduler-options = -p gpu
[cluster "far"]
scheduler = slurm
login = far-login
END
export BANYAN_CONFIG=$scratch/site.conf
run "$banyan" run --timeout 240 --alloc 'south: -N1' sh -c 'echo "${PMIX_SERVER_TMPDIR%/banyan-*}"' </dev/null
is "$status:$out" "0:$scratch/one"$'\n'"$scratch/one" "a run by the cluster's scheduler, in its directory"
[ "$status" -eq 0 ] || diag "$err"
is "$(head -n 3 salloc.arguments | xargs)" "-p batch -N1" "which is asked with its options and those given"
run "$banyan" run --timeout 240 --tmpdir "$scratch/two" --alloc south/gpu -n 1 \
    sh -c 'echo "${PMIX_SERVER_TMPDIR%/banyan-*}"' </dev/null
is "$status:$out" "0:$scratch/two" "the command line has precedence"
is "$(head -n 2 salloc.arguments | xargs)" "-p gpu" "options of a kind"
BANYAN_LOGIN_AGENT=$scratch/bin/login run "$banyan" run --timeout 240 --alloc far -n 1 echo far </dev/null
is "$status:$out" "0:far" "a cluster with a login"
[ "$status" -eq 0 ] || diag "$err"
ok "is asked there" grep -qx far-login login.arguments
run "$banyan" run --timeout 240 --mpi none --alloc south --require 'mem>=1M,os=linux' -n 1 echo here </dev/null
is "$status:$out" "0:here" "what is required of nodes"
is "$(head -n 3 salloc.arguments | xargs)" "--mem=1M -p batch" "is part of the request"
is "$err" "banyan: salloc cannot be asked for nodes with os=linux: checked when the nodes are there" \
    "what cannot be is said in one line"
run "$banyan" run --timeout 240 --mpi none --alloc south --require os=plan9 -n 1 echo here </dev/null
like "$status:$out:$err" "^125::.*os=plan9" "and is checked then"
run "$banyan" alloc south/gpu
is "$(tr -s ' ' <<<"$out" | xargs -d '\n')" \
    "cluster south/gpu gpu not described --alloc slurm: -p gpu starter local tmpdir $scratch/one" \
    "banyan alloc shows what it would use"
refuses "a misspelt cluster" "option --alloc: unknown cluster 'suoth': did you mean 'south'\?" \
    run --alloc suoth true
refuses "a misspelt one, shown" "unknown cluster 'suoth': did you mean 'south'\?" alloc suoth
export BANYAN_CONFIG=$scratch/banyan.conf
refuses "a cluster without a scheduler" "option --alloc: cluster west has no scheduler" \
    run --alloc west true

# ---- The description ----

run "$banyan" config
like "$out" '\[cluster "west" "gpu"\]
nodes  *= q\[512-519\]   \(.*/banyan.conf:7\)' "banyan config shows the clusters and where they are from"
wrong() {
    printf '%b' "$3" >"$scratch/wrong.conf"
    BANYAN_CONFIG=$scratch/wrong.conf refuses "$1" "\\\$BANYAN_CONFIG: .*/wrong.conf:$2" config
}
wrong "a misspelt key" "2: a cluster has no 'adress': did you mean 'address'\?" '[cluster "west"]\nadress = %n\n'
wrong "a misspelt section" "1: unknown section \[cluser\]: did you mean \[cluster\]\?" '[cluser "west"]\n'
wrong "an unknown scheduler" "2: scheduler: unknown 'slrum': did you mean 'slurm'\?" \
    '[cluster "west"]\nscheduler = slrum\n'
wrong "a malformed list" "3: nodes: " '[cluster "west"]\n\nnodes = q[1-\n'
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Where the secret of a run is to be found while it runs: in the memory of its daemons only, in pages
# that no core dump has; in no argument, environment, message, file or process that it started. The
# agent of this test keeps a copy of what it carries, to know the secret.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/leftovers.sh"

[ -z "${BANYAN_SANITIZERS:-}" ] ||
    skip_all "a sanitizer keeps copies of its own, in terabytes of address space"

fakessh=$top_builddir/contrib/testbed/fakessh
export FAKESSH_BASE=$scratch/nodes
mkdir -p "$FAKESSH_BASE"
cat >"$scratch/agent" <<A
#!/bin/bash
tee "$scratch/record.\$\$" | $fakessh "\$@"
A
chmod +x "$scratch/agent"

# pids_of NAME: our processes whose name begins with it.
pids_of() {
    for pid in $(descendants "$front") $front; do
        case $(tr '\0' ' ' <"/proc/$pid/comm" 2>/dev/null) in "$1"*) echo "$pid" ;; esac
    done
}

# scan NAME PIDS: no copy of the secret that a core dump would have.
scan() {
    local name=$1 record
    shift
    record=${known:-$(find "$scratch" -maxdepth 1 -name 'record.*' -size +0 | head -n 1)}
    run "$top_builddir/test/tool/secret_scan" "$record" "$@"
    is "$status" 0 "$name: $# processes can be looked into"
    is "$(grep -v '^hidden:' <<<"$out")" "" "$name: the secret is nowhere but in pages that are hidden"
    hidden=$(sed -n 's/^hidden: //p' <<<"$out")
    [ -z "$err" ] || diag "$err"
}

# look NAME OPTION...: a run of three nodes, looked into once its processes run.
look() {
    local name=$1
    shift
    new_mark
    : >"$scratch/out"
    "$banyan" run --banyand "$BANYAN_DAEMON" -n 3 --per-node 1 --timeout 240 \
        -x BT_MARK="$mark" "$@" sh -c 'echo up; exec sleep 50' >"$scratch/out" 2>"$scratch/err" \
        </dev/null &
    front=$!
    until_true 20 eval '[ "$(grep -c up "$scratch/out")" = 3 ]'
    # shellcheck disable=SC2046
    scan "$name" $(pids_of banyan) $(marked_pids)
    is "$(grep -c . "$scratch/err")" 0 "$name: nothing is said"
    kill "$front"
    wait "$front" 2>/dev/null
    nothing_left "$name: nothing is left"
}

if ! [ -r /proc/self/smaps ]; then
    skip_all "there is no /proc/PID/smaps here"
fi
look ssh --ssh-agent "$scratch/agent" --net lo --host n1,n2,n3
is "$hidden" 4 "ssh: the root and three daemons have it, each once"

# Daemons that join: two of three; the record of the third, and the tokens, tell what to look for.
new_mark
cd "$scratch" || exit 1
"$banyan" run -v -v --starter join --net lo --host n1,n2,n3 --timeout 240 -x BT_MARK="$mark" true \
    >"$scratch/out" 2>"$scratch/err" </dev/null &
front=$!
ok "join: the tokens are there" until_true 20 [ -e banyan.join ]
cp banyan.join tokens
daemons=()
for node in n1 n2; do
    "$BANYAN_DAEMON" --join tokens --node $node </dev/null &
    daemons+=($!)
done
ok "join: two have joined" until_true 20 eval '[ "$(grep -c "n[12]) joined after" err)" = 2 ]'
ok "join: a record is fetched" eval '"$top_builddir/test/tool/join_visit" n3 tokens >"$scratch/known"'
of_daemons() {
    for pid in "${daemons[@]}"; do
        echo "$pid"
        descendants "$pid"
    done
}
known=$scratch/known
# shellcheck disable=SC2046
scan "join, the session's secret" $(pids_of banyan) $(of_daemons)
is "$hidden" 4 "join: both daemons have it once, the root a second time for who may come"
# shellcheck disable=SC2059
printf "record$(grep '^n1 ' tokens | grep -o '.\{72\}$' | cut -c1-64 | sed 's/../\\x&/g')" >token
known=$scratch/token
# shellcheck disable=SC2046
scan "join, a token that was used" $(pids_of banyan) $(of_daemons)
is "$hidden" 1 "join: only the root knows it"
kill "$front"
wait "$front" "${daemons[@]}" 2>/dev/null
nothing_left "join: nothing is left"
done_testing

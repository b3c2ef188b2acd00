#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A job that makes cgroups inside its own, as container engines and batch systems do: they end and are removed with it.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
[ -n "$mount" ] || skip_all "there is no cgroup v2"
export MOUNT=$mount WHERE=$scratch/where

# Makes two levels, with a process in the inner one that no signal to the job's process groups reaches.
cat >"$scratch/nests" <<'SH'
#!/bin/bash
own=$MOUNT$(sed -n 's/^0:://p' /proc/self/cgroup)
case $own in */banyan-*) ;; *) exit 77 ;; esac
mkdir -p "$own/outer/inner" || exit 77
setsid sh -c 'echo $$ >"$1/outer/inner/cgroup.procs" && touch "$2.in"; exec sleep 1000' sh "$own" "$WHERE" &
until [ -e "$WHERE.in" ]; do sleep 0.02; done
echo "$own" >"$WHERE"
eval "$1"
SH
chmod +x "$scratch/nests"
gone() { [ ! -e "$(cat "$WHERE")" ]; }
is_there() { [ -s "$WHERE" ]; }

# nests STATUS NAME COMMAND: the rank ends with that command.
nests() {
    rm -f "$WHERE" "$WHERE.in"
    run timeout 300 "$banyan" run -n 1 --kill-grace 0 -x MOUNT -x WHERE "$scratch/nests" "$3" </dev/null
    [ "$status" != 77 ] || skip_all "a job has no cgroup here"
    is "$status" "$1" "$2"
    ok "$2: the cgroups are removed" gone
}

nests 3 "a job that fails with cgroups of its own ends" 'kill %1; wait; exit 3'
nests 4 "likewise if a process is left in them" 'exit 4'
nests 137 "or if it is killed" 'kill -KILL $$'

# Daemon and helper of a node die together: what they leave the next run there removes.
rm -f "$WHERE" "$WHERE.in"
"$banyan" run -n 1 -x MOUNT -x WHERE "$scratch/nests" 'exec sleep 1000' </dev/null >"$scratch/out" 2>&1 &
front=$!
until_true 30 is_there || diag "no rank: $(cat "$scratch/out")"
# shellcheck disable=SC2046
kill -9 $front $(descendants $front)
wait $front 2>/dev/null
cleaned() {
    "$banyan" run -n 1 true </dev/null >"$scratch/out" 2>&1 && gone
}
if is_there; then
    ok "those of a run that was killed as a whole are removed by a later one" until_true 60 cleaned
else
    fail "a run to be killed starts"
fi
left_old() {
    find "$TMPDIR" -type d -exec touch -d "1 minute ago" {} + 2>/dev/null
    "$banyan" run -n 1 true </dev/null >"$scratch/out" 2>&1 && nothing_left none
}
ok "nothing is left" until_true 60 left_old
done_testing

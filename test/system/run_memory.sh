#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A rank that the kernel's out-of-memory killer ends: where that can be proven, or is possible, the message names it.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

cat >"$scratch/eats" <<'SH'
#!/bin/sh
exec python3 -c 'eaten = []
while True: eaten.append(bytearray(1 << 20))'
SH
chmod +x "$scratch/eats"

# The limit of a scheduler: a cgroup with 40 MiB in which banyan is started, of either version.
limit=
clean_up() {
    # shellcheck disable=SC2086
    [ -z "$limit" ] || rmdir $limit/banyan-* $limit 2>/dev/null
}
limited() {
    # shellcheck disable=SC2016
    run timeout 300 sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$limit" "$banyan" "$@" </dev/null
}
make_limit() {
    local mount=$1 file=$2
    limit=$mount/bt$$
    mkdir "$limit" 2>/dev/null && echo 40M 2>/dev/null >"$limit/$file" && return
    rmdir "$limit" 2>/dev/null
    limit=
    return 1
}
version_1=$(awk '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ { print $2; exit }' /proc/mounts)
version_2=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
if [ -n "${BANYAN_SANITIZERS:-}" ]; then
    skip "sanitizers need more memory than there is to eat"
elif { [ -n "$version_1" ] && make_limit "$version_1" memory.limit_in_bytes; } ||
    { [ -n "$version_2" ] && make_limit "$version_2" memory.max; }; then
    limited run -n 1 --timeout 240 "$scratch/eats"
    is "$status" 137 "a rank that eats its memory is killed"
    like "$err" '^banyan: rank 0 on [^ ]+ was killed by .*the out-of-memory killer' "and by whom is said"
    is "$(wc -l <<<"$err")" 1 "in one line"
else
    skip "no cgroup with a limit of memory can be made here"
fi

# The kernel says that it kills nobody for want of memory, and no one must say so.
kills() { sed -n 's/^oom_kill //p' /proc/vmstat; }
before=$(kills)
# shellcheck disable=SC2016
run "$banyan" run -n 1 --timeout 240 sh -c 'kill -9 $$' </dev/null
is "$status" 137 "a rank that is killed otherwise"
if [ "$(kills)" = "$before" ]; then
    like "$err" '^banyan: rank 0 on [^ ]+ was killed by signal 9 \(Killed\)$' "is said to have been, without more"
else
    skip "somebody else on this machine has no memory left"
fi
nothing_left_within 30 none "nothing is left"
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# --on LOGIN: a real sshd in front of a real Slurm, in a network of their own. Input, output, signals
# and status go and come; when the connection ends, in whatever way, so does the run, and nodes that
# were asked for there are given back.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"

sshd=$(command -v sshd || echo /usr/sbin/sshd)
if [ -z "${SLURM_TESTBED:-}" ]; then
    [ -x "$sshd" ] || skip_all "sshd is not installed (package openssh-server)"
    command -v ssh >/dev/null || skip_all "ssh is not installed (package openssh-client)"
    again_in_slurm run_on.sh 4 400
fi

export TMPDIR=$scratch
cd "$scratch" || exit 1
mkdir -p /run/sshd
ssh-keygen -q -t ed25519 -N '' -f host
ssh-keygen -q -t ed25519 -N '' -f user
cat >sshd_config <<C
ListenAddress 127.0.0.1
Port 2200
HostKey $scratch/host
AuthorizedKeysFile $scratch/user.pub
PidFile $scratch/sshd.pid
UsePAM no
StrictModes no
PasswordAuthentication no
C
cat >ssh_config <<C
Host login
    HostName 127.0.0.1
    Port 2200
    IdentityFile $scratch/user
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
    LogLevel ERROR
Host nobody
    HostName 127.0.0.1
    Port 2201
C
printf '#!/bin/sh\nexec ssh -F %s "$@"\n' "$scratch/ssh_config" >agent
# The banyan there: one of a build tree needs to be told where its parts are.
printf '#!/bin/sh\nexport SLURM_CONF=%s BANYAN_DAEMON=%s BANYAN_PKGLIBDIR=%s\nexec %s "$@"\n' \
    "$SLURM_CONF" "$BANYAN_DAEMON" "$BANYAN_PKGLIBDIR" "$(readlink -f "$banyan")" >there
chmod +x agent there
export BANYAN_LOGIN_AGENT=$scratch/agent BANYAN_ON=$scratch/there
"$sshd" -f sshd_config -E sshd.log
until_true 20 test -s sshd.pid || skip_all "sshd does not start: $(tail -n 1 sshd.log)"

on() {
    run timeout 300 "$banyan" run --on login "$@"
}
gone() {
    [ -z "$(squeue -h)" ] && ! pgrep -x banyand >/dev/null && ! pgrep -f "^sleep 9753" >/dev/null
}
sleeping() {
    [ "$(pgrep -cf "^sleep 9753")" -ge "$1" ]
}

on -n 1 sh -c 'echo out; echo err >&2; exit 7' </dev/null
is "$status" 7 "the status comes back"
is "$(xargs <<<"$out")" "out" "and the output"
like "$err" "^err" "and what goes to stderr"
on -n 1 printf '%s|' 'a "b" $c' "it's" </dev/null
is "$out" 'a "b" $c|it'"'"'s|' "nothing on the way reads the arguments"
on -n 1 pwd </dev/null
is "$out" "$scratch" "it runs in the directory of the same name"
head -c 3000000 /dev/urandom >data
on -n 1 md5sum <data
is "$out" "$(md5sum <data)" "3 MB of input"
on -n 1 cat <<<"one line"
is "$out" "one line" "the end of the input"
on --alloc "slurm: -N3 -n4" hostname </dev/null
is "$status $(sort <<<"$out" | xargs)" "0 sim1 sim1 sim2 sim3" "nodes that are asked for there"
[ -z "$err" ] || diag "$err"
ok "are given back" until_true 10 gone
on --alloc "slurm: -p nowhere" true </dev/null
is "$status" 125 "what cannot be had there"
like "$err" "no nodes: salloc: error: " "is said here"
run timeout 300 "$banyan" run --on nobody true </dev/null
is "$status" 125 "a machine that does not answer"
like "$err" "Connection refused.*--on nobody: ssh exited 255" "is named, in ssh's words"
run "$banyan" run --on -oProxyCommand=x true </dev/null
like "$status $err" "125 banyan: option --on: '-oProxyCommand=x' is not" "an option is no machine"

# begin NAME: a run with nodes of its own, on 3 of them.
begin() {
    "$banyan" run --on login --alloc "slurm: -N3" sleep 9753 </dev/null >/dev/null 2>"err.$1" &
    pid=$!
    ok "$1: it runs" until_true 30 sleeping 3
}
ended() {
    ok "$1: everything has ended, and the nodes are back" until_true "$2" gone ||
        diag "$(squeue; ps ax)"
}

# below PID NAME: those of its descendants that are called so.
below() {
    local pid
    for pid in $(descendants "$1"); do
        [[ $(cat /proc/"$pid"/comm) != $2 ]] || echo "$pid"
    done
}

begin SIGTERM
kill -TERM "$pid"
wait "$pid"
is $? 143 "SIGTERM: the status"
ended SIGTERM 20
begin SIGKILL
kill -KILL "$pid"
wait "$pid" 2>/dev/null
ended SIGKILL 20
begin "connection cut"
# shellcheck disable=SC2046
kill -KILL $(below "$(cat sshd.pid)" 'sshd*')
wait "$pid"
is $? 125 "connection cut: the status"
like "$(cat "err.connection cut")" "--on login: ssh exited 255" "connection cut: it is said"
ended "connection cut" 20
begin "silence"
ssh=$(below "$pid" ssh)
kill -STOP "$ssh"
ended "silence" 60
kill -KILL "$ssh"
wait "$pid" 2>/dev/null
kill "$(cat sshd.pid)"
done_testing

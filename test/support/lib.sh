# SPDX-License-Identifier: BSD-3-Clause
#
# TAP for the test scripts, and what they share. A script starts with
#
#     . "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
#
# and ends with `done_testing`. It has a directory of its own, $scratch, short enough for socket
# paths and removed at the end; $banyan is the command to test. Everything it starts must have
# ended by then.

srcdir=$(cd "${srcdir:-$(dirname "${BASH_SOURCE[0]}")/../..}" && pwd)
top_builddir=${top_builddir:-$srcdir}
banyan=$top_builddir/banyan
export BANYAN_PKGLIBDIR=${BANYAN_PKGLIBDIR:-$top_builddir/.libs}
export BANYAN_CONFIG=${BANYAN_CONFIG:-none}
export BANYAN_DAEMON=${BANYAN_DAEMON:-$top_builddir/banyand}

scratch=$(mktemp -d "${TMPDIR:-/tmp}/bt.XXXXXX") || exit 1

# A script may have more to do at its end: then it has a function of this name.
clean_up() { :; }
# bash also makes the trap in a background job that is killed before its exec, which must not touch anything.
leave() {
    [ "$BASHPID" = $$ ] || return
    clean_up
    rm -rf "$scratch"
}
trap leave EXIT

tap_run=0
tap_failed=0

# pass NAME..., fail NAME...
pass() {
    tap_run=$((tap_run + 1))
    echo "ok $tap_run - ${*//#/_}"
}
fail() {
    tap_run=$((tap_run + 1))
    tap_failed=$((tap_failed + 1))
    echo "not ok $tap_run - ${*//#/_}"
}

# diag TEXT...: every line of it behind "# ".
diag() {
    printf '%s\n' "$*" | sed 's/^/# /' >&2
}

# skip REASON: one check that cannot be made here.
skip() {
    tap_run=$((tap_run + 1))
    echo "ok $tap_run # SKIP $*"
}

# man_directory: the directory of the man pages that were made by Sphinx or came with the archive; fails if there are none.
man_directory() {
    local directory
    for directory in "$top_builddir/doc/man" "$srcdir/doc/man"; do
        if [ -e "$directory.stamp" ]; then
            echo "$directory"
            return
        fi
    done
    return 1
}

# skip_all REASON: before the first check.
skip_all() {
    echo "1..0 # SKIP $*"
    exit 0
}

# ok NAME COMMAND...: the command succeeds.
ok() {
    local name=$1
    shift
    if "$@"; then
        pass "$name"
    else
        fail "$name"
        diag "failed: $*"
    fi
}

# is GOT EXPECTED NAME
is() {
    if [ "$1" = "$2" ]; then
        pass "$3"
    else
        fail "$3"
        diag "     got: $1"
        diag "expected: $2"
    fi
}

# like TEXT REGEX NAME: extended regular expression, anywhere in the text.
like() {
    if [[ $1 =~ $2 ]]; then
        pass "$3"
    else
        fail "$3"
        diag "      text: $1"
        diag "lacks match: $2"
    fi
}

# unlike TEXT REGEX NAME
unlike() {
    if [[ $1 =~ $2 ]]; then
        fail "$3"
        diag "   text: $1"
        diag "matches: $2"
    else
        pass "$3"
    fi
}

# run COMMAND...: keeps its exit status in $status, its output in $out and $err.
#
# What banyan says on a machine that stands still for some seconds is left out of $err, unless $stalls_matter is set.
stall_lines='^banyan: (waiting for the daemons? of |[a-z]+ [0-9]+ of job [0-9]+: waiting for |others wait for data |banyan.s root was itself stopped or got no CPU|[^ ]+ has not responded for |[^ ]+ is responding again|(the )?root process [0-9]+ did not exit)'
without_stalls() {
    if [ -n "${stalls_matter:-}" ]; then cat; else grep -aEv "$stall_lines"; fi
}
run() {
    status=0
    "$@" >"$scratch/.out" 2>"$scratch/.err" || status=$?
    out=$(tr -d '\0' <"$scratch/.out")
    err=$(tr -d '\0' <"$scratch/.err" | without_stalls)
}

# until_true SECONDS COMMAND...: repeats the command until it succeeds; the only way to wait for
# something that cannot announce itself. Gives up after that time, or after 120 s where that is longer and it is
# more than 5; of it a pause of the whole machine counts as one look only.
until_true() {
    local seconds=$(($1 > 5 && $1 < 120 ? 120 : $1))
    local end=$((SECONDS + seconds)) looks=$((seconds * 20))
    shift
    until "$@"; do
        looks=$((looks - 1))
        [ $SECONDS -lt $end ] || [ $looks -gt 0 ] || return 1
        sleep 0.02
    done
}

# in_slurm SCRIPT NODES SECONDS: that script of test/system/ in a real Slurm (contrib/testbed/with-slurm.sh) of
# so many nodes of four processors, where SLURM_TESTBED is set. $status is the script's, or 77 where
# there can be no Slurm; what was said on stderr, the reason too, is in $scratch/reason.
in_slurm() {
    export top_builddir srcdir
    status=0
    timeout -k 5 "$3" "$srcdir/contrib/testbed/with-slurm.sh" "$2" 4 bash "$srcdir/test/system/$1" \
        2>"$scratch/reason" || status=$?
}

# again_in_slurm SCRIPT NODES SECONDS: the whole test is made there, or skipped.
again_in_slurm() {
    in_slurm "$@"
    [ "$status" -ne 77 ] || skip_all "$(tail -n 1 "$scratch/reason")"
    cat "$scratch/reason" >&2
    exit "$status"
}

done_testing() {
    echo "1..$tap_run"
    [ $tap_failed -eq 0 ] && [ $tap_run -gt 0 ]
    exit
}

# descendants PID: all of them, one a line.
descendants() {
    local child
    for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
        echo "$child"
        descendants "$child"
    done
}

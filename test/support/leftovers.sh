# SPDX-License-Identifier: BSD-3-Clause
#
# What a run may leave behind, for scripts that have read test/support/lib.sh. A script names each of its
# runs with `mark=...` and passes `-x BT_MARK=$mark`: every process of that run carries it.

# A /dev/shm of the script's own, where the system allows it: what others do there is not ours.
if [ -z "${BT_PRIVATE_SHM:-}" ]; then
    export BT_PRIVATE_SHM=1
    if unshare -m true 2>/dev/null; then
        rm -rf "$scratch"
        exec unshare -m sh -c 'mount -t tmpfs none /dev/shm; exec "$0" "$@"' "$0" "$@"
    fi
fi

# New for each run.
new_mark() {
    mark=bt$$.$RANDOM.$RANDOM
}

# Pids of the run's processes that live (zombies have no environment any more).
marked_pids() {
    local file
    for file in /proc/[0-9]*/environ; do
        { tr '\0' '\n' <"$file" | grep -q "^BT_MARK=$mark\$"; } 2>/dev/null &&
            echo "${file//[!0-9]/}"
    done
    return 0
}

no_marked() {
    [ -z "$(marked_pids)" ]
}

# Everything of the runs goes below a TMPDIR of the script's own, or into /dev/shm.
export TMPDIR=$scratch/t
mkdir "$TMPDIR"

# What lies where a run may leave something.
left_files() {
    find "$TMPDIR" -mindepth 1 2>/dev/null
    find /dev/shm -maxdepth 1 \( -name 'banyan-*' -o -name 'vader_segment*' \
        -o -name 'mpich_shar*' -o -name 'ucx_shm*' \) 2>/dev/null | sort
}

files_before=$(left_files)
no_left_files() {
    [ "$(left_files)" = "$files_before" ]
}

# nothing_left NAME: neither process nor file, after some time.
nothing_left() {
    if until_true 60 no_marked && until_true 60 no_left_files; then
        pass "$1"
    else
        fail "$1"
        diag "processes: $(marked_pids | tr '\n' ' ')"
        diag "files: $(comm -13 <(echo "$files_before") <(left_files))"
    fi
}

# parent PID
parent() {
    awk '/^PPid:/ { print $2 }' "/proc/$1/status"
}

# find_daemon RANK: sets $daemon; a rank is a child of its daemon's helper.
find_daemon() {
    local file files
    daemon=
    files=$(grep -lzx "BANYAN_RANK=$1" /proc/[0-9]*/environ 2>/dev/null)
    # shellcheck disable=SC2086
    for file in $(grep -lzx "BT_MARK=$mark" $files /dev/null 2>/dev/null); do
        daemon=$(parent "$(parent "${file//[!0-9]/}")")
        [ -n "$daemon" ] && return
    done
    return 1
}

# SPDX-License-Identifier: BSD-3-Clause
#
# For scripts about what is said of a job whose time is over; sourced after run_lib.sh. $timeout_options are those of
# all runs beside --timeout.

# Who has come to the point says so by a file there, called by its rank.
export MARKS=$scratch/marks
mkdir "$MARKS"

# times_out NAME COUNT ARGUMENT...: of a run whose time is over when COUNT ranks have come to the point, and says
# what $expected has. A machine that is so slow that it does not gets more time. $out, $err and $status as of run.
times_out() {
    local name=$1 count=$2 seconds
    shift 2
    for seconds in 4 30 120; do
        rm -f "$MARKS"/*
        run "$banyan" run --timeout $seconds "${timeout_options[@]}" -x MARKS "$@" </dev/null
        if [ "$(find "$MARKS" -type f | wc -l)" -ge "$count" ] && all_said; then break; fi
    done
    is $status 124 "$name: the time is over"
    for text in "${expected[@]}"; do
        like "$err" "$text" "$name: ${text//\\/}"
    done
}
all_said() {
    local text
    for text in "${expected[@]}"; do
        [[ $err =~ $text ]] || return 1
    done
}

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The examples of README.rst: those that need no cluster run as typed, on two cores, and print what
# is shown below them; those that need one have options that exist. The packages named for a build
# by hand are those of contrib/setup.sh.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

# two_cores: a CPU of each of two cores that this process may use, as "0,1".
two_cores() {
    local first='' cpu core
    while IFS=, read -r cpu core; do
        [[ ${first#*,} != "$core" ]] || continue
        taskset -c "$cpu" true 2>/dev/null || continue
        [ -n "$first" ] || { first=$cpu,$core && continue; }
        echo "${first%%,*},$cpu"
        return
    done < <(lscpu --parse=CPU,CORE,SOCKET | grep -v '^#')
}

cpus=$(two_cores)
[ -n "$cpus" ] || skip_all "two cores are needed"

# Each example as "here COMMAND" or "cluster COMMAND", and the lines of output below it as "shown LINE".
awk '/^(-+|=+)$/ { section = previous }
    { previous = $0 }
    /^    \$ / { print section == "On a cluster" ? "cluster" : "here", substr($0, 7); below = 1; next }
    /^    / && below { print "shown", substr($0, 5); next }
    { below = 0 }' "$srcdir/README.rst" >"$scratch/examples"

# check COMMAND SHOWN: the command as typed in the top directory; its lines come in any order.
check() {
    local command=$1 shown=$2 name
    name=$(sed 's/ *#.*//' <<<"$command")
    if [[ $name =~ (^mpicc|/hello$) ]] && ! command -v mpicc >/dev/null; then
        skip "$name: mpicc is not installed"
        return
    fi
    run taskset -c "$cpus" timeout 300 bash -c "$command" </dev/null
    # The libraries of an MPI may print warnings.
    [[ ! $name =~ (^mpicc|/hello$) ]] || err=
    is "$status $err" "0 " "$name"
    [ -z "$shown" ] || is "$(sort <<<"$out")" "$(sort <<<"$shown")" "it prints what is shown"
}

# options_exist COMMAND: each option of `banyan VERB` is in the help of the verb.
options_exist() {
    local option unknown='' words
    words=$(sed "s/ *#.*//; s/.*banyan //" <<<"$1")
    run "$banyan" help "${words%% *}"
    for option in $(grep -oE -- ' --[a-z-]+' <<<"$words"); do
        grep -qE -- "$option([ ,]|\$)" <<<"$out" || unknown+=" $option"
    done
    is "$status$unknown" 0 "the options exist: $words"
}

mkdir "$scratch/top"
ln -s "$srcdir/test" "$scratch/top/test"
cd "$scratch/top" || exit 1
export PATH=$scratch:$PATH

mapfile -t examples <"$scratch/examples"
here=0
cluster=0
for ((i = 0; i < ${#examples[@]}; i++)); do
    example=${examples[i]#* }
    case ${examples[i]%% *} in
    here)
        shown=
        while [[ ${examples[i + 1]:-} == shown\ * ]]; do
            i=$((i + 1))
            shown+=${shown:+$'\n'}${examples[i]#* }
        done
        check "$example" "$shown"
        here=$((here + 1))
        ;;
    cluster)
        options_exist "$example"
        cluster=$((cluster + 1))
        ;;
    esac
done
ok "there are examples ($here, $cluster for a cluster)" [ $((here > 5 && cluster > 3)) = 1 ]
nothing_left_within 5 none "nothing is left"

# The packages, in the literal blocks that install them.
named=" $(sed -n '/apt-get install/,/[^\\]$/p' "$srcdir/README.rst" | tr -s ' \\\n' ' ') "
eval "$(sed -n '/^build=(/,/)$/p' "$srcdir/contrib/setup.sh")"
missing=
for package in "${build[@]}"; do
    [[ $named == *" $package "* ]] || missing+=" $package"
done
ok "contrib/setup.sh has packages to compare with" [ "${#build[@]}" -gt 5 ]
is "$missing" "" "README.rst names every package that a build takes"
done_testing

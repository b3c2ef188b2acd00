#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What the processes of a run find when they start: variables, limits, mask, nice value and directory, each
# per application, and in one line what a node refuses.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

# on_two OPTION... -- COMMAND: the output of a shell command on two nodes with a rank each, sorted.
on_two() {
    run "$banyan" run --timeout 240 --virtual-nodes 2 --mpi none "${@:1:$#-2}" sh -c "${!#}" </dev/null
    out=$(sort <<<"$out")
    [ $status -eq 0 ] || diag "$err"
}

# ---- variables ----

cat >"$scratch/variables" <<'END'
# a comment
ONE=file
export TWO="two words"
HERE
END
export HERE=here SSH_MARK=login GONE_1=x GONE_2=y STAYS=z
show='env | grep -E "^(ONE|TWO|HERE|SSH_MARK|GONE_.|STAYS|LIST|BANYAN_SIZE)="'
on_two -n 1 -- "$show"
is "$out" "$(printf '%s\n' BANYAN_SIZE=1 GONE_1=x GONE_2=y HERE=here STAYS=z)" "what a rank has by default"
on_two -n 1 --env-file "$scratch/variables" -x ONE=option -x 'SSH_*' -x '*' --unset 'GONE_*' --unset STAYS \
    --append LIST=b --append 'LIST=c:;' --prepend LIST=a -- "$show"
is "$out" "$(printf '%s\n' BANYAN_SIZE=1 HERE=here 'LIST=a:b;c' ONE=option SSH_MARK=login 'TWO=two words')" \
    "a file, patterns, and what is removed and added"
run "$banyan" run --timeout 240 --virtual-nodes 2 --mpi none --append LIST=a -n 1 \
    sh -c 'echo "0 $LIST $MORE"' : -n 1 --append LIST=b -x MORE=m sh -c 'echo "1 $LIST $MORE"' </dev/null
is "$(sort <<<"$out")" "$(printf '0 a \n1 a:b m')" "each application has its own, after those of the first"
refuses 125 "option --env-file: cannot read $scratch/none: No such file" "a file that is not there" \
    run --env-file "$scratch/none" true
printf 'A=1\nB\tC\n' >"$scratch/bad"
refuses 125 "option --env-file: $scratch/bad:2: 'B.C' is not NAME=VALUE or NAME" "a line that is no variable" \
    run --env-file "$scratch/bad" true
refuses 125 "option --env-file: cannot read /dev|option --env-file: .*NUL" "a binary file" \
    run --env-file /bin/true true
refuses 125 "option --unset: 'A=1' is not a name" "--unset with a value" run --unset A=1 true
refuses 125 "option --append: 'A' is not NAME=VALUE" "--append without a value" run --append A true

# ---- limits, mask, nice value ----

hard=$(ulimit -Hn)
on_two -N 1 -n 2 --rlimit nofile=99 --rlimit core=0:0 --umask 0137 -- \
    'echo $(ulimit -Sn) $(ulimit -Hn) $(ulimit -Hc) $(umask)'
is "$out" "$(printf '99 %s 0 0137\n99 %s 0 0137' "$hard" "$hard")" "limits and a mask on each node"
on_two -n 1 --rlimit nofile=99:99 -- 'ulimit -Hn'
is "$out" 99 "also the hard limit"
on_two -n 1 --rlimit nofile=hard -- 'ulimit -Sn'
is "$out" "$hard" "a soft limit as high as the node allows"
on_two -n 1 --nice 2 -- nice
is "$out" $(($(nice) + 2 > 19 ? 19 : $(nice) + 2)) "a nice value is added"
run "$banyan" run --timeout 240 --virtual-nodes 1 --mpi none --umask 022 -n 1 sh -c 'echo 0 $(umask)' : \
    -n 1 --umask 077 sh -c 'echo 1 $(umask)' </dev/null
is "$(sort <<<"$out")" "$(printf '0 0022\n1 0077')" "each application has its own"
if [ "$hard" != unlimited ]; then
    refuses 125 "cannot start true on v1 \(rank 0\): the limit nofile is refused: Invalid argument; the soft limit" \
        "a soft limit above the node's hard one" run --virtual-nodes 1 -n 1 --rlimit nofile=$((hard + 1)) true
else
    skip "there is no hard limit of descriptors here"
fi
# The kernel refuses to anyone what is above fs.nr_open.
refuses 125 "cannot start true on v1 \(rank 0\): the limit nofile is refused: Operation not permitted" \
    "a limit that nobody may have" run --virtual-nodes 1 -n 1 --rlimit nofile=9:4000000000 true
refuses 125 "option --rlimit: unknown limit 'nofiles': did you mean 'nofile'" "an unknown limit" \
    run --rlimit nofiles=1 true
refuses 125 "option --rlimit: 'core=1x': give whole numbers" "a limit that is no number" run --rlimit core=1x true
refuses 125 "option --umask: '9' is not an octal number" "a mask that is not octal" run --umask 9 true
refuses 125 "option --nice: must be a number from -20 to 20" "a nice value out of range" run --nice 99 true

# ---- directories ----

mkdir "$scratch/d.0.v1.1" "$scratch/d.1.v2.1" "$scratch/%r"
on_two -N 1 -n 2 --wdir "$scratch/d.%r.%h.%j" -- 'echo $PWD; pwd -P'
is "$out" "$(printf '%s\n' "$scratch"/d.{0.v1,0.v1,1.v2,1.v2}.1)" "a directory of each rank"
on_two -n 1 --wdir "$scratch/%%r" -- 'pwd -P'
is "$out" "$scratch/%r" "a percent sign"
is "$(cd "$scratch/%r" && "$banyan" run --timeout 240 --virtual-nodes 1 --mpi none -n 1 pwd </dev/null)" \
    "$scratch/%r" "the current directory is as it is"
rmdir "$scratch/d.1.v2.1"
refuses 125 "cannot change to the working directory $scratch/d.1.v2.1 on v2 \(rank 1\): No such file" \
    "a directory that one node does not have" \
    run --virtual-nodes 2 -N 1 -n 2 --wdir "$scratch/d.%r.%h.%j" true
refuses 125 "option --wdir: '%x' is not %r \(rank\), %h \(node\), %j \(job\) or %%" "an unknown %" \
    run --wdir "/%x" true
nothing_left_within 60 none "nothing is left"
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Files that are staged: by `banyan run --stage`, `--stage-binary` and `--check-libraries`, alone and in an instance,
# and by `banyan push`: they arrive as they are, once, are removed at the end, and survive the loss of a node.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

files=$scratch/files
mkdir -p "$files/tree/sub" "$files/tree/closed"
cd "$files" || exit 1
echo one >tree/a
printf '#!/bin/sh\necho "program says $1"\n' >tree/sub/prog
ln -s ../a tree/sub/link
ln -s /nonexistent tree/dangling
echo locked >tree/closed/x
chmod 750 tree/sub
chmod 751 tree/sub/prog
chmod 444 tree/closed/x
chmod 555 tree/closed
: >tree/empty
head -c 3000000 /dev/urandom >noise
# So that it can be removed by users who are not root.
clean_up() { chmod -R u+w "$files"; }

stage() { run "$banyan" run --timeout 240 --virtual-nodes 3 --per-node 1 "$@" </dev/null; }
# fails NAME REGEX: status 125 and one line.
fails() {
    is "$status $(wc -l <<<"$err")" "125 1" "$1: status and one line"
    like "$err" "$2" "$1: what is wrong"
}
# listing DIRECTORY: kinds, permissions, times, names, targets of links.
cat >list <<'L'
cd "$1" && find . -mindepth 1 -printf '%y %m %P %l\n' | LC_ALL=C sort && find . -type f -printf '%T@ %P\n' | LC_ALL=C sort
L

# ---- one run ----

stage --stage tree --stage noise:in/noise sh -c 'sh "$1/list" "$BANYAN_STAGE/tree" >"$1/got.$BANYAN_RANK"
    cmp "$1/noise" "$BANYAN_STAGE/in/noise" && cat "$BANYAN_STAGE/tree/sub/link" && "$BANYAN_STAGE/tree/sub/prog" here' x "$files"
is "$status$err" 0 "a tree and a file are staged"
is "$(sort <<<"$out" | uniq -c | sed 's/^ *//')" "3 one
3 program says here" "and can be used on each node"
sh list tree >expected
for rank in 0 1 2; do
    is "$(cat "got.$rank")" "$(cat expected)" "rank $rank has all with its permissions, links and times"
done
nothing_left_within 30 none "nothing is left"

stage --stage tree/sub/prog sh -c '"$BANYAN_STAGE/tree/sub/prog" kept'
is "$status $(sort -u <<<"$out")" "0 program says kept" "a relative path is kept"
stage --stage "$files/tree/sub/prog" --stage tree:. sh -c '"$BANYAN_STAGE/prog" && cat "$BANYAN_STAGE/a"'
is "$status $(sort -u <<<"$out" | tr '\n' ' ')" "0 one program says  " "of an absolute one the name, and contents go to '.'"
stage --stage "tree/a:$scratch/far/b" cat "$scratch/far/b"
is "$status $(sort -u <<<"$out")" "0 one" "an absolute destination"
ok "stays" test -f "$scratch/far/b"
stage --stage "tree/sub/prog:$scratch/far/b" true
fails "another file there" "cannot stage files: v\[1-3\]: $scratch/far/b exists and differs; --force"
is "$(cat "$scratch/far/b")" one "it is as it was"
stage --force --stage "tree/sub/prog:$scratch/far/b" "$scratch/far/b" forced
is "$status $(sort -u <<<"$out")" "0 program says forced" "it is replaced by --force"

head -c 40000000 /dev/urandom >large
"$banyan" run --virtual-nodes 3 --slots 1 --stage large sleep 1000 </dev/null >interrupted.out 2>interrupted.err &
pid=$!
begun() { [ -n "$(find "$TMPDIR" -path '*/stage-cache/*' -print -quit 2>/dev/null)" ]; }
ok "files are on their way" until_true 60 begun
kill -TERM "$pid"
wait "$pid"
is "$? $(without_stalls <interrupted.err)" "143 banyan: terminated" "a run is ended before or after it has its files"
nothing_left_within 30 none "nothing is left of it"

# ---- what is refused, before anything starts ----

mkfifo fifo
truncate -s 4M holes
stage --stage fifo true
fails "a fifo" 'cannot stage fifo: it is neither a file nor a directory nor a symbolic link'
stage --stage /dev/null true
fails "a device" 'cannot stage /dev/null: it is neither'
stage --stage holes true
fails "a sparse file" 'cannot stage holes: it is a sparse file'
stage --stage none true
fails "a file that does not exist" 'cannot stage none: No such file or directory'
stage --stage tree:../x true
fails "a destination that leaves" "a destination has no '..', '.' or empty components"
stage --stage tree --stage noise:tree/a true
fails "two of one name" 'two files would be staged as tree/a'
stage --force true
fails "--force without files" 'option --force: no file is staged'

# ---- programs and their libraries ----

if ${CC:-cc} --version >/dev/null 2>&1; then
    echo 'int answer(void) { return 7; }' >lib.c
    echo 'int answer(void); int main(void) { return answer(); }' >main.c
    ${CC:-cc} -shared -fPIC -o libanswer.so lib.c
    ${CC:-cc} -o program main.c -L. -lanswer
    stage --check-libraries ./program
    fails "a library that no node has" 'v\[1-3\]: ./program: missing shared libraries: libanswer.so'
    stage --check-libraries ./none
    fails "a program that no node has" 'v\[1-3\]: ./none does not exist or is not executable'
    stage --stage-binary ./program
    fails "a library that is missing here" 'cannot stage .*/program: missing shared libraries: libanswer.so'
    LD_LIBRARY_PATH=$files stage --stage-binary --check-libraries -x LD_LIBRARY_PATH= ./program
    fails "a library that the job's environment does not find" 'missing shared libraries: libanswer.so'
    mkdir moved
    LD_LIBRARY_PATH=$files stage --stage-binary --check-libraries ./program
    is "$status" 7 "a program runs with the libraries that were staged with it"
    cat >where.sh <<'W'
mv libanswer.so program moved/
W
    LD_LIBRARY_PATH=$files/moved
    sh where.sh
    export LD_LIBRARY_PATH
    stage --stage-binary moved/program
    unset LD_LIBRARY_PATH
    is "$status" 7 "wherever they are here"
else
    for _ in 1 2 3 4 5 6 7 8 9 10; do skip "there is no compiler"; done
fi
stage --stage-binary sh -c 'readlink "/proc/$$/exe"'
is "$status $(grep -c '/stage/1/bin/sh$' <<<"$out")" "0 3" "what runs is the copy"

# ---- an instance ----

dir=$("$banyan" start --daemonize --virtual-nodes 4 --slots 2 --radix 2)
push() { run "$banyan" push --instance "$dir" "$@" </dev/null; }
in_instance() { run "$banyan" run --timeout 240 --instance "$dir" --per-node 1 "$@" </dev/null; }
push -v noise tree
is "$status" 0 "files are pushed"
like "$err" '^banyan: [0-9]+ bytes on 4 nodes, of which [1-9][0-9]* were sent$' "to all nodes"
push -v noise:again
like "$err" '^banyan: 3000000 bytes on 4 nodes, of which 0 were sent$' "the same content is not sent again"
in_instance sh -c 'cmp "$1" "$BANYAN_STAGE/noise" && cmp "$1" "$BANYAN_STAGE/again" && echo same' x "$files/noise"
is "$status $(sort <<<"$out" | uniq -c | tr -s ' ')" "0  4 same" "jobs find it"
workers() {
    local process
    for process in $(descendants "$("$banyan" status --instance "$dir" | sed -n 's/^root *process \([0-9]*\).*/\1/p')"); do
        [ "$(tr -d '\0 ' <"/proc/$process/cmdline" 2>/dev/null)" != banyan-stage ] || echo "$process"
    done
}
is "$(workers | wc -l)" 4 "each node has a process that writes files"
kill -9 $(workers)
pushes() { "$banyan" push --instance "$dir" -v noise:third </dev/null 2>push.err; }
ok "which may die" until_true 60 pushes
like "$(cat push.err)" ', of which 0 were sent$' "nothing is lost with them"
push tree/sub/prog:noise
fails "another file of that name" 'cannot stage files: v\[1-4\]: noise exists and differs; --force'
push --force tree/a:noise
in_instance sh -c 'cat "$BANYAN_STAGE/noise"'
is "$status $(sort -u <<<"$out")" "0 one" "unless it is forced"
in_instance --stage noise -v sh -c 'cmp "$1" "$BANYAN_STAGE/noise" && echo same' x "$files/noise"
is "$status $(sort <<<"$out" | uniq -c | tr -s ' ')" "0  4 same" "a job has files of its own"
like "$err" 'staged 3000000 bytes on 4 nodes, of which 0 were sent' "that the nodes have already"
stages() { find "$TMPDIR" -path '*/stage/*' -prune -name "$1" | wc -l; }
no_stages() { [ "$(stages '[1-9]*')" = 0 ]; }
ok "which are removed when it ends" until_true 20 no_stages
is "$(stages 0)" 4 "those of the instance are not"

# ---- losses ----

# Node v1 relays to others. Whatever of the push is under way, the others get all of it.
"$banyan" push --instance "$dir" -v large </dev/null >push.out 2>push.err &
pid=$!
cached() { [ -n "$(find "$TMPDIR" -path '*/stage-cache/[0-9a-f]*' -print -quit 2>/dev/null)" ] &&
    [ "$(find "$TMPDIR" -path '*/stage-cache/[0-9a-f]*' | wc -l)" -gt 8 ] || ! kill -0 "$pid" 2>/dev/null; }
until_true 60 cached
daemon_of() { # PLACE: the pid of the daemon whose session directory that is
    local process
    for process in $(descendants "$("$banyan" status --instance "$dir" | sed -n 's/^root *process \([0-9]*\).*/\1/p')"); do
        case $(tr '\0' ' ' <"/proc/$process/cmdline" 2>/dev/null) in
        banyand*) ls -l "/proc/$process/fd" 2>/dev/null | grep -q "\.$1\$" && echo "$process" && return ;;
        esac
    done
}
victim=$(daemon_of 1)
ok "the relay's daemon is found" test -n "$victim"
[ -z "$victim" ] || kill -9 "$victim"
wait "$pid"
is $? 0 "a push goes on without a node that dies"
lost() { "$banyan" run --timeout 240 --instance "$dir" -n 1 true </dev/null 2>/dev/null; }
until_true 60 lost
run "$banyan" run --timeout 240 --instance "$dir" -n 6 sh -c 'cmp "$1" "$BANYAN_STAGE/large" && echo "$BANYAN_NODE"' x "$files/large" </dev/null
is "$status $(sort -u <<<"$out" | tr '\n' ' ')" "0 v2 v3 v4 " "the others have the whole file"

"$banyan" stop --instance "$dir"
nothing_left_within 30 none "nothing is left of the instance"
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Shows contrib/check-words.sh bad samples: each of its words, in each kind of text.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"

tree=$scratch/tree
good_tree() {
    rm -rf "$tree"
    mkdir -p "$tree/alloc" "$tree/overlay" "$tree/doc/reference"
    printf '/* A list of nodes. */\nconst char *text = "cannot read %%s: %%s";\n' >"$tree/alloc/list.c"
    printf '/* The tree. */\nint places;\n' >"$tree/overlay/tree.c"
    printf 'X\n=\n\nRuns a program.\n' >"$tree/README.rst"
    printf 'Words\n=====\n\nA place is a number.\n' >"$tree/doc/words.rst"
}
# check: what is wrong with the tree, as the numbers of the kinds that fail.
check() {
    run bash "$srcdir/contrib/check-words.sh" "$tree"
    bad=$(printf '%s\n' "$out" | sed -n 's/^not ok \([0-9]\).*/\1/p' | xargs)
}
# catches KIND WHERE WORD WHAT: the kind fails, and one line names the place and the word.
catches() {
    check
    if [ "$status $bad" = "1 $1" ] && grep -qF "# $2: \"$3\": write: " <<<"$out"; then
        pass "$4"
    else
        fail "$4"
        diag "$out"
    fi
}
# lets_pass WHAT
lets_pass() {
    check
    is "$status $bad" "0 " "$1"
}

good_tree
lets_pass "a good tree passes"

# ---- Each word, in a message ----

samples=0
# word WORD TEXT: the expression that finds WORD is in the table, and finds it in TEXT.
word() {
    good_tree
    printf 'int x;\nconst char *text = "%s";\n' "$2" >>"$tree/alloc/list.c"
    catches 1 alloc/list.c:4 "$1" "\"$1\" is caught"
    samples=$((samples + 1))
}
word behind "no program behind ':'"
word "so many" "so many processes on each node"
word tells "what the node tells"
word told "they are told later"
word mends "sed mends that"
word mended "it was mended"
word mending "worth mending"
word "is none" "a word that is none"
word "are gone" "all daemons are gone"
word "any more" "not wanted any more"
word whoever "whoever asks"
word "nobody who" "there is nobody who waits"
word "of its own" "a device of its own"
word "nodes that there are" "the nodes that there are"
word "that is not there" "a node that is not there"
word "what there is" "it lists what there is"
word "for ever" "it waits for ever"
word "another placement than" "another placement than the root"
word "else than" "something else than text"
word "has come" "who has come with a token"
word "one after the other" "one after the other"
word "in its stead" "started in its stead"
word "deal to" "deal to the nodes in turn"
word "is to have" "each process is to have 4 cores"
word "is wanted" "slot= is wanted"
word "is expected here" "a size is expected here"
word "leave out" "leave out -n"
table=$(sed -n "/^words='/,/^'/p" "$srcdir/contrib/check-words.sh" | grep -c '|')
is "$samples" "$table" "there is a sample of each line of the table"

# ---- Each kind of text ----

good_tree
printf 'const char *text = "cannot start on %%s: any "\n                   "more";\n' >>"$tree/alloc/list.c"
catches 1 alloc/list.c:3 "any more" "two literals of one message are one text"

good_tree
printf '#define A "for "\n#define B "ever"\nconst char *c = "so", *d = "many";\n' >>"$tree/alloc/list.c"
lets_pass "literals of different messages are not"

good_tree
printf 'x(1) - run\n==========\n\n``-x`` *N*\n    The *nodes* are\n    *any* more.\n' >"$tree/doc/reference/x.rst"
catches 2 doc/reference/x.rst:4 "any more" "a man page, across its fonts"

good_tree
printf '\nThe root is told what\nthere is.\n' >>"$tree/README.rst"
catches 2 README.rst:6 "told" "README.rst"
like "$out" '# README.rst:6: "what there is"' "also across the end of a line"

good_tree
printf '\n=====  =====\nword   what\n=====  =====\nnode   nobody who\n=====  =====\n' >>"$tree/doc/words.rst"
catches 2 doc/words.rst:6 "nobody who" "a row of a table"

good_tree
printf '\nA trace::\n\n    1 is told the result\n\n    2 is told it, too\n\nGood.\n' >>"$tree/doc/words.rst"
printf 'See ``tell`` in the source.\n' >>"$tree/doc/words.rst"
lets_pass "a literal block is output, and a literal is a name"

good_tree
printf '\nA trace::\n\n    1 is told the result\n\nThat is told here.\n' >>"$tree/doc/words.rst"
catches 2 doc/words.rst:10 "told" "the text after it is text again"

# ---- Comments ----

commented=$(sed -n 's/^commented=(\([a-z]*\).*/\1/p' "$srcdir/contrib/check-words.sh")
good_tree
mkdir -p "$tree/$commented"
printf '/* The first one.\n * The second is\n * gone. */\nint x;\n' >"$tree/$commented/a.c"
catches 3 "$commented/a.c:1" "is gone" "a comment of a room that is done"

good_tree
mkdir -p "$tree/launch/later"
printf '/* The peer is gone. */\nint x;\n' >"$tree/launch/later/a.c"
lets_pass "a comment of a room that is not done yet"

# ---- What is right ----

good_tree
printf 'const char *a = "if there is none";\nint told, tell(int behind);\n' >>"$tree/alloc/list.c"
lets_pass "'there is none', and names in code"

good_tree
mkdir -p "$tree/launch/daemon"
printf 'const char *text = "behind";\n' >"$tree/launch/daemon/doctor_daemon.c"
lets_pass "an exception is for its file"
printf 'const char *text = "behind";\n' >"$tree/launch/daemon/doctor_root.c"
catches 1 launch/daemon/doctor_root.c:1 "behind" "and for no other"

rm -rf "${tree:?}/alloc" "$tree/overlay" "$tree/launch"
check
like "$status $out" "1 Bail out" "an empty tree is an error, not a success"
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Shows contrib/check-size.sh and contrib/check-format.sh bad samples.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"

mkdir -p "$scratch/base" "$scratch/test"

# lines COUNT TEXT
lines() {
    awk -v count="$1" -v text="$2" 'BEGIN { for (i = 0; i < count; i++) print text }'
}
# function COUNT: a function of so many lines, from brace to brace.
function_of() {
    printf '%s\n' 'static int long_one(int number,' '                    int other)' '{'
    lines $(($1 - 2)) '    ;'
    echo '}'
}
size() {
    run bash "$srcdir/contrib/check-size.sh" "$scratch"
}

function_of 70 >"$scratch/base/a.c"
size
is "$status" 0 "a function of 70 lines passes"

function_of 71 >"$scratch/base/a.c"
size
like "$out" "# base/a.c:3: long_one has 71 lines" "a function of 71 lines is named"
is "$status" 1 "and fails"

{
    echo 'static const int table[] = {'
    lines 90 '    1,'
    echo '};'
    function_of 5
} >"$scratch/base/a.c"
size
is "$status" 0 "a long table is no function"

lines 800 'int x;' >"$scratch/base/a.c"
size
is "$status" 0 "a file of 800 lines passes"
lines 801 'int x;' >"$scratch/base/a.c"
size
like "$out" "# base/a.c is longer than 800 lines" "a file of 801 lines is named"

echo 'int x;' >"$scratch/base/a.c"
lines 401 ':' >"$scratch/test/a.sh"
size
like "$out" "# test/a.sh is longer than 400 lines" "a script of 401 lines is named"
rm "$scratch/test/a.sh"

{ echo 'long() {'; lines 69 '    :'; echo '}'; } >"$scratch/test/a.sh"
size
like "$status $out" "1 .*# test/a.sh:1: long\(\) has 71 lines" "a long function of a shell script is named"
rm "$scratch/test/a.sh"
{ echo 'def short():'; lines 69 '    pass'; echo; echo 'def long(a,'; echo '         b):'; lines 69 '    pass'; } \
    >"$scratch/test/a.py"
size
like "$status $out" "1 .*# test/a.py:72: long has 71 lines" "a long function of a Python script is named"
unlike "$out" "short has" "a short one is not"
lines 801 'pass' >"$scratch/test/a.py"
size
like "$out" "# test/a.py is longer than 800 lines" "a Python script of 801 lines is named"
rm "$scratch/test/a.py"

lines 699 'int x;' >"$scratch/base/a.c"
{ lines 292 'int x;'; lines 9 '    assert(x > 0);'; echo ' * assert(x > 0);'; } >"$scratch/base/b.c"
size
like "$status $out" "1 .*# base has 9 asserts in 1001 lines, 9.0 per 1,000" "too few asserts are counted"
lines 2 '    assert(x > 0);' >>"$scratch/base/b.c"
size
is "$status" 0 "as many as there must be pass"
rm "$scratch/base/b.c"

cp "$srcdir/.clang-format" "$scratch"
run bash "$srcdir/contrib/check-format.sh" "$scratch"
if [[ $out == *SKIP* ]]; then
    skip "clang-format of our version is not installed"
else
    like "$status $out" "^0 .*ok 1" "a formatted file passes"
    printf 'int  x;\n' >"$scratch/base/a.c"
    run bash "$srcdir/contrib/check-format.sh" "$scratch"
    like "$status $out" "^1 .*# base/a.c:1:.*not ok 1" "a badly formatted one is named"
    bash "$srcdir/contrib/check-format.sh" --fix "$scratch"
    is "$(cat "$scratch/base/a.c")" "int x;" "and is put into order by --fix"
fi

rm "$scratch/base/a.c"
size
like "$status $out" "1 Bail out" "an empty tree is an error, not a success"
done_testing

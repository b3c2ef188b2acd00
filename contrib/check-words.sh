#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# check-words.sh [ROOT]: keeps words out of texts that no engineer of the field would use there:
# most of them betray a sentence that was translated. Prints TAP, one line for each kind of text; the
# offending passages, with what to write instead, stand before the line of their kind.
#
# Checked are the string literals of the product, README.rst and doc/**.rst (without literal blocks, which
# show output, code and traces), and the comments of the rooms in `commented`, a list to which rooms are
# only added.
set -u
root=${1:-${srcdir:-$(dirname "$0")/..}}
cd "$root" || exit 1

product=(base alloc overlay fabric pmix launch)
commented=(alloc base fabric launch/cli launch/core launch/daemon launch/doctor launch/exec launch/job launch/proto launch/rank launch/sim
    launch/start overlay pmix)

# Where a word is right: FILE|WORD|why.
exceptions='
launch/daemon/doctor_daemon.c|behind|a clock is ahead of another or behind it
'

# Each line: what is looked for, an extended regular expression in lower case that begins and ends
# at a word boundary; then what to write instead.
words='
behind|after, below, following
so many|that many, the number of, per
tells?|say, report, show, send, determine
told|said, reported, notified, known, sent
mends?|fix
mended|fixed
mending|fixing
(is|are|was) none|there is none, does not exist
(is|are|was|were) gone|no longer exists, has exited, is removed
any more|no longer
who(ever|mever)|any process (node, caller) that
nobody (who|that)|no process (node, caller) that
(of|on) (its|their) own|separate, its own X
(what|nodes|ranks|places|names|options|cores) that there (is|are)|existing, that exist
that (is|are) (not )?there|that exists, that is present
what there is|what exists
for ever|forever, indefinitely
another( [a-z]+)? than|different from, other than
(else|otherwise) than|other than
(has|have|had) come|arrived, joined
one after the other|one at a time
in (its|their|his) stead|instead
deals? (to|out)|goes round-robin over
(is|are) to (be|have)|must be, has
(is|are|was|were) wanted|is expected, is requested
(is|are) expected here|expected X
leaves? out|excludes, omits
'

checks=0
failed=0
# verdict NAME: reads the passages, each "FILE:LINE<tab>TEXT", on standard input.
verdict() {
    local lines
    lines=$(awk -F '\t' -v words="$words" -v exceptions="$exceptions" '
        BEGIN {
            count = split(exceptions, lines, "\n")
            for (i = 1; i <= count; i++)
                if (split(lines[i], fields, "|") == 3)
                    is_right[fields[1] "|" fields[2]] = 1
            count = split(words, lines, "\n")
            for (i = 1; i <= count; i++) {
                at = index(lines[i], "|")
                # The last bar separates: expressions have bars, too.
                while (index(substr(lines[i], at + 1), "|") > 0)
                    at += index(substr(lines[i], at + 1), "|")
                if (at > 1) {
                    kinds++
                    expression[kinds] = "[^a-z_-](" substr(lines[i], 1, at - 1) ")[^a-z_-]"
                    instead[kinds] = substr(lines[i], at + 1)
                }
            }
        }
        {
            text = " " tolower($2) " "
            gsub(/[ \t]+/, " ", text)
            gsub(/there (is|are|was|were) none/, "there is no", text)
            gsub(/le(ave|aves|ft|aving) behind/, "left", text)
            gsub(/t(ell|ells|old) apart/, "distinguish", text)
            file = $1
            sub(/:[0-9]*$/, "", file)
            for (i = 1; i <= kinds; i++) {
                rest = text
                while (match(rest, expression[i])) {
                    word = substr(rest, RSTART + 1, RLENGTH - 2)
                    if (!((file "|" word) in is_right))
                        printf "# %s: \"%s\": write: %s\n#     ...%s...\n", $1, word, instead[i],
                            substr(rest, RSTART > 30 ? RSTART - 30 : 1, RLENGTH + 60)
                    rest = substr(rest, RSTART + RLENGTH - 1)
                }
            }
        }')
    checks=$((checks + 1))
    if [ -z "$lines" ]; then
        echo "ok $checks - $1"
    else
        failed=1
        printf '%s\nnot ok %d - %s\n' "$lines" "$checks" "$1"
    fi
}

# c_passages strings|comments FILE...: string literals (neighbours as one), or comments.
c_passages() {
    local kind=$1
    shift
    [ $# -eq 0 ] || awk -v kind="$kind" '
        function flush() {
            if (passage != "")
                printf "%s:%d\t%s\n", file, start, passage
            passage = ""
        }
        function add(text) {
            if (passage == "")
                start = FNR
            passage = passage text
        }
        FNR == 1 { flush(); inside = 0 }
        {
            file = FILENAME
            line = $0
            if (line ~ /^#[ ]*include/)
                next
            while (line != "" || inside) {
                if (inside) {
                    end = index(line, "*/")
                    text = end ? substr(line, 1, end - 1) : line
                    sub(/^[ ]*\*?[ ]*/, " ", text)
                    if (kind == "comments")
                        add(text " ")
                    if (!end)
                        break
                    inside = 0
                    line = substr(line, end + 2)
                    if (kind == "comments")
                        flush()
                    continue
                }
                if (!match(line, /"([^"\\]|\\.)*"|\/\*|\047([^\047\\]|\\.)+\047/)) {
                    if (kind == "strings" && line !~ /^[ ]*(PRI[a-zA-Z0-9]+)?[ ]*$/)
                        flush()
                    break
                }
                before = substr(line, 1, RSTART - 1)
                token = substr(line, RSTART, RLENGTH)
                line = substr(line, RSTART + RLENGTH)
                if (kind == "strings" && before !~ /^[ ]*(PRI[a-zA-Z0-9]+)?[ ]*$/)
                    flush()
                if (token == "/*")
                    inside = 1
                else if (kind == "strings" && substr(token, 1, 1) == "\"") {
                    text = substr(token, 2, length(token) - 2)
                    gsub(/\\[nt]/, " ", text)
                    gsub(/\\/, "", text)
                    add(text)
                }
            }
        }
        END { flush() }' "$@"
}

# rst_passages FILE...: paragraphs and rows of tables, without literal blocks.
rst_passages() {
    awk '
        function flush() {
            if (passage != "")
                printf "%s:%d\t%s\n", file, start, passage
            passage = ""
        }
        FNR == 1 { flush(); literal = 0; announced = 0 }
        {
            file = FILENAME
            match($0, /^ */)
            depth = RLENGTH
        }
        /^[ \t]*$/ { flush(); next }
        announced { announced = 0; if (depth > level) literal = 1 }
        literal && depth > level { next }
        {
            literal = 0
            if (passage == "")
                start = FNR
            text = $0
            if (text ~ /::$/) {
                announced = 1
                level = depth
            }
            gsub(/``[^`]*``/, "``", text)
            gsub(/[*]/, "", text)
            passage = passage " " text
        }
        END { flush() }' "$@"
}

mapfile -t sources < <(find "${product[@]}" -name '*.[ch]' 2>/dev/null | LC_ALL=C sort)
mapfile -t documents < <(find README.rst doc -name '*.rst' 2>/dev/null | LC_ALL=C sort)
mapfile -t rooms < <([ ${#commented[@]} -eq 0 ] ||
    find "${commented[@]}" -name '*.[ch]' 2>/dev/null | LC_ALL=C sort)
if [ ${#sources[@]} -eq 0 ] || [ ${#documents[@]} -eq 0 ]; then
    echo "Bail out! no source file or document under $root"
    exit 1
fi

echo "1..3"
verdict "messages and help texts" < <(c_passages strings "${sources[@]}")
verdict "README.rst and doc/**.rst" < <(rst_passages "${documents[@]}")
verdict "comments of the rooms listed" < <(c_passages comments "${rooms[@]}")
exit $failed

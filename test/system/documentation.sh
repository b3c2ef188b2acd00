#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The commands in the tutorial, the how-to pages and the page of troubles run as typed, in the order of their page, and
# print what is shown below them. ssh, the commands of PBS, LSF and Kubernetes and apptainer are stand-ins that start
# daemons on virtual nodes (fakessh); Slurm is a real one (contrib/testbed/with-slurm.sh). The pages become HTML and man
# pages without a warning if Sphinx is there.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/leftovers.sh"

if [ -n "${SLURM_TESTBED:-}" ]; then
    pages=(howto/slurm)
else
    pages=(tutorial howto/laptop howto/ssh howto/pbs howto/lsf howto/kubernetes howto/containers troubleshooting)
fi

export FAKESSH=$top_builddir/contrib/testbed/fakessh FAKESSH_BASE=$scratch/nodes
export FAKESSH_ISOLATE=no FAKESSH_KEEP=FAKESSH,BANYAN_CONFIG,BANYAN_PKGLIBDIR BANYAN_START_TIMEOUT=120
mkdir "$scratch/bin" "$scratch/top" "$scratch/pages"
for host in n1 n2 n3 n4 pod-0 pod-1 pod-2 pod-3; do mkdir -p "$FAKESSH_BASE/$host"; done

# ---- stand-ins ----

# stand_in NAME: a program of that name; the body is on stdin.
stand_in() {
    {
        echo '#!/bin/bash'
        # Words as they are, without another shell: what execve would do.
        echo 'quoted() { local word; for word; do printf "%q " "$word"; done; }'
        cat
    } >"$scratch/bin/$1"
    chmod +x "$scratch/bin/$1"
}

stand_in banyan <<A
exec $banyan "\$@"
A
stand_in mpicc <<A
exec $(command -v mpicc || echo false) "\$@"
A
stand_in apptainer <<'A'
[ "$1" = exec ] && [ -e "$2" ] || { echo "apptainer: exec IMAGE COMMAND is expected" >&2; exit 1; }
shift 2
exec "$@"
A
stand_in ssh_of_the_site <<'A'
exec "$FAKESSH" "$@"
A
cp "$scratch/bin/ssh_of_the_site" "$scratch/bin/ssh"
cp "$scratch/bin/ssh_of_the_site" "$scratch/bin/pbs_tmrsh"
stand_in qsub <<'A'
output=job.out
while [ $# -gt 0 ]; do
    case $1 in
    -W) [ "$2" = block=true ] || exit 1; shift 2 ;;
    -o) output=$2; shift 2 ;;
    *) break ;;
    esac
done
printf 'n1\nn2\nn3\nn4\n' >"$TMPDIR/nodefile"
PBS_JOBID=17.server PBS_NODEFILE=$TMPDIR/nodefile sh "${@:-/dev/stdin}" >"$output" 2>&1
status=$?
rm "$TMPDIR/nodefile"
echo 17.server
exit $status
A
stand_in bsub <<'A'
output=/dev/stdout
while [ $# -gt 0 ]; do
    case $1 in
    -I | -K) shift ;;
    -n | -R) shift 2 ;;
    -o) output=$2; shift 2 ;;
    *) break ;;
    esac
done
LSB_JOBID=17 LSB_MCPU_HOSTS="n1 1 n2 1 n3 1 n4 1 " "$@" >"$output"
A
stand_in blaunch <<'A'
host=$1
shift
exec "$FAKESSH" "$host" "$(quoted "$@")"
A
stand_in kubectl <<'A'
if [ "$1 $2" = "apply -f" ]; then
    grep -q '^kind: Job' "$3" || exit 1
    echo created
    exit
fi
[ "$1 $2 $4" = "exec -i --" ] || { echo "kubectl: exec -i POD -- COMMAND is expected" >&2; exit 1; }
host=$3
shift 4
exec "$FAKESSH" "$host" "$(quoted "$@")"
A

# ---- the examples of a page ----

# Each becomes NUMBER.command, what is typed with its further lines ("> "), and NUMBER.shown if output is shown below it.
extract() {
    awk -v base="$2" '
        /^\.\. code-block:: console$/ { inside = 1; next }
        inside && /^[^ ]/ { inside = 0 }
        !inside || /^ *$/ { next }
        { line = substr($0, 4) }
        line ~ /^\$ / { number++; file = sprintf("%s/%03d", base, number); print substr(line, 3) >file ".command"; typed = 1; next }
        typed && line ~ /^> / { print substr(line, 3) >file ".command"; next }
        { typed = 0; print line >file ".shown" }' "$srcdir/doc/$1.rst"
}

# They share a shell, as when they are typed one after the other.
type_all() {
    local command
    for command in "$1"/*.command; do
        eval "$(<"$command")" >"${command%.command}.out" 2>"${command%.command}.err" </dev/null
        echo $? >"${command%.command}.status"
    done
}

# check EXAMPLE NAME: its status is 0, or one that a comment names; what it prints comes in any order.
check() {
    local expected=0 status
    [[ ! $(<"$1.command") =~ '# exit status '([0-9 or]+) ]] || expected=${BASH_REMATCH[1]}
    status=$(cat "$1.status" 2>/dev/null)
    if [[ " ${expected// or / } " = *" ${status:-none} "* ]]; then
        pass "$2"
    else
        fail "$2"
        diag "status ${status:-none}, expected $expected; $(cat "$1.out" "$1.err" 2>/dev/null)"
    fi
    if [ ! -e "$1.shown" ]; then
        is "$(without_stalls <"$1.out")" "" "it prints nothing"
    elif [ "$(cat "$1.shown")" != ... ]; then
        is "$(sort "$1.out")" "$(sort "$1.shown")" "it prints what is shown"
    fi
}

# page NAME
page() {
    local base=$scratch/pages/${1//\//-} example count=0
    new_mark
    files_before=$(left_files)
    mkdir "$base" "$scratch/top/${1//\//-}"
    extract "$1" "$base"
    (
        cd "$scratch/top/${1//\//-}" || exit 1
        ln -s "$srcdir/test" "$srcdir/contrib" "$srcdir/doc" .
        touch image.sif
        export PATH=$scratch/bin:$PATH BT_MARK=$mark
        [ -n "${SLURM_TESTBED:-}" ] || export BANYAN_NET=lo
        type_all "$base"
    )
    for example in "$base"/*.command; do
        check "${example%.command}" "$1: $(head -n 1 "$example")"
        count=$((count + 1))
    done
    ok "$1: it has examples" [ "$count" -ge 2 ]
    nothing_left "$1: nothing is left"
}

for name in "${pages[@]}"; do page "$name"; done
[ -z "${SLURM_TESTBED:-}" ] || done_testing

export SLURM_TREE='SwitchName=leaf1 Nodes=sim[1-2]
SwitchName=leaf2 Nodes=sim[3-4]
SwitchName=top Switches=leaf[1-2]'
in_slurm documentation.sh 4 400 >"$scratch/slurm"
if [ "$status" -eq 77 ]; then
    skip "$(tail -n 1 "$scratch/reason")"
else
    while read -r line; do
        case $line in
        "ok "*) pass "${line#ok * - }" ;;
        "not ok "*) fail "${line#not ok * - }" ;;
        esac
    done <"$scratch/slurm"
    grep '^#' "$scratch/reason" >&2
    is "$status" 0 "the page of Slurm ends well"
fi

# ---- as HTML and man pages ----

mkdir "$scratch/few"
ln -s /bin/true "$scratch/few/sphinx-build"
run env PATH="$scratch/few" srcdir="$srcdir" top_builddir="$top_builddir" "$BASH" "$srcdir/doc/html.sh" "$scratch/html"
is "$status $out$err" "1 html.sh: gnuplot is missing (on Debian: apt-get install python3-sphinx gnuplot-nox)" \
    "a program that is missing is named"

# html: what Sphinx made of the pages, in $scratch/html.
html() {
    local name html=$scratch/html/html
    run grep -c 'href="banyan-run.html"' "$html/reference/banyan.html"
    ok "pages of the reference are linked to each other" [ "$status" = 0 ]
    ok "and can be searched" grep -q ompi_mca_btl_tcp_if_includ "$html/searchindex.js" # a stem
    for name in np map-by N host hosts; do
        ok "and have an anchor for each option, such as --$name" grep -qE "id=\"--?$name\"" "$html/reference/banyan-run.html"
    done
    for name in tree map time bandwidth pairs_65536 timeline; do
        ok "the tutorial shows $name.svg" grep -q "src=\"_images/$name.svg\"" "$html/tutorial.html"
        ok "which is complete" grep -q '</svg>' "$html/_images/$name.svg"
    done
    is "$(sed -n 's|.*text-anchor="end">\(.*\)</text>|\1|p' "$html/_images/timeline.svg" | tr '\n' ' ')" \
        "ms root v1 v2 v3 v4 " "the timeline has a row for each node"
    is "$(grep -o '<title>rank [0-9]*' "$html/_images/timeline.svg" | sort | tr -dc '0-9')" 01234567 "and a bar for each rank"
}

# man_pages: each how-to page has one, too, and the reference.
man_pages() {
    local name file
    is "$(cd "$scratch/html/man" && printf '%s\n' *.[138] | sed 's/\.[138]$/.rst/' | sort)" \
        "$(cd "$srcdir/doc/reference" && printf '%s\n' banyan*.rst | sort)" "the reference has man pages"
    for name in tutorial troubleshooting glossary "$srcdir"/doc/howto/*.rst; do
        [ "$name" = "${name%.rst}" ] || name=howto-$(basename "$name" .rst)
        file=$scratch/html/man/banyan-$name.7
        ok "banyan-$name(7) is made" grep -q "^banyan-$name .- " "$file"
        is "$(groff -man -Kutf8 -Tutf8 -ww -z "$file" 2>&1)" "" "without a warning of groff"
        is "$(grep -nE '\[image|pictures/' "$file")" "" "and without pictures"
    done
    groff -man -Kutf8 -Tutf8 -P-cbou "$scratch/html/man/banyan-tutorial.7" >"$scratch/tutorial"
    is "$(grep -xE 'DESCRIPTION|A FIRST JOB|WHAT IS NEXT' "$scratch/tutorial" | tr '\n' ,)" \
        "DESCRIPTION,A FIRST JOB,WHAT IS NEXT," "banyan-tutorial(7) has the sections of the page"
}

echo '[]' >"$scratch/empty.json"
run python3 "$srcdir/doc/timeline.py" "$scratch/empty.json"
is "$status $out$err" "1 timeline.py: $scratch/empty.json has no phases of nodes; \`banyan run --trace\` writes them" \
    "a trace without nodes is refused"

if command -v sphinx-build >/dev/null && command -v groff >/dev/null && command -v gnuplot >/dev/null; then
    run env srcdir="$srcdir" top_builddir="$top_builddir" bash "$srcdir/doc/html.sh" "$scratch/html"
    is "$status $out$err" "0 " "Sphinx makes HTML and man pages without a warning"
    html
    man_pages
else
    skip "sphinx-build, groff or gnuplot is missing"
fi
done_testing

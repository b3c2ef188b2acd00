#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Completion: bash, and fish and zsh where they are installed, source what 'banyan completion' prints and complete
# verbs, options and values; every option of every verb is in it, and what it offers is accepted.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

for shell in bash zsh fish; do
    run "$banyan" completion $shell
    is "$status$err" 0 "the script for $shell"
    cp "$scratch/.out" "$scratch/$shell"
    ok "is the one that is installed" cmp "$scratch/$shell" "$top_builddir"/completion/$shell/*banyan*
done
run "$banyan" completion
is "$status $err" "125 banyan: expected: banyan completion bash|zsh|fish; see 'banyan help completion'" "no shell"
run "$banyan" completion tcsh
is "$status $err" "125 banyan: no completion for 'tcsh': the shells are bash, zsh and fish" "a shell that is none of them"

run bash --norc -n "$scratch/bash"
is "$status$err" 0 "bash parses its script"
eval "$(<"$scratch/bash")"
like "$(complete -p banyan)" '-F _banyan banyan' "bash completes banyan"

# completes LINE: what bash offers for the last word, in words split as readline does; in $out.
completes() {
    local i
    COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDBREAKS=$' \t\n"\'><=;|&(:'
    mapfile -t COMP_WORDS < <(grep -oE '[:=]+|[^ :=]+' <<<"$1")
    [[ $1 != *' ' ]] || COMP_WORDS+=('')
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    COMPREPLY=()
    _banyan
    out=''
    for ((i = 0; i < ${#COMPREPLY[@]}; i++)); do out+=${COMPREPLY[i]}' '; done
}
cd "$scratch" || exit 1
mkdir -p files/dir
touch files/hosts files/app
chmod +x files/app
check() {
    completes "$1"
    is "$out" "$2" "$3"
}
check "banyan st" "start stop status " "verbs"
check "banyan -v st" "start stop status " "verbs after an option"
check "banyan run --map" "--map-by " "an option"
check "banyan --np 4 run --rank-by " "slot node fill span " "a value with fixed choices"
check "banyan run --rank-by n" "node " "its beginning"
check "banyan run --rank-by=n" "node " "after an equals sign"
check "banyan run -rank-by n" "node " "of a name with one dash"
check "banyan run --map-by pp" "ppr: " "a value that goes on"
check "banyan run --boot fi" "file: " "one of a kind of values"
check "banyan run --mpi pmix,t" "pmix,torch " "the last item of a list"
check "banyan run --hostfile files/h" "files/hosts " "a file"
check "banyan run --machinefile=files/h" "files/hosts " "of another name of the option"
check "banyan run --wdir files/" "files/dir " "a directory"
check "banyan run --instance n" "none " "a word or a directory"
check "banyan run -H a,b:4 --on-f" "--on-failure " "an option after a value with a colon"
check "banyan run -n4 --on-f" "--on-failure " "an option after a letter with its value"
check "banyan run -n 4 files/a" "files/app " "the program"
check "banyan run -n 4 files/app --on-f" "" "its arguments are not options of banyan"
check "banyan run a : --per" "--per-node " "the next program may have options again"
check "banyan node " "list add drain resume remove " "words of a verb"
check "banyan node remove --w" "--wait " "and options after them"
check "banyan signal U" "USR1 USR2 " "signals"
check "banyan completion " "bash zsh fish " "shells"
check "banyan help com" "completion " "verbs of help"
check "banyan nothing -" "" "a verb that there is not"
completes "banyan sim ex"
is "$out" "exchange " "operations of sim"

# option_names VERB: in its help.
option_names() {
    "$banyan" help "$1" | sed -nE 's/^ +(-(.), )?--([a-z-]+).*/\2 \3/p' | while read -r a b; do
        [ -z "$b" ] || echo "-$a"
        echo "--${b:-$a}"
    done | sort -u
}
verbs=$("$banyan" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
is "$(tr ' ' '\n' <<<"${_banyan_verbs:?}")" "$verbs" "all verbs, in the order of the help text"
for verb in $verbs; do
    names=$(option_names "$verb")
    [ -n "$names" ] || continue
    words='' options='' value=''
    _banyan_table "$verb" ''
    is "$(comm -23 - <(tr ' ' '\n' <<<"$options" | sort -u) <<<"$names")" "" "all options of $verb in bash"
    sed -n "/^    $verb)$/,/^        ;;/p" zsh >verb.zsh
    grep "_verb $verb'" fish >verb.fish
    missing_zsh='' missing_fish=''
    for name in $names; do
        grep -qE -- "[{,' ]$name[]=+[},' ]" verb.zsh || missing_zsh+=" $name"
        case $name in
        --*) grep -q -- " -l ${name#--} " verb.fish || missing_fish+=" $name" ;;
        *) grep -q -- " -s ${name#-} " verb.fish || missing_fish+=" $name" ;;
        esac
    done
    is "$missing_zsh" "" "all options of $verb in zsh"
    is "$missing_fish" "" "all options of $verb in fish"
done

# choices VERB OPTION: what is offered for its value.
choices() {
    local words='' options='' value=''
    _banyan_table "$1" "$2"
    echo "$value"
}
# accepted OPTION REFUSAL COMMAND...: no choice is refused with these words, as another one is.
accepted() {
    local option=$1 refusal=$2 choice refused=''
    shift 2
    for choice in $(choices run "$option"); do
        case $choice in *[:=]) continue ;; esac
        run "$@" "$option" "$choice" </dev/null
        [[ ! $err =~ $refusal ]] || refused+=" $choice"
    done
    is "$refused" "" "what is offered for $option is known"
    run "$@" "$option" nonsense </dev/null
    like "$status $err" "125 .*$refusal" "and only that"
}
accepted --source 'unknown scheduler' "$banyan" alloc
accepted --starter 'is not local' "$banyan" tree --host a,b
accepted --map-by "'[a-z0-9]*'? is not|unknown" "$banyan" map --nodes 'n[1-2]' --topology 'package:2 core:2 pu:2'
accepted --bind-to "'[a-z0-9]*'? is not|unknown" "$banyan" map --nodes 'n[1-2]' --topology 'package:2 core:2 pu:2'
accepted --mpi 'is not a list of' sh -c 'exec "$0" run --virtual-nodes 1 -n 1 "$@" true' "$banyan"

if command -v fish >/dev/null; then
    run env HOME="$scratch" fish --no-config -c 'source fish
        complete -C "banyan sto"; complete -C "banyan run --rank-by "; complete -C "banyan run --map-b"' </dev/null
    is "$status $(cut -f 1 <<<"$out" | sort | tr '\n' ' ')$err" "0 --map-by fill node slot span stop " "fish completes"
else
    skip "no fish here"
fi
if command -v zsh >/dev/null; then
    run zsh -f -n zsh
    is "$status$err" 0 "zsh parses its script"
    mkdir functions
    cp zsh functions/_banyan
    # Its completion needs a terminal, which the module zpty has.
    cat >complete.zsh <<'END'
zmodload zsh/zpty || exit 9
zpty z zsh -f -i
line() { zpty -w z "$1" }
until_text() { local text=; while zpty -r z text "*$1*"; do print -r -- "$text"; return; done }
line 'PS1=; fpath=($PWD/functions $fpath); autoload -Uz compinit; compinit -u -D; unsetopt beep; echo rea""dy'
until_text ready
zpty -n -w z $'banyan run --rank-by fi\t --on-fai\tabo\t\C-aecho : \C-e do""ne\n'
until_text done
zpty -d z
END
    run timeout 60 zsh -f complete.zsh </dev/null
    like "$(tr -d '\r' <<<"$out")" ': banyan run --rank-by fill +--on-failure[= ]abort +done' "zsh completes"
else
    skip "no zsh here"
    skip "no zsh here"
fi
done_testing

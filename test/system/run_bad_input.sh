#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Wrong commands: each ends with status 125 (126, 127 for programs that cannot be run) and one line
# that names the thing; nothing is started or left.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/run_lib.sh"

refuses 125 "no command" "no command at all"
refuses 125 "unknown command 'rnu': did you mean 'run'" "a misspelt command" rnu true
refuses 125 "unknown command 'frobnicate'" "an unknown command" frobnicate
refuses 125 "no command given; did you mean 'banyan run --np ... true'" "an option without a command" --np 4 true
refuses 125 "unknown command 'ru'" "help for an unknown command" help ru
refuses 125 "unknown option '--labl': did you mean '--label'" "a misspelt option" run --labl true
refuses 125 "unknown option '--frobnicate'" "an unknown option" run --frobnicate true
refuses 125 "no program given" "no program" run -n 2
refuses 125 "option -n needs a value" "an option without its value" run -n

for value in 0 -1 -n 99999999999999999999 4294967297 2x 1.5 '' ' 2' 0x10; do
    refuses 125 "option -n: must be a whole number from 1 to [0-9]+, not '.*'" "-n '$value'" run -n "$value" true
done
for value in 0 1 -2 17 x 4294967296; do
    refuses 125 "option --radix: must be a whole number from 2 to the number of nodes.*, not '.*'" \
        "--radix $value with 16 nodes" run --virtual-nodes 16 --radix "$value" true
done
refuses 125 "option --timeout: must be .*, not '1h'" "a time with a unit" run --timeout 1h true
refuses 125 "option --mpi: 'pmi3'" "an unknown interface" run --mpi pmi3 true
refuses 125 "option --map-by: .*board" "an unknown policy" run --map-by board true
refuses 125 "option --starter: 'rsh'" "an unknown starter" run --starter rsh true
refuses 125 "option --stdin: '9'" "stdin for a rank that is not there" run -n 1 --stdin 9 true
refuses 125 "option -x: 'NOT_SET_HERE'" "-x of a variable that is not set" run -x NOT_SET_HERE true
refuses 125 "option -x: '=1'" "-x without a name" run -x =1 true
refuses 125 "option --json: cannot write $scratch/none/x: No such file" "--json into nowhere" \
    run --json "$scratch/none/x" -n 1 true

# Host files: file, line and column.
refuses 125 "--hostfile: cannot read $scratch/none: No such file" "a host file that is not there" \
    run --hostfile "$scratch/none" true
refuses 125 "--hostfile: cannot read $scratch: Is a directory" "a directory as host file" \
    run --hostfile "$scratch" true
refuses 125 "--hostfile: cannot read /proc/self/mem: Input/output error" \
    "a host file that can be opened and not read" run --hostfile /proc/self/mem true
# hostfile REGEX NAME TEXT
hostfile() {
    printf "$3" >"$scratch/hosts"
    refuses 125 "$scratch/hosts$1" "$2" run --hostfile "$scratch/hosts" true
}
hostfile ":2:[0-9]+: " "a host file with a word for a count" 'n1\nn2 slots=many\n'
hostfile ":1:[0-9]+: " "a host file with an open bracket" 'n[1-\n'
hostfile ":3:[0-9]+: " "a host file with a negative count" 'n1\n\nn2:-1\n'
hostfile ".*" "an empty host file" ''
hostfile ".*" "a host file of comments" '# nothing\n\n'
hostfile ".*" "a host file without slots" 'n1 slots=0\nn2:0\n'
refuses 125 "option --host: " "--host with an open bracket" run --host 'n[1-' true
refuses 125 "option --host: LIST is empty" "an empty --host" run --host= true
refuses 125 "give only one of --host, --hostfile and --virtual-nodes" "two sources of nodes" \
    run --host localhost --virtual-nodes 2 true
refuses 125 "option --virtual-nodes: must be .*, not '0'" "no nodes" run --virtual-nodes 0 true

# Slots: how many there were, where the count came from, what to type instead.
refuses 125 "3.* 2 slots.*--slots.*oversubscribe" "more processes than slots" run --slots 2 -n 3 true
refuses 125 "5.* 4 slots.*--host.*oversubscribe" "more than --host has" \
    run --host localhost:4 -n 5 true

# Programs.
refuses 127 "$scratch/none.*No such file" "a program that does not exist" run -n 2 "$scratch/none"
refuses 127 "no-such-program-anywhere" "a program that is not in PATH" \
    run -n 2 no-such-program-anywhere
echo text >"$scratch/text"
refuses 126 "$scratch/text.*Permission denied" "a file that is not executable" \
    run -n 2 "$scratch/text"
refuses 126 "$scratch.*(Permission denied|directory)" "a directory as program" run -n 2 "$scratch"
refuses 125 "$scratch/none.*No such file" "a working directory that does not exist" \
    run -n 2 --wdir "$scratch/none" true
refuses 125 "the name of the program is empty" "an empty program name" run -n 1 ""

# TMPDIR.
TMPDIR=$scratch/none refuses 125 "$scratch/none.*No such file" "a TMPDIR that does not exist" \
    run -n 1 true
TMPDIR=$scratch/none refuses 125 "$scratch/none.*No such file" \
    "a TMPDIR that does not exist, with virtual nodes" run --virtual-nodes 2 true

is "$(left_files)" "" "nothing is left in TMPDIR"
done_testing

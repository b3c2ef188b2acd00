#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Shows contrib/check-rooms.py and contrib/check-tested.py bad samples: each must break the rule it is
# made for, and no other.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"

command -v python3 >/dev/null || skip_all "python3 is not installed"
tree=$scratch/tree

# sample FILE LINES...: one file of a tree that is good otherwise.
sample() {
    local file=$tree/$1
    shift
    mkdir -p "${file%/*}"
    printf '%s\n' "$@" >"$file"
}

good_tree() {
    rm -rf "$tree"
    sample base/time.h '#define NS_PER_MS 1000000ull'
    sample base/buffer.h 'void buffer_fini(struct buffer *buffer);'
    sample base/buffer.c '#include "base/buffer.h"' 'void buffer_fini(struct buffer *buffer)' '{' '}'
    sample fabric/loop.h 'int loop_run(void);'
    sample overlay/endpoint.h '#include "fabric/loop.h"' 'struct node;'
    sample overlay/core.h 'void route_send(void);'
    sample overlay/route.c '#include "overlay/core.h"' 'void route_send(void)' '{' '}'
    sample pmix/host.h 'struct host;'
    sample launch/proto/spec.h '#include "base/buffer.h"' 'int spec_decode(struct spec *spec,' '    int x);'
    sample launch/proto/spec_wire.c '#include "launch/proto/spec.h"' 'int spec_decode(struct spec *spec,' \
        '    int x)' '{' '    return wire_get_u8(0);' '}'
    sample launch/job/job.h '#include "launch/proto/spec.h"' 'struct job;'
    sample launch/exec/helper.c '#include "fabric/loop.h"' '#include <unistd.h>'
    sample launch/daemon/daemon.c '#include "overlay/endpoint.h"' 'struct daemon {' '};' \
        '/* overlay/core.h is a word here */'
    sample launch/cli/client/front_end.c '#include "launch/daemon/root.h"'
    sample launch/daemon/root.h 'int root_fork(void);'
    sample contrib/check-rooms.txt ''
}

# check SCRIPT: leaves the number of rules that are broken in $bad.
check() {
    run python3 -B "$srcdir/contrib/$1" "$tree"
    bad=$(printf '%s\n' "$out" | grep -c '^not ok')
}

# breaks RULE-WORDS FILE LINES...
breaks() {
    local words=$1
    shift
    good_tree
    sample "$@"
    check check-rooms.py
    if [ "$status" -eq 1 ] && [ "$bad" -eq 1 ] && grep -q "^not ok .*$words" <<<"$out"; then
        pass "$1: $words"
    else
        fail "$1: $words"
        diag "$out$err"
    fi
}

good_tree
check check-rooms.py
is "$status $bad" "0 0" "a good tree passes"
[ "$status" -eq 0 ] || diag "$out$err"
breaks "rooms above it" launch/job/job_x.c '#include "launch/exec/helper.h"'
breaks "rooms above it" launch/exec/x.c '#include "launch/start/starter.h"'
breaks "rooms above it" launch/cli/verb/x.c '#include "launch/daemon/root.h"'
breaks "rooms above it" launch/nowhere/x.c 'int x;'
breaks "whatever way" fabric/link.c '#include "overlay/endpoint.h"'

# ring FILES: so many files of launch/job of which each calls the next one.
ring() {
    local i
    for ((i = 1; i <= $1; i++)); do
        sample "launch/job/ring$i.c" "void ring$i(void)" '{' "    ring$((i % $1 + 1))();" '}'
    done
}
good_tree
ring 5
check check-rooms.py
is "$status $bad" "0 0" "five files in a circle pass"
ring 6
check check-rooms.py
like "$status $bad $out" "^1 1 .*# launch/job/ring1.c: 6.*not ok [0-9]* - no more than 5 files" "six do not"

breaks "from that room only" launch/sim/x.c '#include "launch/job/job_engine.h"'
breaks "from that room only" launch/cli/verb/x.c '#include "launch/cli/client/front_end_internal.h"'
breaks "by their doors" launch/daemon/x.c '#include "overlay/core.h"'
breaks "by their doors" launch/rank/x.c '#include "pmix/pmi_socket.h"'
breaks "by their doors" launch/rank/x.c 'void x(struct daemon *daemon);'
breaks "neither clock" launch/job/x.c '#include <unistd.h>'
breaks "X.c or X_" launch/proto/wrong.c '#include "launch/proto/spec.h"' 'int spec_decode(int x)' '{' '}'
breaks "begin with the stem" launch/proto/spec.h 'int other_thing(void);'
breaks "begin with the stem" overlay/route.c 'void core_other(void)' '{' '}' 'void broad(void)' '{' '}'
breaks "in \*_wire.c only" launch/job/x.c 'void x(void)' '{' '    wire_put_u8(0, 1);' '}'
breaks "defined once" launch/exec/x.c '#define NS_PER_MS 1000'
breaks "defined once" launch/exec/x.c '#define STATUS_FAILED 125'
breaks "defined once" fabric/buffer.h 'struct buffer;'
breaks "no line too many" contrib/check-rooms.txt 'limit door 1' 'door overlay/none.c x.h'

good_tree
sample launch/job/x.c '#include <unistd.h>'
sample contrib/check-rooms.txt '# why' 'limit sealed 1' 'sealed launch/job/x.c unistd.h'
check check-rooms.py
is "$status $bad" "0 0" "what stands in the table passes"
sample contrib/check-rooms.txt 'limit sealed 2' 'sealed launch/job/x.c unistd.h'
check check-rooms.py
like "$status $out" "^1 .*the limit is 2" "a limit that is not the number of lines does not"

# Of tests.
tested_tree() {
    rm -rf "$tree"
    sample base/list.c 'int x;'
    sample base/map.h 'int x;'
    sample base/map_part.c 'int x;'
    sample base/odd.c 'int x;'
    sample test/unit/base/list.c 'int x;'
    sample test/unit/base/other.c '#include "base/map.h"'
    sample contrib/check-tested.txt '# why' 'limit 1' 'base/odd.c a script tests it'
}
tested_tree
check check-tested.py
is "$status $bad" "0 0" "by name, by header, as a part, or with a reason: all are tested"
sample base/new.c 'int x;'
check check-tested.py
like "$status $bad $out" "^1 1 .*# base/new.c: no test names it" "a new source is not"
tested_tree
sample contrib/check-tested.txt 'limit 1' 'base/odd.c'
check check-tested.py
like "$status $bad $out" "^1 1 .*base/odd.c: no reason" "a reason is wanted"
sample contrib/check-tested.txt 'limit 2' 'base/odd.c a script tests it' 'base/list.c a script tests it'
check check-tested.py
like "$status $bad $out" "^1 1 .*base/list.c: a test names it" "a line too many is told"
sample contrib/check-tested.txt 'limit 0' 'base/odd.c a script tests it'
check check-tested.py
like "$status $bad $out" "^1 1 .*the limit is 0" "the list does not grow by itself"
done_testing

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Shows contrib/check-floors.sh bad samples: each must break the rule it is made for, and no other.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"

script_spdx='# SPDX-License-Identifier: BSD-3-Clause'
spdx='/* SPDX-License-Identifier: BSD-3-Clause */'

# sample FILE LINES...: one source file of a tree that is good otherwise.
sample() {
    local file=$scratch/tree/$1
    shift
    mkdir -p "${file%/*}"
    printf '%s\n' "$spdx" "$@" >"$file"
}

# script FILE LINES...
script() {
    local file=$scratch/tree/$1
    shift
    mkdir -p "${file%/*}"
    printf '%s\n' "$@" >"$file"
}

good_tree() {
    rm -rf "$scratch/tree"
    sample base/list.h '#ifndef BASE_LIST_H' '#define BASE_LIST_H' '#include <stddef.h>' '#endif'
    sample base/list.c '#include "config.h"' '' '#include "base/list.h"' '' '#include <string.h>' \
        '/* getenv(" is a word here, and so is <time.h> and dlopen( */' \
        'const char *list_text = "printf(";'
    sample overlay/endpoint.c '#include "config.h"' '#include "fabric/loop.h"' '#include <time.h>'
    sample fabric/banyan/sock.h '#ifndef FABRIC_BANYAN_SOCK_H' '#define FABRIC_BANYAN_SOCK_H' \
        '#include <stdint.h>' '#define BANYAN_SOCK_MAX 1' 'struct banyan_sock;' \
        'int banyan_sock_do(struct banyan_sock *sock);' '#endif'
    sample fabric/loop.c '#include "config.h"' '#include <event2/event.h>'
    sample launch/exec/plugin.c '#include "config.h"' '#include <dlfcn.h>' 'void *x = dlopen("y", 0);'
    sample launch/run.c '#include "config.h"' '#include "overlay/tree.h"' '#include <unistd.h>'
    sample pmix/host.h '#ifndef PMIX_HOST_H' '#define PMIX_HOST_H' '#endif'
    sample test/host.c '#include "config.h"' '#include <dlfcn.h>' 'void *x = dlopen("y", 0);'
    sample pmix/host.c '#include "config.h"' '#include "pmix/host.h"' '#include <pmix_server.h>' \
        'static int host_init(void)' '{' '    return pmix_thing(1);' '}'
    script test/support/lib.sh "$script_spdx" 'kill "$pid" # not pkill'
    script test/system/run.sh '#!/bin/bash' "$script_spdx" '. "$srcdir/test/support/lib.sh"'
    script contrib/check.py '#!/usr/bin/env python3' "$script_spdx" 'import os, sys' 'import table'
    script contrib/table.py '#!/usr/bin/env python3' "$script_spdx" 'import re'
}

check() {
    run bash "$srcdir/contrib/check-floors.sh" "$scratch/tree"
    bad=$(printf '%s\n' "$out" | grep -c '^not ok')
}

# breaks RULE-WORDS FILE LINES...
breaks() {
    local words=$1
    shift
    good_tree
    case $1 in
    *.[ch]) sample "$@" ;;
    *) script "$@" ;;
    esac
    check
    if [ "$status" -ne 0 ] && [ "$bad" -eq 1 ] &&
        printf '%s\n' "$out" | grep -q "^not ok .*$words" &&
        printf '%s\n' "$out" | grep -q "^# $1:"; then
        pass "$1: $words"
    else
        fail "$1: $words"
        diag "$out"
    fi
}

good_tree
check
is "$status $bad" "0 0" "a good tree passes"

for header in time.h sys/socket.h sys/time.h pthread.h unistd.h fcntl.h signal.h sys/wait.h \
    sys/stat.h spawn.h poll.h netdb.h stdatomic.h; do
    breaks "neither clock" base/map.c '#include "config.h"' "#include <$header>"
done
breaks "neither clock" alloc/hostfile.c '#include "config.h"' '#include <time.h>'
breaks "neither clock" overlay/tree.c '#include "config.h"' '#include <time.h>'
breaks "neither clock" alloc/hostfile.c '#include "config.h"' '    f = fopen(name, "r");'
breaks "neither clock" base/error.c '#include "config.h"' '    exit (1);'
breaks "floors below" base/map.c '#include "config.h"' '#include "fabric/loop.h"'
breaks "floors below" alloc/map.c '#include "config.h"' '#include "overlay/tree.h"'
breaks "floors below" overlay/tree.c '#include "config.h"' '#include "fabric/loop.h"'
breaks "floors below" overlay/tree.c '#include "config.h"' '#include "overlay/endpoint.h"'
breaks "floors below" fabric/link.c '#include "config.h"' '#include "overlay/tree.h"'
breaks "floors below" pmix/pmi1.c '#include "config.h"' '#include "launch/run.h"'
breaks "one place" fabric/link.c '#include "config.h"' '#include <event2/event.h>'
breaks "one place" launch/run.c '#include "config.h"' '#include <pmix.h>'
breaks "one place" launch/run.c '#include "config.h"' '#include <openssl/ssl.h>'
breaks "one place" launch/run.c '#include "config.h"' '#include <hwloc.h>'
breaks "one place" launch/run.c '#include "config.h"' '    handle = dlopen(path, RTLD_NOW);'
breaks "one place" fabric/tls.c '#include "config.h"' '#include <dlfcn.h>'
breaks "one place" launch/run.c '#include "config.h"' '    p = alloca(n);'
breaks "config.h, then" launch/run.c '#include <stdio.h>' '#include "config.h"'
breaks "config.h, then" base/list.c '#include "config.h"' '#include <stdio.h>' '#include "base/list.h"'
breaks "config.h, then" base/map.h '#ifndef BASE_MAP_H' '#include "config.h"' '#endif'
breaks "guard" base/map.h '#ifndef MAP_H' '#define MAP_H' '#endif'
breaks "from the root" base/map.c '#include "config.h"' '#include "map.h"'
breaks "pmix_" pmix/job.c '#include "config.h"' 'static int pmix_thing(void)' '{' '}'
breaks "pmix_" fabric/ofi.c '#include "config.h"' 'struct fi_thing {' '};'
breaks "pmix_" pmix/job.c '#include "config.h"' '#define PMIX_THING 1'
public=fabric/banyan/sock.h
guard='#ifndef FABRIC_BANYAN_SOCK_H'
breaks "for others" $public "$guard" '#include "base/list.h"' '#endif'
breaks "for others" $public "$guard" 'struct sock;' '#endif'
breaks "for others" $public "$guard" 'enum banyan_x {' '};' 'enum x {' '};' '#endif'
breaks "for others" $public "$guard" '#define SOCK_MAX 1' '#endif'
breaks "for others" $public "$guard" 'int sock_do(struct banyan_sock *sock);' '#endif'

breaks "its SPDX line" test/system/x.sh '#!/bin/bash' 'true'
breaks "its SPDX line" contrib/x '#!/bin/bash' 'true'
breaks "standard library" contrib/x.py '#!/usr/bin/env python3' "$script_spdx" 'import numpy'
breaks "standard library" contrib/x.sh '#!/bin/bash' "$script_spdx" '. "$srcdir/test/support/lib.sh"'
breaks "standard library" test/system/x.sh '#!/bin/bash' "$script_spdx" '. "$srcdir/test/system/run.sh"'
by_name=p all=all # which may not stand here in one word
breaks "by name" test/system/x.sh '#!/bin/bash' "$script_spdx" "${by_name}kill -KILL banyand"
breaks "by name" contrib/x.py '#!/usr/bin/env python3' "$script_spdx" "os.system('kill$all -9 banyand')"

good_tree
printf '%s\n' '#include "config.h"' >"$scratch/tree/base/map.c"
check
like "$out" "not ok 1 .*SPDX" "a file without its SPDX line"

mkdir "$scratch/empty"
run bash "$srcdir/contrib/check-floors.sh" "$scratch/empty"
like "$status $out" "1 Bail out" "an empty tree is an error, not a success"
done_testing

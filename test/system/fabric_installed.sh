#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Rows S1 to S7: libbanyan-fabric as others use it, with what `make install` has put into an empty
# directory and nothing else: programs in C and C++ and a shared object, against both forms of the
# library, which get events from its thread, and one in Python, which polls.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"
. "$srcdir/test/support/installed_lib.sh"
command -v "$pkg_config" >/dev/null || skip_all "no pkg-config"

install_library fabric
check_names

# describe NODES: a file that another one has been renamed to.
describe() {
    printf 'SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n[3-%d]\nSwitchName=top Switches=s[1-2]\n' "$1" \
        >"$scratch/next.conf"
    mv "$scratch/next.conf" "$scratch/topology.conf"
}

# ---- Programs ----

# Prints the fabric, asks for a change of its description by a line, waits for the library's thread to
# say that it has changed, and prints it again. It has functions of its own with names that are used
# inside the library.
cat >"$scratch/user.h" <<'END'
#include <banyan/fabric.h>

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

static struct banyan_fabric_error why;
static sem_t updated;
static uint32_t vertices_in_pending;

static int failed(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, why.text);
    return 1;
}

static void handle(void *user, enum banyan_fabric_event event, struct banyan_fabric *fabric)
{
    (void)user;
    if (event == BANYAN_FABRIC_UPDATE_PENDING)
        vertices_in_pending = fabric->nverts;
    else
        sem_post(&updated);
}

static int print(const struct banyan_fabric *fabric)
{
    struct banyan_fabric_vertex vertex;
    uint32_t last = fabric->nverts - 1;
    uint32_t index = 0;
    char *node = NULL;

    if (banyan_fabric_get_vertex_info(fabric, last, &vertex, &node) < 0 ||
        banyan_fabric_get_index(fabric, &vertex, &index) < 0)
        return -1;
    printf("%s: %u vertices, %d and %d to %s, which is vertex %u\n", fabric->name,
           (unsigned int)fabric->nverts, banyan_fabric_get_cost(fabric, 0, last),
           (int)fabric->commcost[last - 1][last], node, (unsigned int)index);
    fflush(stdout);
    free(node);
    return 0;
}

static int follow(const char *topology)
{
    struct banyan_fabric_settings settings = {NULL,
                                              BANYAN_FABRIC_ROLE_SCHEDULER,
                                              BANYAN_FABRIC_MODE_THREAD,
                                              20,
                                              0,
                                              NULL,
                                              NULL};
    struct banyan_fabric fabric = BANYAN_FABRIC_NONE;
    struct banyan_fabric_source *source;

    settings.topology = topology;
    fabric.name = "hsn0";
    sem_init(&updated, 0, 0);
    if (banyan_fabric_open(&settings, &source, &why) < 0)
        return failed("open");
    if (banyan_fabric_register(source, &fabric, NULL, &why) < 0)
        return failed("register");
    if (banyan_fabric_add_handler(&fabric, handle, NULL) < 0 || print(&fabric) < 0)
        return failed("print");
    sem_wait(&updated);
    if (vertices_in_pending != 4 || print(&fabric) < 0)
        return failed("update");
    if (banyan_fabric_deregister(&fabric, &why) < 0 || banyan_fabric_close(source) < 0)
        return failed("close");
    return 0;
}
END
cat >"$scratch/program.c" <<'END'
#include "user.h"

const char *fabric_model_name(void);
const char *fabric_model_name(void)
{
    return "mine";
}
void scheduler_load(void);
void scheduler_load(void)
{
}
int hostlist_parse;

int main(int argc, char **argv)
{
    scheduler_load();
    return argc != 2 || fabric_model_name()[0] != 'm' || follow(argv[1]);
}
END
{ cat "$scratch/user.h"; echo 'int main(int, char **argv) { return follow(argv[1]); }'; } >"$scratch/program.cc"
{ cat "$scratch/user.h"; echo 'int plugin(void); int plugin(void) { return follow(getenv("BT_TOPOLOGY")); }'; } \
    >"$scratch/plugin.c"
build_host
export BT_TOPOLOGY=$scratch/topology.conf

has_printed() {
    grep -q "$1" "$scratch/printed"
}

# follows NAME COMMAND...: prints what there is, and what there is after a change.
follows() {
    local name=$1 pid
    shift
    describe 4
    : >"$scratch/printed"
    timeout 120 "$@" >"$scratch/printed" 2>&1 &
    pid=$!
    until_true 60 has_printed vertex
    describe 5
    wait "$pid"
    is "$? $(cat "$scratch/printed")" "0 hsn0: 4 vertices, 4 and 2 to n4, which is vertex 3
hsn0: 5 vertices, 4 and 2 to n5, which is vertex 4" "$name"
}

for form in shared static; do
    libraries=${!form}
    # shellcheck disable=SC2086
    ok "$form: a C program is built" build "c_$form" $cc $strict "$scratch/program.c" $cflags $libraries
    follows "$form: it sees a change" "$scratch/c_$form" "$BT_TOPOLOGY"
    # shellcheck disable=SC2086
    ok "$form: a shared object is built" build "plugin_$form.so" $cc -shared -fPIC \
        "$scratch/plugin.c" $cflags $libraries
    follows "$form: it is loaded and sees a change" "$scratch/host" "$scratch/plugin_$form.so"
    if [ -z "${CXX:-}" ] || [ "$CXX" = no ] || [ -n "$sanitizers" ]; then
        skip "$form: no C++ compiler that goes with $cc"
        skip "$form: no C++ compiler that goes with $cc"
    else
        # shellcheck disable=SC2086
        ok "$form: a C++ program is built" build "cxx_$form" $CXX $strict "$scratch/program.cc" \
            $cflags $libraries
        follows "$form: it sees a change" "$scratch/cxx_$form" "$BT_TOPOLOGY"
    fi
done
like "$(ldd "$scratch/c_shared")" "libbanyan-fabric\.so\.0" "the shared one is asked for by its version"
unlike "$(ldd "$scratch/c_static")" "libbanyan" "the archive is all of banyan that its program needs"
unlike "$(ldd "$library")" "event|ssl|crypto|hwloc|pmix|zstd|not found" \
    "beside jansson the library needs none of banyan's"

# ---- Python ----

cat >"$scratch/program.py" <<'END'
import ctypes
import os
import select
import sys

NAME_BYTES = 256


class Settings(ctypes.Structure):
    _fields_ = [("topology", ctypes.c_char_p), ("role", ctypes.c_int), ("mode", ctypes.c_int),
                ("interval_ms", ctypes.c_uint32), ("stall_ms", ctypes.c_uint32),
                ("report", ctypes.c_void_p), ("report_user", ctypes.c_void_p)]


class Fabric(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("index", ctypes.c_size_t),
                ("commcost", ctypes.POINTER(ctypes.POINTER(ctypes.c_uint16))),
                ("nverts", ctypes.c_uint32), ("module", ctypes.c_void_p)]


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("text", ctypes.c_char * 1024)]


class Vertex(ctypes.Structure):
    _fields_ = [("nic", ctypes.c_char * NAME_BYTES), ("plane", ctypes.c_char * NAME_BYTES),
                ("parent", ctypes.c_char * NAME_BYTES), ("up", ctypes.c_uint16),
                ("down", ctypes.c_uint16)]


PENDING, UPDATED = 0, 1
Handler = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(Fabric))
library = ctypes.CDLL(sys.argv[1])
libc = ctypes.CDLL(None)
libc.free.argtypes = [ctypes.c_void_p]
events = []


def check(rc, why):
    if rc < 0:
        sys.exit(f"{os.strerror(-rc)}: {why.text.decode()}")


def matrix(fabric):
    count = fabric.nverts
    return [[fabric.commcost[i][j] for j in range(count)] for i in range(count)]


def node_of(fabric, i):
    vertex, node = Vertex(), ctypes.c_void_p()
    rc = library.banyan_fabric_get_vertex_info(ctypes.byref(fabric), i, ctypes.byref(vertex),
                                               ctypes.byref(node))
    assert rc == 0 and vertex.nic == ctypes.string_at(node)
    name = ctypes.string_at(node).decode()
    libc.free(node)
    return name


def handle(_user, event, fabric):
    events.append((event, matrix(fabric.contents)))


def open_source(role):
    source, why = ctypes.c_void_p(), Error()
    settings = Settings(topology=sys.argv[2].encode(), role=role, mode=1, interval_ms=20)
    check(library.banyan_fabric_open(ctypes.byref(settings), ctypes.byref(source),
                                     ctypes.byref(why)), why)
    return source


def change(nodes):
    with open(sys.argv[2] + ".new", "w", encoding="ascii") as file:
        file.write(f"SwitchName=s1 Nodes=n[1-{nodes}]\n")
    os.rename(sys.argv[2] + ".new", sys.argv[2])


source, fabric, why = open_source(0), Fabric(name=b"hsn0"), Error()
rc = library.banyan_fabric_register(source, ctypes.byref(fabric), None, ctypes.byref(why))
print(os.strerror(-rc), why.text.decode().startswith("cannot register"), fabric.module)
library.banyan_fabric_close(source)

source = open_source(1)
check(library.banyan_fabric_register(source, ctypes.byref(fabric), None, ctypes.byref(why)), why)
print(fabric.name.decode(), fabric.nverts, matrix(fabric), node_of(fabric, 1))
handler = Handler(handle)
library.banyan_fabric_add_handler(ctypes.byref(fabric), handler, None)
change(3)
while len(events) < 2:
    select.select([library.banyan_fabric_fd(source)], [], [])
    library.banyan_fabric_dispatch(source)
print(events)
change(1)
print(library.banyan_fabric_update(ctypes.byref(fabric), ctypes.byref(why)), matrix(fabric), len(events))
print(os.strerror(-library.banyan_fabric_get_cost(ctypes.byref(fabric), 0, 1)))
check(library.banyan_fabric_deregister(ctypes.byref(fabric), ctypes.byref(why)), why)
print(library.banyan_fabric_close(source), fabric.name.decode(), fabric.nverts, fabric.module)
END
if [ -n "$sanitizers" ]; then
    skip "Python is not built with the sanitizer"
elif command -v python3 >/dev/null; then
    echo 'SwitchName=s1 Nodes=n[1-2]' >"$scratch/topology.conf"
    is "$(timeout 60 python3 "$scratch/program.py" "$library" "$scratch/topology.conf" 2>&1)" \
        "Operation not permitted True None
hsn0 2 [[0, 2], [2, 0]] n2
[(0, [[0, 2], [2, 0]]), (1, [[0, 2, 2], [2, 0, 2], [2, 2, 0]])]
1 [[0]] 4
Invalid argument
0 hsn0 0 None" "a program in Python polls, updates and is refused"
else
    skip "no python3"
fi

# ---- The man page ----

check_page
like "$("$scratch/example" /nowhere 2>&1; echo "exit $?")" \
    "^cannot read /nowhere: No such file or directory"$'\n'"exit 2" "and says what went wrong"
describe 4
: >"$scratch/printed"
"$scratch/example" "$scratch/topology.conf" >"$scratch/printed" 2>&1 </dev/null &
pid=$!
until_true 60 has_printed "^4 vertices"
describe 5
until_true 60 has_printed "^5 vertices" || diag "$(cat "$scratch/printed")"
kill "$pid"
wait "$pid" 2>/dev/null
is "$(cat "$scratch/printed")" "4 vertices, 4"$'\n'"5 vertices, 4" "and prints each change"

uninstall_library
done_testing

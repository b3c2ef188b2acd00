#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Row K11: libbanyan-sock as others use it. `make install` into an empty directory; a C program, a C++
# program and a shared object are built with what is installed there, pkg-config and the compiler's
# defaults, against both forms of the library, and run.
. "${srcdir:-$(dirname "$0")/../..}/test/support/lib.sh"

. "$srcdir/test/support/installed_lib.sh"
command -v "$pkg_config" >/dev/null || skip_all "no pkg-config"

install_library sock
check_names
unlike "$(grep -v '^ \*' "$header" | grep -oE '\b[A-Z][A-Z0-9_]+\b' | sort -u | tr '\n' ' ')" \
    '(^| )SOCK_' "no constant of the header has a name of the system's"

# ---- Programs ----

# An echo between two sets, by the description of this host; in C and in C++. It has functions of
# its own with names that are used inside the library.
cat >"$scratch/user.h" <<'END'
#include <banyan/sock.h>

#include <stdio.h>
#include <string.h>

static struct banyan_sock_error why;

static int failed(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, why.text);
    return 1;
}

static int next(struct banyan_sock_set *set, struct banyan_sock_event *event)
{
    if (banyan_sock_set_wait(set, 20000, event) != 1)
        return -1;
    if (event->status != BANYAN_SOCK_OK)
        banyan_sock_describe(event, &why);
    return event->status == BANYAN_SOCK_OK ? 0 : -1;
}

static int echo(const char *word)
{
    struct banyan_sock_ports any = {0, 0};
    struct banyan_sock_address address;
    struct banyan_sock_event event;
    struct banyan_sock_set *here;
    struct banyan_sock_set *there;
    struct banyan_sock *listener;
    struct banyan_sock *near;
    struct banyan_sock *far;
    char host[4096];
    char text[64] = "";
    size_t bytes = strlen(word) + 1;

    if (banyan_sock_set_create(&here, &why) < 0 || banyan_sock_set_create(&there, &why) < 0)
        return failed("sets");
    if (banyan_sock_address_parse("127.0.0.1", &address, &why) < 0 ||
        banyan_sock_listen(here, &address, any, NULL, &listener, &why) < 0)
        return failed("listen");
    banyan_sock_local_address(listener, &address);
    if (banyan_sock_describe_host("lo", host, sizeof(host), &why) < 0 ||
        banyan_sock_connect_host(there, host, banyan_sock_address_port(&address), any, NULL, &near,
                                 &why) < 0)
        return failed("connect");
    if (next(there, &event) < 0 || event.operation != BANYAN_SOCK_CONNECT)
        return failed("connected");
    if (next(here, &event) < 0 || event.operation != BANYAN_SOCK_ACCEPT ||
        banyan_sock_accept(listener, here, NULL, &far, &why) < 0)
        return failed("accept");
    banyan_sock_post_write(near, word, bytes, bytes, NULL);
    banyan_sock_post_read(far, text, bytes, sizeof(text), NULL);
    if (next(there, &event) < 0 || next(here, &event) < 0 || strcmp(text, word) != 0)
        return failed("transfer");
    banyan_sock_post_close(near);
    banyan_sock_post_close(far);
    banyan_sock_post_close(listener);
    if (next(there, &event) < 0 || next(here, &event) < 0 || next(here, &event) < 0)
        return failed("close");
    if (banyan_sock_set_destroy(here) < 0 || banyan_sock_set_destroy(there) < 0)
        return failed("destroy");
    printf("%s\n", text);
    return 0;
}
END
cat >"$scratch/program.c" <<'END'
#include "user.h"

const char *address_print(void);
const char *address_print(void)
{
    return "mine";
}
void error_set(void);
void error_set(void)
{
}
int log_write;
int sock_complete;

int main(void)
{
    error_set();
    return strcmp(address_print(), "mine") != 0 || echo("hello");
}
END
{ cat "$scratch/user.h"; echo 'int main() { return echo("hello"); }'; } >"$scratch/program.cc"
{ cat "$scratch/user.h"; echo 'int plugin(void); int plugin(void) { return echo("hello"); }'; } \
    >"$scratch/plugin.c"
build_host

for form in shared static; do
    libraries=${!form}
    # shellcheck disable=SC2086
    ok "$form: a C program is built" build "c_$form" $cc $strict "$scratch/program.c" $cflags $libraries
    is "$("$scratch/c_$form" 2>&1)" "hello" "$form: and runs"
    # shellcheck disable=SC2086
    ok "$form: a shared object is built" build "plugin_$form.so" $cc -shared -fPIC \
        "$scratch/plugin.c" $cflags $libraries
    is "$("$scratch/host" "$scratch/plugin_$form.so" 2>&1)" "hello" "$form: and is loaded and runs"
    if [ -z "${CXX:-}" ] || [ "$CXX" = no ] || [ -n "$sanitizers" ]; then
        skip "$form: no C++ compiler that goes with $cc"
        skip "$form: no C++ compiler that goes with $cc"
    else
        # shellcheck disable=SC2086
        ok "$form: a C++ program is built" build "cxx_$form" $CXX $strict "$scratch/program.cc" \
            $cflags $libraries
        is "$("$scratch/cxx_$form" 2>&1)" "hello" "$form: and runs"
    fi
done
like "$(ldd "$scratch/c_shared")" "libbanyan-sock\.so\.0" "the shared one is asked for by its version"
unlike "$(ldd "$scratch/c_static")" "libbanyan" "the archive is all that its program needs"
unlike "$(ldd "$library")" "event|ssl|crypto|hwloc|pmix|not found" "the library needs none of banyan's"

# ---- The man page ----

check_page
like "$("$scratch/example" 2>&1; echo "exit $?")" "exit 2" "and asks for its argument"
like "$("$scratch/example" "nowhere 224.0.0.1" 2>&1)" "^224.0.0.1:4242: " "and says what went wrong"

uninstall_library
done_testing

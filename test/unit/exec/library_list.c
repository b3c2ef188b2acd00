/* SPDX-License-Identifier: BSD-3-Clause */
/* launch/exec/library_list.c: what a loader prints about a program, and where programs are found. */
#include "config.h"

#include "launch/exec/library_list.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/tap.h"

static void missing_is(const char *text, const char *expected, const char *what)
{
    struct buffer list = {0}, missing = {0};

    buffer_append_string(&list, text);
    library_list_missing(&list, &missing);
    is_string(buffer_string(&missing), expected, "%s", what);
    buffer_fini(&list);
    buffer_fini(&missing);
}

static void test_find(void)
{
    char path[PATH_MAX];

    is_int(library_list_find("sh", "/", "/nowhere:/bin", path), 1, "a word is searched in PATH");
    is_string(path, "/bin/sh", "and found there");
    is_int(library_list_find("bin/sh", "/", "/nowhere", path), 1, "one with a slash is relative");
    is_int(library_list_find("sh", "/", "/nowhere", path), 0, "what is not there is not found");
    is_int(library_list_find("/bin", "/", "/bin", path), 0, "a directory is no program");
}

static void test_loader(void)
{
    char loader[PATH_MAX];
    char *environment[] = {NULL};
    struct buffer list = {0}, missing = {0};

    is_int(library_list_loader("/dev/null", loader), 0, "what is no program has no loader");
    if (!library_list_loader("/bin/sh", loader)) {
        skip(2, "/bin/sh is statically linked here");
        return;
    }
    is_int(library_list_run(loader, "/bin/sh", environment, "/", &list), 0, "a loader lists");
    library_list_missing(&list, &missing);
    is_string(buffer_string(&missing), "", "and the shell lacks nothing");
    buffer_fini(&list);
    buffer_fini(&missing);
}

int main(void)
{
    missing_is("\tlibc.so.6 => /lib/libc.so.6 (0x1)\n", "", "nothing is missing");
    missing_is("\tliba.so => not found\n\tlibc.so.6 => /lib/libc.so.6 (0x1)\n"
               "\tlibb.so.1 => not found\n",
               "liba.so, libb.so.1", "two libraries are missing");
    missing_is("x: error while loading shared libraries: libz.so: cannot open shared object file\n",
               "libz.so", "a loader that gives up at the first");
    test_find();
    test_loader();
    return done_testing();
}

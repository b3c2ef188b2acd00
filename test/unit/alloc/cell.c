/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/cell.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/tap.h"

static struct error error;

static void test_parts(void)
{
    struct buffer out = {0};

    is_uint(cell_bytes("west/n1"), 4, "the cell of a name");
    is_uint(cell_bytes("n1"), 0, "a name without one");
    is_string(cell_node("west/n1"), "n1", "the name in its cell");
    is_string(cell_node("n1"), "n1", "is all of one without");
    cell_put_file_name("west/n1", &out);
    buffer_append_string(&out, " ");
    cell_put_file_name("n1", &out);
    is_string(buffer_string(&out), "west-n1 n1", "names of files have no '/'");
    buffer_fini(&out);
}

static void address_is(const char *table, const char *name, const char *expected)
{
    char address[HOST_NAME_BYTES_MAX + 1];

    cell_address(table, name, address);
    is_string(address, expected, "%s is called %s", name, expected);
}

static void test_addresses(void)
{
    static const char table[] = "we %n.no\nwest %n.west.example\neast login-%n\n";
    char name[HOST_NAME_BYTES_MAX + 1];
    char address[HOST_NAME_BYTES_MAX + 1];

    address_is(NULL, "n1", "n1");
    address_is(NULL, "west/n1", "n1");
    address_is(table, "n1", "n1");
    address_is(table, "west/n1", "n1.west.example");
    address_is(table, "east/n1", "login-n1");
    address_is(table, "north/n1", "n1");
    address_is(table, "w/n1", "n1");
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    memcpy(name, "west/", 5);
    cell_address(table, name, address);
    is_uint(strlen(address), HOST_NAME_BYTES_MAX, "what is too long is cut off");
}

static void test_templates(void)
{
    static const char *const wrong[] = {"west", "%n%n", "-%n", "%n;reboot", "%n x", "%%n"};

    is_int(cell_template_check("%n.west.example", &error), 0, "a template");
    is_int(cell_template_check("ib-%n", &error), 0, "another");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        is_int(cell_template_check(wrong[i], &error), -EINVAL, "'%s' is none", wrong[i]);
}

static void test_lists(void)
{
    struct hostlist *names = hostlist_create(), *made = hostlist_create();
    struct buffer out = {0};
    char *name = memory_allocate(HOST_NAME_BYTES_MAX + 1);

    is_int(hostlist_parse(names, "n[1-4],m,q[08-10]-ib", &error), 0, "a list");
    is_int(cell_add_names("west", names, made, &error), 0, "gets a cell");
    hostlist_print(made, &out);
    is_string(buffer_string(&out), "west/n[1-4],west/m,west/q[08-10]-ib", "each name of it");
    is_int((int)hostlist_find(made, "west/n3", 0), 2, "and is found with it");
    memset(name, 'x', HOST_NAME_BYTES_MAX);
    name[HOST_NAME_BYTES_MAX] = '\0';
    hostlist_append(names, name);
    is_int(cell_add_names("west", names, made, &error), -E2BIG, "not if a name becomes too long");
    is_uint(hostlist_count(made), 8, "which leaves the list as it was");
    free(name);
    buffer_fini(&out);
    hostlist_destroy(names);
    hostlist_destroy(made);
}

int main(void)
{
    test_parts();
    test_addresses();
    test_templates();
    test_lists();
    return done_testing();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The nodes that `banyan node add` asks for (launch/cli/verb/node_add.c); the rest is in test/system/run_node_add.sh. */
#include "config.h"

#include "launch/cli/verb/node_add.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "test/support/tap.h"

static void finds(const char *file, char *const *words, const char *expected, const char *what)
{
    struct error error = ERROR_NONE;
    struct buffer text = {0};
    struct allocation nodes;

    allocation_init(&nodes);
    if (node_add_find(file, words, &nodes, &error) < 0) {
        has_string(error.text, expected, "%s", what);
    } else {
        hostlist_print(nodes.names, &text);
        buffer_printf(&text, " %llu", (unsigned long long)allocation_slots(&nodes));
        is_string(buffer_string(&text), expected, "%s", what);
    }
    buffer_fini(&text);
    allocation_fini(&nodes);
}

static void finds_in_file(const char *contents, const char *expected, const char *what)
{
    char path[] = "/tmp/banyan-node-add-XXXXXX";
    char *none[] = {NULL};
    int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

    if (file == NULL) {
        fail("%s: no file", what);
        return;
    }
    fputs(contents, file);
    fclose(file);
    finds(path, none, expected, what);
    (void)unlink(path);
}

int main(void)
{
    char first[] = "n[5-8]:4", second[] = "x", user[] = "root@x", bad[] = "n[";
    char *both[] = {first, second, NULL}, *none[] = {NULL};
    char *users[] = {user, NULL}, *wrong[] = {bad, NULL};

    finds(NULL, both, "n[5-8],x 17", "words, with and without slots");
    finds_in_file("# more\nn7\nn8 slots=3\n", "n[7-8] 4", "a file");
    finds(NULL, none, "expected: banyan node add", "neither");
    finds("hosts", both, "give nodes or --hostfile, not both", "words and a file");
    finds("/nonexistent/hosts", none,
          "option --hostfile: cannot read /nonexistent/hosts: No such file", "no such file");
    finds_in_file("n1 slots=many\n", "slots must be a number", "a file that is none");
    finds(NULL, wrong, "list of nodes: ", "what is no list");
    finds(NULL, users, "root@: new nodes have the user", "another user");
    return done_testing();
}

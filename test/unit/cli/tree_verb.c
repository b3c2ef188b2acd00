/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/tree_verb.h"

#include <errno.h>
#include <stddef.h>

#include "test/support/tap.h"

#define WORDS_MAX 8

static int has_no_program(char *const *environment, const char *name)
{
    (void)environment;
    (void)name;
    return 0;
}

/* tree_verb with the words, which end with NULL; the caller finishes out. */
static int tree(const char *const *words, struct buffer *out, struct error *error)
{
    static char *environment[] = {NULL};
    const struct request_ops ops = {.environment = environment,
                                    .directory = "/",
                                    .host_name = "here",
                                    .has_program = has_no_program};
    char *argv[WORDS_MAX] = {NULL};
    int argc = 0;

    while (words[argc] != NULL) {
        argv[argc] = (char *)(uintptr_t)words[argc];
        argc++;
    }
    return tree_verb(argc, argv, &ops, out, error);
}

static void test_forms(void)
{
    static const char *const text[] = {"tree", "--nodes", "n[1-3]", "--radix", "2", NULL};
    static const char *const json[] = {"tree", "--nodes", "n[1-3]", "--json", NULL};
    static const char *const help[] = {"tree", "--help", NULL};
    struct error error = ERROR_NONE;
    struct buffer out = {0};

    is_int(tree(text, &out, &error), 0, "nodes that need not exist");
    is_string(buffer_string(&out),
              "(root)\n|- n1\n|  `- n2\n`- n3\n3 nodes, radix 2, 2 levels below the root\n",
              "as text");
    buffer_clear(&out);
    is_int(tree(json, &out, &error), 0, "JSON");
    has_string(buffer_string(&out), "\"radix\": 6", "has the default radix");
    buffer_clear(&out);
    is_int(tree(help, &out, &error), 0, "--help");
    has_string(buffer_string(&out), "Usage: banyan tree [OPTIONS]", "prints help");
    buffer_fini(&out);
}

static void test_refused(void)
{
    static const char *const forms[] = {"tree", "--dot", "--svg", "--nodes", "n1", NULL};
    static const char *const list[] = {"tree", "--nodes", "n[", NULL};
    static const char *const wide[] = {"tree", "--nodes", "n[1-3]", "--radix", "4", NULL};
    static const char *const word[] = {"tree", "--nodes", "n1", "a.out", NULL};
    struct error error = ERROR_NONE;
    struct buffer out = {0};

    is_int(tree(forms, &out, &error), -EINVAL, "two forms");
    is_string(error.text, "give only one of --dot, --svg and --json", "are refused");
    is_int(tree(list, &out, &error), -EINVAL, "a list that cannot be read");
    has_string(error.text, "option --nodes: ", "names its option");
    is_int(tree(wide, &out, &error), -EINVAL, "a radix above the number of nodes");
    is_int(tree(word, &out, &error), -EINVAL, "a program");
    is_string(error.text, "unknown argument 'a.out': banyan tree starts nothing", "is refused");
    is_int((int)out.length_bytes, 0, "nothing is printed");
    buffer_fini(&out);
}

int main(void)
{
    test_forms();
    test_refused();
    return done_testing();
}

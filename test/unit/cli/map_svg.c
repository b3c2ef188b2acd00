/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/map_svg.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "launch/cli/verb/map_verb.h"
#include "test/support/tap.h"

#define WORDS_MAX 16

/* `banyan map --svg` of words, which end with NULL; the caller finishes out. */
static int draw(const char *const *words, struct buffer *out, struct error *error)
{
    static char *environment[] = {NULL};
    const struct request_ops ops = {
        .environment = environment, .directory = "/", .host_name = "here"};
    char map[] = "map", svg[] = "--svg";
    char *argv[WORDS_MAX] = {map, svg};
    int argc = 2;

    for (; *words != NULL; words++)
        argv[argc++] = (char *)(uintptr_t)*words;
    return map_verb(argc, argv, &ops, out, error);
}

static uint32_t count_of(struct buffer *text, const char *part)
{
    uint32_t count = 0;

    for (const char *at = buffer_string(text); (at = strstr(at, part)) != NULL; at++)
        count++;
    return count;
}

static void test_bound(void)
{
    static const char *const words[] = {"--nodes", "n[1-3]", "--topology", "package:2 core:2 pu:2",
                                        "-n",      "5",      "--map-by",   "core",
                                        "true",    NULL};
    struct error error = ERROR_NONE;
    struct buffer out = {0};

    is_int(draw(words, &out, &error), 0, "bound processes");
    has_string(buffer_string(&out), "<title>5 processes on 2 nodes</title>", "what it is of");
    is_int((int)count_of(&out, "<title>CPU "), 16, "each hardware thread of nodes with processes");
    is_int((int)count_of(&out, ": rank "), 10, "those that processes are bound to");
    has_string(buffer_string(&out), "fill=\"#9ecae1\"><title>CPU 0: rank 0</title>", "a rank's");
    has_string(buffer_string(&out), "<title>CPU 7: rank 3</title>", "another's");
    has_string(buffer_string(&out), "fill=\"#ffffff\"><title>CPU 2</title>", "a free one");
    ok(strstr(buffer_string(&out), ">n3<") == NULL, "not the node without processes");
    buffer_fini(&out);
}

static void test_shared(void)
{
    static const char *const words[] = {"--nodes",
                                        "n1",
                                        "--topology",
                                        "core:2 pu:1",
                                        "-n",
                                        "4",
                                        "--bind-to",
                                        "core:overload-allowed",
                                        "--oversubscribe",
                                        "true",
                                        NULL};
    struct error error = ERROR_NONE;
    struct buffer out = {0};

    is_int(draw(words, &out, &error), 0, "ranks that share cores");
    has_string(buffer_string(&out), "<title>CPU 0: ranks 0,2</title>", "are all in the tip");
    has_string(buffer_string(&out), ">0+</text>", "and the cell says that there are more");
    buffer_fini(&out);
}

static void test_slots(void)
{
    static const char *const words[] = {"--nodes", "n[1-2]:20", "-n", "22", "true", NULL};
    static const char *const many[] = {"--nodes", "n[1-513]:1", "-n", "513", "true", NULL};
    struct error error = ERROR_NONE;
    struct buffer out = {0};

    is_int(draw(words, &out, &error), 0, "processes that are not bound");
    is_int((int)count_of(&out, "<title>slot "), 40, "have slots");
    has_string(buffer_string(&out), "<title>slot 1: rank 21</title>", "with their ranks");
    buffer_clear(&out);
    is_int(draw(many, &out, &error), -E2BIG, "too many nodes to look at");
    has_string(error.text, "option --svg: 513 nodes have processes, and at most 512 are drawn",
               "are refused");
    is_int((int)out.length_bytes, 0, "and nothing is drawn");
    buffer_fini(&out);
}

int main(void)
{
    test_bound();
    test_shared();
    test_slots();
    return done_testing();
}

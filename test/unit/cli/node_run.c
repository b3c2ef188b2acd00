/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs of the own program whose output is read: this test is that program, and prints its words. */
#include "config.h"

#include "launch/cli/verb/node_run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "test/support/tap.h"

static int be_run(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        printf("%s\n", argv[i]);
    fflush(stdout);
    if (strcmp(argv[2], "--fail") == 0)
        return 3;
    if (strcmp(argv[2], "--die") == 0)
        raise(SIGKILL);
    return 0;
}

static int run(const char *option, struct buffer *out, struct error *error)
{
    static const char *const words[] = {"--worker", "", NULL};
    const char *const options[] = {option, "--host=a b"};
    const struct node_run all = {
        .options = options, .options_count = 2, .mpi = "none", .words = words, .what = "look"};

    return node_run_read(&all, out, error);
}

static void test_read(void)
{
    struct buffer out = {0};
    struct error error = ERROR_NONE;

    buffer_append_string(&out, "before\n");
    is_int(run("--timeout=3", &out, &error), 0, "a run");
    is_string(
        buffer_string(&out),
        "before\nbanyan\nrun\n--timeout=3\n--host=a b\n--per-node\n1\n--mpi\nnone\n--stdin\nnone\n"
        "--\n/proc/self/exe\n--worker\n\n",
        "its words, as they are, and its output");
    buffer_fini(&out);
}

static void test_failed(void)
{
    struct buffer out = {0};
    struct error error = ERROR_NONE;

    is_int(run("--fail", &out, &error), 3, "the status of one that fails");
    is_int(error.code, 0, "which has said why");
    is_int(run("--die", &out, &error), -ECANCELED, "one that is killed");
    is_string(error.text, "cannot look: signal 9 has ended banyan run", "what was tried, and why");
    buffer_fini(&out);
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "run") == 0)
        return be_run(argc, argv);
    test_read();
    test_failed();
    return done_testing();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* `banyan run --pty` as a request (launch/cli/request/request_terminal.c). */
#include "config.h"

#include "launch/cli/request/request_terminal.h"

#include <errno.h>

#include "test/support/tap.h"

static int is_terminal;

static int four_cores(struct error *error)
{
    return 4;
}

static int window_here(struct window *ret_window)
{
    if (!is_terminal)
        return -ENOTTY;
    *ret_window = (struct window){.rows = 24, .columns = 80};
    return 0;
}

#define W(word) (char *)(uintptr_t)(word)
#define WORDS(...)                                         \
    (char *[])                                             \
    {                                                      \
        W("run"), W("--pty"), __VA_ARGS__, W("prog"), NULL \
    }

static int parse(char *const *words, struct run_request *request, struct error *error)
{
    static char *environment[] = {NULL};
    const struct request_ops ops = {.environment = environment,
                                    .directory = "/",
                                    .host_name = "here",
                                    .banyand = "/usr/bin/banyand",
                                    .cores = four_cores,
                                    .window = window_here};
    int argc = 0;

    while (words[argc] != NULL)
        argc++;
    return request_parse_run(request, argc, words, &ops, error);
}

static void refuses(char *const *words, const char *expected)
{
    struct error error = ERROR_NONE;
    struct run_request request;

    ok(parse(words, &request, &error) < 0, "%s is refused", words[2]);
    has_string(error.text, expected, "by name");
}

static void accepts(char *const *words, uint32_t processes, uint32_t rank)
{
    struct error error = ERROR_NONE;
    struct run_request request;

    is_int(parse(words, &request, &error), 0, "%s is accepted: %s", words[2], error.text);
    ok(request.job.has_terminal && request.job.window.rows == 24 &&
           request.job.window.columns == 80,
       "with a terminal of the size of ours");
    is_uint(request.job.processes, processes, "the processes");
    is_uint(request.job.stdin_rank, rank, "which of them has it");
    request_fini(&request);
}

int main(void)
{
    refuses(WORDS(W("--verbose")), "option --pty: standard input is not a terminal");
    is_terminal = 1;
    accepts(WORDS(W("--verbose")), 1, 0);
    accepts(WORDS(W("-n2"), W("--stdin=1")), 2, 1);
    accepts(WORDS(W("--per-node=3")), 3, 0);
    refuses(WORDS(W("--stdin=all")), "option --stdin all cannot be used with --pty");
    refuses(WORDS(W("--on-failure=restart")),
            "option --on-failure restart cannot be used with --pty");
    refuses(WORDS(W("--stdin=none")), "option --stdin none cannot be used with --pty");
    refuses(WORDS(W("--label")), "option --label cannot be used with --pty");
    refuses(WORDS(W("--output=x")), "option --output cannot be used with --pty");
    refuses(WORDS(W("--detach")), "option --pty cannot be used with --detach");
    refuses(WORDS(W("--tasks=list")), "options --tasks and --pty cannot be used together");
    return done_testing();
}

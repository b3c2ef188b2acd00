/* SPDX-License-Identifier: BSD-3-Clause */
/* `banyan run --tasks` as a request (launch/cli/request/request_tasks.c): a job of workers, or what is wrong. */
#include "config.h"

#include "launch/cli/request/request_tasks.h"

#include <errno.h>
#include <string.h>

#include "launch/exec/task_worker.h"
#include "test/support/tap.h"

static int no_cores(struct error *error)
{
    return 4;
}

/* The files of this world. */
static int read_file(const char *path, struct buffer *out, struct error *error)
{
    static const struct {
        const char *path;
        const char *text;
    } files[] = {{"list", "true\n# no\nfalse 1\n"},
                 {"wide", "{\"argv\":[\"x\"],\"slots\":3}\n"},
                 {"wrong", "true\n'\n"},
                 {"log", "1\tn\t1\t1\t0\t0\t0\t0\ttrue\n"},
                 {"empty", ""}};

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        if (strcmp(files[i].path, path) == 0) {
            buffer_append_string(out, files[i].text);
            return 0;
        }
    return error_set(error, -ENOENT, "cannot read %s: No such file or directory", path);
}

static int parse(char *const *words, struct run_request *request, struct error *error)
{
    static char *environment[] = {NULL};
    const struct request_ops ops = {.environment = environment,
                                    .directory = "/",
                                    .host_name = "here",
                                    .banyand = "/usr/bin/banyand",
                                    .cores = no_cores,
                                    .read_file = read_file};
    int argc = 0;

    while (words[argc] != NULL)
        argc++;
    return request_parse_run(request, argc, words, &ops, error);
}

#define WORDS(...)                                                                         \
    (char *[])                                                                             \
    {                                                                                      \
        (char *)"run", (char *)"--virtual-nodes=2", (char *)"--slots=2", __VA_ARGS__, NULL \
    }
#define W(word) (char *)(uintptr_t)(word)

static void is_accepted(char *const *words, const char *expected, const char *name)
{
    struct error error = ERROR_NONE;
    struct run_request request;
    struct buffer seen = {0};
    int rc = parse(words, &request, &error);

    is_int(rc, 0, "%s: accepted (%s)", name, error.text);
    if (rc < 0)
        return;
    for (uint32_t i = 0; i < request.tasks->list.count; i++)
        buffer_printf(&seen, "%u: %s%s\n", request.tasks->list.items[i]->number,
                      request.tasks->list.items[i]->command,
                      request.tasks->list.items[i]->is_done ? " done" : "");
    is_string(buffer_string(&seen), expected, "%s: its tasks", name);
    ok(request.job.processes == 4 && request.job.stdin_rank == JOB_STDIN_EACH &&
           request.job.mpi == 0 && request.job.on_failure == JOB_ON_FAILURE_CONTINUE,
       "%s: a job of a worker for each slot", name);
    is_string(request.job.apps[0].argv[0], TASK_WORKER_PROGRAM, "%s: the helper's program", name);
    buffer_fini(&seen);
    request_fini(&request);
}

static void is_refused(char *const *words, const char *why)
{
    struct error error = ERROR_NONE;
    struct run_request request;

    ok(parse(words, &request, &error) < 0, "refused: %s", why);
    has_string(error.text, why, "and why");
}

int main(void)
{
    is_accepted(WORDS(W("--tasks"), W("list")), "1: true\n3: false 1\n", "a file");
    is_accepted(WORDS(W("--tasks"), W("list"), W("echo"), W("-{}-")),
                "1: echo -true-\n2: echo '-# no-'\n3: echo '-false 1-'\n", "lines as arguments");
    is_accepted(WORDS(W("echo"), W("x{}"), W(":::"), W("a"), W("b c")),
                "1: echo xa\n2: echo 'xb c'\n", "arguments");
    is_accepted(WORDS(W("--tasks"), W("empty")), "", "an empty file");
    is_accepted(WORDS(W("--tasks=list"), W("--joblog=log"), W("--resume"), W("--retries=3")),
                "1: true done\n3: false 1\n", "an interrupted list");
    is_accepted(WORDS(W("--tasks=list"), W("--joblog=none"), W("--resume")),
                "1: true\n3: false 1\n", "one that was interrupted before its joblog was made");
    is_accepted(WORDS(W("--tasks=-"), W("--label"), W("--modex=lazy"), W("--mpi=pmix")), "",
                "a stream, with options that a configuration may have");
    is_refused(WORDS(W("-n"), W("2"), W("--tasks=list")),
               "options --tasks and -n (use -N for the tasks of a node at a time) cannot be used");
    is_refused(WORDS(W("--stdin=0"), W("--tasks=list")),
               "options --tasks and --stdin cannot be used together");
    is_refused(WORDS(W("--stop=exec"), W("--tasks=list")),
               "options --tasks and --stop cannot be used together");
    is_refused(WORDS(W("--tasks=list"), W("a"), W(":"), W("b")), "several programs");
    is_refused(WORDS(W("--tasks=list"), W("a"), W(":::"), W("b")),
               "--tasks and ::: cannot be used together");
    is_refused(WORDS(W("a"), W(":::"), W("b"), W(":::"), W("c")), "one ::: is supported");
    is_refused(WORDS(W(":::"), W("b")), "no program before :::");
    is_refused(WORDS(W("--tasks=nothing")), "cannot read nothing");
    is_refused(WORDS(W("--tasks=wrong")), "wrong, line 2: no closing '");
    is_refused(WORDS(W("--tasks=wide")), "wide, line 1: 3 slots, but no node has more than 2");
    is_refused(WORDS(W("--tasks=list"), W("--resume")), "option --resume: needs --joblog FILE");
    is_refused(WORDS(W("--joblog=x"), W("true")), "option --joblog: needs --tasks FILE, or :::");
    is_refused(WORDS(W("--retries=1"), W("true")), "option --retries: needs --tasks");
    request_tasks_free(NULL);
    return done_testing();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* To which instance `banyan run` goes: launch/cli/request/request_instance.c. */
#include "config.h"

#include "launch/cli/request/request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/cli/request/request_instance.h"
#include "test/support/source_world.h"
#include "test/support/tap.h"

#define WORDS_MAX 16
#define GUEST_FD  7

static const char *found;  /* "" for none */
static int dial_result;    /* of the one that is found, or named */
static char dialled[64];   /* the directory, "" if there was none */
static char asked_for[64]; /* the job; "-" if nothing was looked for */

static int cores(struct error *error)
{
    (void)error;
    return 8;
}

static int has_program(char *const *environment, const char *name)
{
    (void)environment;
    return strcmp(name, "srun") == 0;
}

static int dial(const char *directory, struct allocation *ret_roster, int *ret_fd,
                struct error *error)
{
    snprintf(dialled, sizeof(dialled), "%s", directory);
    if (dial_result < 0)
        return error_set(error, dial_result, "no answer from %s", directory);
    allocation_init(ret_roster);
    allocation_generate(ret_roster, "v", 2, 2);
    *ret_fd = GUEST_FD;
    return 0;
}

static char *find(const char *job, char *note, size_t note_bytes)
{
    snprintf(asked_for, sizeof(asked_for), "%s", job);
    snprintf(note, note_bytes, "what was found: %s", found);
    return found[0] != '\0' ? memory_copy_string(found) : NULL;
}

static struct source_test no_job = {.variables = ENV(NULL), .files = NO_FILES};
static struct source_test slurm = {
    .variables = ENV("SLURM_JOB_ID=42", "SLURM_JOB_NODELIST=n1", "SLURM_TASKS_PER_NODE=1"),
    .files = NO_FILES};

/* The request of a command line, in an environment (one variable, or NULL). */
static int parse(const char *line, const char *variable, struct source_test *job,
                 struct run_request *ret_request, struct error *error)
{
    const char *environment[] = {"PATH=/bin", variable, NULL};
    static char text[256];
    char *argv[WORDS_MAX];
    struct source_ops sources = source_test_world(job);
    struct request_ops ops = {.environment = (char *const *)environment,
                              .directory = "/home/user",
                              .host_name = "myhost",
                              .banyand = "/opt/sbin/banyand",
                              .cores = cores,
                              .has_program = has_program,
                              .instance = dial,
                              .find_instance = find,
                              .sources = &sources};
    int argc = 0;
    char *rest = text;

    snprintf(text, sizeof(text), "%s", line);
    for (char *word; (word = strsep(&rest, " ")) != NULL && argc < WORDS_MAX - 1;)
        argv[argc++] = word;
    argv[argc] = NULL;
    dialled[0] = '\0';
    snprintf(asked_for, sizeof(asked_for), "-");
    *error = ERROR_NONE;
    return request_parse_run(ret_request, argc, argv, &ops, error);
}

struct row {
    const char *line;
    const char *variable;
    struct source_test *job;
    const char *dialled;
    const char *asked_for;
    const char *notice;
};

static void check_row(const struct row *row)
{
    struct run_request request;
    struct error error;

    if (!is_int(parse(row->line, row->variable, row->job, &request, &error), 0, "'%s' with %s",
                row->line, row->variable != NULL ? row->variable : "nothing")) {
        diag("%s", error.text);
        return;
    }
    is_string(dialled, row->dialled, "the instance");
    is_string(asked_for, row->asked_for, "and what was looked for");
    is_int(request.instance_fd, row->dialled[0] != '\0' && dial_result == 0 ? GUEST_FD : -1,
           "the connection");
    is_string(request.notice, row->notice, "the notice");
    request_fini(&request);
}

static void test_order(void)
{
    static const struct row rows[] = {
        {"run true", NULL, &no_job, "/mine", "", ""},
        {"run -v true", NULL, &no_job, "/mine", "", "what was found: /mine"},
        {"run true", NULL, &slurm, "/mine", "slurm 42", ""},
        {"run --instance /given true", NULL, &no_job, "/given", "-", ""},
        {"run --instance /given true", "BANYAN_INSTANCE=/other", &no_job, "/given", "-", ""},
        {"run true", "BANYAN_INSTANCE=/other", &no_job, "/other", "-", ""},
        {"run true", "BANYAN_INSTANCE=", &no_job, "/mine", "", ""},
        {"run true", "BANYAN_INSTANCE=none", &no_job, "", "-", ""},
        {"run --instance none true", NULL, &no_job, "", "-", ""},
        {"run --instance none true", "BANYAN_INSTANCE=/other", &no_job, "", "-", ""},
        {"run --instance none --virtual-nodes 2 true", NULL, &no_job, "", "-", ""},
        {"run --virtual-nodes 2 true", NULL, &no_job, "", "-", ""},
        {"run -H a true", NULL, &no_job, "", "-", ""},
        {"run --tmpdir /t true", NULL, &no_job, "", "-", ""},
        {"run --net 127.0.0.0/8 true", NULL, &no_job, "", "-", ""},
        {"run true", "BANYAN_SESSION=1234", &no_job, "", "-", ""},
    };

    found = "/mine";
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check_row(&rows[i]);
}

static void test_not_found(void)
{
    static const struct row none = {"run -v true", NULL, &no_job, "", "", "what was found: "};
    static const struct row silent = {
        "run -v true", NULL, &no_job,
        "/mine",       "",   "making an instance for this run: no answer from /mine"};

    found = "";
    check_row(&none);
    found = "/mine";
    dial_result = -ECONNREFUSED;
    check_row(&silent);
    dial_result = 0;
}

/* An instance that was not asked for is named if the job does not fit. */
static void test_too_large(void)
{
    struct run_request request;
    struct error error;

    found = "/mine";
    ok(parse("run -n 5 true", NULL, &no_job, &request, &error) < 0, "a job that never fits");
    has_string(error.text, "there are 4 slots", "is told what there is");
    has_string(error.text, "in your instance; --instance none makes another", "and what to do");
    ok(parse("run --instance /given -n 5 true", NULL, &no_job, &request, &error) < 0,
       "likewise in one that was given");
    ok(strstr(error.text, "--instance none") == NULL, "which is what the user wanted");
}

int main(void)
{
    ok(request_instance_is_none(NULL) && request_instance_is_none("") &&
           request_instance_is_none("none") && !request_instance_is_none("/none"),
       "what names no instance");
    test_order();
    test_not_found();
    test_too_large();
    return done_testing();
}

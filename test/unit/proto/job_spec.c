/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/job_spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/tap.h"
#include "test/support/truncated.h"

#define SESSION "0123456789abcdef"

static int decode_job(struct wire_reader *reader)
{
    struct job_spec spec;
    int rc = job_spec_decode(&spec, reader);

    if (rc == 0)
        job_spec_fini(&spec);
    return rc;
}

static void fill_job(struct job_spec *spec, size_t variable_bytes)
{
    struct app_spec *app = memory_allocate_zeroed(sizeof(*app));
    char *large = memory_allocate(variable_bytes + 1);

    memset(large, 'y', variable_bytes);
    large[variable_bytes] = '\0';
    job_spec_init(spec);
    spec->number = 3;
    spec->uid = 1000;
    spec->mpi = JOB_MPI_PMI1;
    spec->stdin_rank = 0;
    spec->on_failure = JOB_ON_FAILURE_CONTINUE;
    spec->modex = JOB_MODEX_LAZY;
    spec->stop = PMI_STOP_INIT;
    spec->stage = JOB_STAGE_ALL;
    spec->profile = 1;
    spec->trace = 1;
    spec->has_terminal = 1;
    spec->window = (struct window){.rows = 24, .columns = 80};
    placement_add(&spec->placement,
                  &(struct placement_rule){.policy = PLACEMENT_BY_NODE, .processes = 128000});
    spec->apps = app;
    spec->apps_count = 1;
    app->argv = memory_allocate_zeroed(4 * sizeof(char *));
    app->argv[0] = memory_copy_string("./a.out");
    app->argv[1] = memory_copy_string("");
    app->argv[2] = memory_copy_string("line\nline \xff\xfe");
    app->set = memory_allocate_zeroed(3 * sizeof(char *));
    app->set[0] = memory_copy_string("BASH_FUNC_f%%=() {  echo\n}");
    app->set[1] = large;
    variable_edits_add(&app->edits, VARIABLE_EDIT_APPEND, "PATH", "/opt/x", ':');
    app->directory = memory_copy_string("/home/%r");
    app->directory_is_template = 1;
    app->limits.nice = 3;
    app->limits.items[PROCESS_LIMIT_CORE] = (struct process_limit){.rule = PROCESS_LIMIT_RAISE};
}

static void test_job(void)
{
    struct job_spec spec, copy;
    struct buffer out = {0};
    struct wire_reader reader;

    fill_job(&spec, 300000);
    job_spec_encode(&spec, &out);
    ok(out.length_bytes < 1024, "300 kB of variables that repeat are packed (%zu bytes)",
       out.length_bytes);
    wire_reader_init(&reader, out.data, out.length_bytes);
    is_int(job_spec_decode(&copy, &reader), 0, "a job can be read again");
    is_int(wire_finish(&reader), 0, "all of it was read");
    is_uint(copy.number, 3, "number");
    is_uint(copy.uid, 1000, "user");
    is_uint(copy.mpi, JOB_MPI_PMI1, "kinds of MPI");
    is_uint(copy.stdin_rank, 0, "who reads");
    ok(copy.has_terminal == 1 && copy.window.rows == 24 && copy.window.columns == 80 &&
           copy.report_bindings == 0,
       "from a terminal");
    is_uint(copy.stage, JOB_STAGE_ALL, "what is staged");
    is_uint(copy.profile, 1, "and that times are wanted");
    is_uint(copy.trace, 1, "and a trace");
    is_uint(copy.modex, JOB_MODEX_LAZY, "where published data stays");
    is_uint(copy.stop, PMI_STOP_INIT, "where it waits for a debugger");
    is_uint(copy.on_failure, JOB_ON_FAILURE_CONTINUE, "what becomes of it when a rank fails");
    is_int(copy.placement.rules[0].policy, PLACEMENT_BY_NODE, "policy");
    is_uint(copy.processes, 128000, "processes of the job");
    is_uint(copy.apps_count, 1, "applications");
    is_string(copy.apps[0].argv[0], "./a.out", "program");
    is_string(copy.apps[0].argv[1], "", "an empty argument");
    is_string(copy.apps[0].argv[2], "line\nline \xff\xfe", "bytes that are no text");
    is_string(copy.apps[0].argv[3], NULL, "the end of the arguments");
    is_string(copy.apps[0].set[0], spec.apps[0].set[0], "a shell's function");
    is_string(copy.apps[0].set[1], spec.apps[0].set[1], "a long variable");
    is_uint(copy.apps[0].edits.count, 1, "a change of what is set elsewhere");
    is_string(copy.apps[0].edits.items[0].value, "/opt/x", "with its value");
    is_string(copy.apps[0].directory, "/home/%r", "directory");
    is_uint(copy.apps[0].directory_is_template, 1, "of each rank");
    is_int(copy.apps[0].limits.nice, 3, "nice value");
    is_int(copy.apps[0].limits.items[PROCESS_LIMIT_CORE].rule, PROCESS_LIMIT_RAISE, "limits");
    is_uint(copy.placement.rules[0].processes, 128000, "processes of the application");
    job_spec_fini(&copy);
    job_spec_fini(&spec);
    buffer_fini(&out);
}

static void test_restarts(void)
{
    struct job_spec spec, copy;
    struct buffer out = {0};
    struct wire_reader reader;

    fill_job(&spec, 10);
    spec.on_failure = JOB_ON_FAILURE_RESTART;
    spec.restarts_max = JOB_RESTARTS_MAX;
    spec.has_terminal = 0;
    job_spec_encode(&spec, &out);
    wire_reader_init(&reader, out.data, out.length_bytes);
    is_int(job_spec_decode(&copy, &reader), 0, "a job that restarts ranks");
    is_uint(copy.on_failure, JOB_ON_FAILURE_RESTART, "says so");
    is_uint(copy.restarts_max, JOB_RESTARTS_MAX, "and how often");
    job_spec_fini(&copy);
    buffer_clear(&out);
    spec.number = spec.uid = spec.mpi = 0;
    spec.stdin_rank = JOB_STDIN_ALL - 2; /* no rank, and none that has a meaning */
    job_spec_encode(&spec, &out);
    out.data[3] = (unsigned char)(0x80 | (JOB_STDIN_ALL & 0x7f)); /* the least bits of a varint */
    wire_reader_init(&reader, out.data, out.length_bytes);
    is_int(job_spec_decode(&copy, &reader), -EBADMSG, "not if all its ranks read");
    job_spec_fini(&spec);
    buffer_fini(&out);
}

static void test_job_refused(void)
{
    struct job_spec spec;
    struct buffer out = {0};

    fill_job(&spec, 10);
    spec.on_failure = JOB_ON_FAILURE_RESTART;
    spec.restarts_max = 3;
    spec.has_terminal = 0;
    job_spec_encode(&spec, &out);
    truncated_is_refused(&out, decode_job, "a small job");
    job_spec_fini(&spec);
    buffer_clear(&out);
    fill_job(&spec, 5000);
    job_spec_encode(&spec, &out);
    truncated_is_refused(&out, decode_job, "a packed job");
    job_spec_fini(&spec);
    buffer_fini(&out);
}

static void test_namespace(void)
{
    char text[64];

    job_spec_namespace(SESSION, 12, text, sizeof(text));
    is_string(text, "banyan-" SESSION "-12", "the name of a job's namespace");
}

static void directory_is(const char *template, int is_template, const char *expected)
{
    struct app_spec app = {.directory = (char *)(uintptr_t) template,
                           .directory_is_template = (uint8_t)is_template};
    char *directory = job_spec_directory(&app, 12, "n3", 4);

    is_string(directory, expected, "%s of rank 12 on n3 in job 4",
              template != NULL ? template : "none");
    free(directory);
}

static void test_directory(void)
{
    static const char *const wrong[] = {"/%", "/%q", "%%%", "/%r%", "/%rx%R"};
    const char *place = NULL;

    directory_is(NULL, 0, NULL);
    directory_is("/a%rb", 0, "/a%rb");
    directory_is("/a", 1, "/a");
    directory_is("%r", 1, "12");
    directory_is("/x/%j/%h.%r/%%r%%", 1, "/x/4/n3.12/%r%");
    is_int(job_spec_directory_check("/%r%h%j%%", &place), 0, "all that a template has");
    is_int(job_spec_directory_check("", &place), 0, "and nothing");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        is_int(job_spec_directory_check(wrong[i], &place), -EINVAL, "%s is none", wrong[i]);
    is_string(place, "%R", "and the place is known");
}

int main(void)
{
    test_directory();
    test_job();
    test_restarts();
    test_job_refused();
    test_namespace();
    return done_testing();
}

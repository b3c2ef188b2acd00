/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/run_summary.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base/time.h"
#include "launch/cli/client/profile_report.h"
#include "launch/cli/client/scheduler_job.h"
#include "launch/cli/option/json_text.h"

static const char *const phase_names[RUN_PHASE_COUNT] = {
    [RUN_PHASE_FORKED] = "forked",
    [RUN_PHASE_STARTED] = "started",
    [RUN_PHASE_FIRST_OUTPUT] = "first_output",
    [RUN_PHASE_ENDED] = "ended",
    [RUN_PHASE_GONE] = "gone",
};

static const char *const failure_names[RUN_FAILURE_COUNT] = {
    [RUN_FAILURE_NONE] = NULL,   [RUN_FAILURE_PROGRAM] = "program", [RUN_FAILURE_BANYAN] = "banyan",
    [RUN_FAILURE_USER] = "user", [RUN_FAILURE_TIMEOUT] = "timeout", [RUN_FAILURE_OUTPUT] = "output",
};

static const char *const starter_names[STARTER_KIND_COUNT] = {
    [STARTER_LOCAL] = "local", [STARTER_VIRTUAL] = "virtual", [STARTER_SSH] = "ssh",
    [STARTER_SRUN] = "srun",   [STARTER_PALS] = "pals",       [STARTER_FLUX] = "flux",
    [STARTER_JOIN] = "join",
};

int run_summary_reach(struct run_summary *record, enum run_phase phase, uint64_t now_ns)
{
    assert(phase < RUN_PHASE_COUNT);
    if (record->phase_ns[phase] != 0)
        return 0;
    record->phase_ns[phase] = now_ns;
    return 1;
}

double run_summary_ms(const struct run_summary *record, enum run_phase phase)
{
    assert(phase < RUN_PHASE_COUNT);
    if (record->phase_ns[phase] == 0)
        return 0;
    return (double)(record->phase_ns[phase] - record->start_ns) / (double)NS_PER_MS;
}

int run_summary_open(const char *path, int *ret_fd, struct error *error)
{
    int fd = strcmp(path, "-") == 0 ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                                    : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

    if (fd < 0)
        return error_set(error, -errno, "option --json: cannot write %s: %s", path,
                         strerror(errno));
    *ret_fd = fd;
    return 0;
}

static json_t *json_command(char *const *argv)
{
    json_t *array = json_array();

    for (; *argv != NULL; argv++)
        json_array_append_new(array, json_text(*argv));
    return array;
}

static json_t *json_phases(const struct run_summary *record)
{
    json_t *phases = json_object();

    for (int phase = 0; phase < RUN_PHASE_COUNT; phase++) {
        if (record->phase_ns[phase] != 0)
            json_object_set_new(phases, phase_names[phase],
                                json_real(run_summary_ms(record, (enum run_phase)phase)));
    }
    return phases;
}

static json_t *json_run(const struct run_summary *record, const struct run_request *request)
{
    const struct job_spec *job = &request->job;
    const char *failure = failure_names[record->failure];
    json_t *run = json_object();

    assert(request->instance.starter < STARTER_KIND_COUNT);
    assert(record->failure < RUN_FAILURE_COUNT);
    json_object_set_new(run, "banyan", json_string(PACKAGE_VERSION));
    json_object_set_new(run, "session", json_string(request->instance.session));
    json_object_set_new(run, "command", json_command(job->apps[0].argv));
    json_object_set_new(run, "starter", json_string(starter_names[request->instance.starter]));
    json_object_set_new(run, "scheduler_job", scheduler_job_json_own());
    json_object_set_new(run, "radix", json_integer(request->instance.radix));
    json_object_set_new(run, "nodes", json_integer(allocation_nodes(&request->allocation)));
    json_object_set_new(run, "nodes_used", json_integer(record->nodes_used));
    json_object_set_new(run, "slots",
                        json_integer((json_int_t)allocation_slots(&request->allocation)));
    json_object_set_new(run, "processes", json_integer(record->processes));
    json_object_set_new(run, "processes_ended", json_integer(record->processes_ended));
    json_object_set_new(run, "status", json_integer(record->status));
    json_object_set_new(run, "failure", failure != NULL ? json_string(failure) : json_null());
    json_object_set_new(run, "text", json_text(record->text));
    json_object_set_new(run, "phases_ms", json_phases(record));
    if (record->profile != NULL)
        json_object_set_new(run, "profile",
                            profile_report_json(record->profile, request->allocation.names));
    return run;
}

int run_summary_write(const struct run_summary *record, const struct run_request *request, int fd,
                      struct error *error)
{
    json_t *run = json_run(record, request);
    int rc = 0;

    assert(fd >= 0 && request->json_path != NULL);
    errno = 0;
    if (json_dumpfd(run, fd, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) < 0 ||
        write(fd, "\n", 1) != 1)
        rc = error_set(error, errno > 0 ? -errno : -EIO, "cannot write %s: %s", request->json_path,
                       strerror(errno > 0 ? errno : EIO));
    if (close(fd) < 0 && rc == 0)
        rc = error_set(error, -errno, "cannot write %s: %s", request->json_path, strerror(errno));
    json_decref(run);
    return rc;
}

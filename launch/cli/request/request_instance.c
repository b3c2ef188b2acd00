/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/request_instance.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "launch/start/run_environment.h"
#include "launch/start/source_environment.h"

int request_instance_is_none(const char *name)
{
    return name == NULL || name[0] == '\0' || strcmp(name, REQUEST_INSTANCE_NONE) == 0;
}

int request_instance_check(const struct request_settings *settings, struct error *error)
{
    const struct {
        const char *name;
        int given;
    } options[] = {
        {"--timeout", settings->timeout_s > 0},
        {"--label", settings->label > 0},
        {"--timestamp", settings->timestamp > 0},
        {"--json", settings->json != NULL},
        {"--profile", settings->profile > 0},
        {"--stack", settings->stack > 0},
        {"--trace", settings->trace != NULL},
        {"--output", settings->output != NULL},
        {"--error", settings->error != NULL},
        {"--output-from", settings->output_from != NULL},
        {"--merge", settings->merge > 0},
        {"--fold", settings->fold > 0},
        {"--stats", settings->stats > 0},
        {"--stdin", settings->input != NULL && strcmp(settings->input, "none") != 0},
        {"--pty", settings->pty > 0},
    };

    for (size_t i = 0; settings->detach > 0 && i < sizeof(options) / sizeof(options[0]); i++)
        if (options[i].given)
            return error_set(
                error, -EINVAL,
                "option %s cannot be used with --detach: it belongs to the client that "
                "stays",
                options[i].name);
    return 0;
}

int request_instance_missing(struct error *error)
{
    return error_set(error, -ENOENT,
                     "option --detach: there is no instance to leave the job in; start one with "
                     "'banyan start', or name one with --instance DIR");
}

/* It is a process of a job of an instance, or a descendant of one. */
static int is_nested(const struct request_ops *ops)
{
    return run_environment_get(ops->environment, "BANYAN_SESSION") != NULL;
}

int request_instance_join(const struct request_settings *settings, const struct request_ops *ops,
                          struct request_nodes *nodes, struct run_request *request)
{
    char note[RUN_NOTICE_BYTES] = "";
    struct error error;
    char *job, *directory;
    int rc = -1;

    assert(settings->instance == NULL && request->instance_fd < 0);
    if (ops->find_instance == NULL || ops->instance == NULL || is_nested(ops))
        return 0;
    job = ops->sources != NULL ? source_environment_job(ops->sources) : NULL;
    directory = ops->find_instance(job != NULL ? job : "", note, sizeof(note));
    if (directory != NULL) {
        rc = ops->instance(directory, &nodes->allocation, &request->instance_fd, &error);
        if (rc < 0)
            snprintf(note, sizeof(note), "making an instance for this run: %.180s", error.text);
    }
    if (settings->verbose > 0)
        snprintf(request->notice, sizeof(request->notice), "%s", note);
    free(directory);
    free(job);
    return rc == 0;
}

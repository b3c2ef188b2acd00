/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/scheduler_job.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/cli/option/json_text.h"
#include "launch/start/source_environment.h"

json_t *scheduler_job_json(const char *job, const char *name)
{
    const char *number = strchr(job, ' ');
    json_t *object;

    if (number == NULL)
        return json_null();
    object = json_object();
    json_object_set_new(object, "scheduler", json_stringn(job, (size_t)(number - job)));
    json_object_set_new(object, "job", json_text(number + 1));
    json_object_set_new(object, "name", name[0] != '\0' ? json_text(name) : json_null());
    return object;
}

json_t *scheduler_job_json_own(void)
{
    struct source_environment *sources = source_environment_create(environ);
    char *job = source_environment_job(source_environment_ops(sources));
    char *name = source_environment_job_name(source_environment_ops(sources));
    json_t *object = scheduler_job_json(job != NULL ? job : "", name != NULL ? name : "");

    free(job);
    free(name);
    source_environment_destroy(sources);
    return object;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The scheduler's job in JSON: launch/cli/client/scheduler_job.c. */
#include "config.h"

#include "launch/cli/client/scheduler_job.h"

#include <stdlib.h>
#include <unistd.h>

#include "test/support/tap.h"

static void is_json(json_t *value, const char *expected, const char *what)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);

    is_string(text, expected, "%s", what);
    free(text);
    json_decref(value);
}

int main(void)
{
    char *nothing[] = {NULL};

    is_json(scheduler_job_json("", ""), "null", "no scheduler");
    is_json(scheduler_job_json("pbs 7.server", ""),
            "{\"scheduler\":\"pbs\",\"job\":\"7.server\",\"name\":null}", "a job without a name");
    is_json(scheduler_job_json("slurm 7", "a \"b\""),
            "{\"scheduler\":\"slurm\",\"job\":\"7\",\"name\":\"a \\\"b\\\"\"}", "with one");
    environ = nothing;
    is_json(scheduler_job_json_own(), "null", "an empty environment");
    setenv("LSB_JOBID", "12", 1);
    setenv("LSB_JOBNAME", "night", 1);
    is_json(scheduler_job_json_own(), "{\"scheduler\":\"lsf\",\"job\":\"12\",\"name\":\"night\"}",
            "that of LSF");
    return done_testing();
}

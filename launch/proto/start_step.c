/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/start_step.h"

#include <assert.h>
#include <stddef.h>

static const char *const names[START_STEP_COUNT] = {
    [START_STEP_FORK] = "fork",
    [START_STEP_CHDIR] = "chdir",
    [START_STEP_EXEC] = "exec",
    [START_STEP_BIND] = "bind",
    [START_STEP_BIND_MEMORY] = "bind memory",
    [START_STEP_INTERPRETER] = "interpreter",
    [START_STEP_LIMIT] = "limit",
    [START_STEP_MESSAGE] = "cannot decode the launch message",
    [START_STEP_SERVICES] = "its PMIx and PMI services",
    [START_STEP_DESCRIPTORS] = "descriptors",
};

const char *start_step_name(enum start_step step)
{
    assert(step < START_STEP_COUNT);
    assert(names[step] != NULL);
    return names[step];
}

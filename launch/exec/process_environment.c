/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/process_environment.h"

#include <stdio.h>
#include <string.h>

#include "fabric/file_read.h"

#define ENVIRONMENT_BYTES_MAX (4u * 1024 * 1024) /* what is longer is looked at up to here */

void process_environment_read(pid_t pid, struct buffer *environment)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    buffer_clear(environment);
    (void)file_read(path, ENVIRONMENT_BYTES_MAX, environment);
}

static const char *next_string(const char *at, const char *end)
{
    at += strlen(at) + 1;
    return at < end ? at : NULL;
}

static const char *first_string(struct buffer *environment)
{
    return environment->length_bytes > 0 ? buffer_string(environment) : NULL;
}

const char *process_environment_find(struct buffer *environment, const char *prefix)
{
    const char *at = first_string(environment);
    size_t prefix_bytes = strlen(prefix);

    while (at != NULL && strncmp(at, prefix, prefix_bytes) != 0)
        at = next_string(at, (const char *)environment->data + environment->length_bytes);
    return at != NULL ? at + prefix_bytes : NULL;
}

int process_environment_has(struct buffer *environment, const char *setting)
{
    const char *at = first_string(environment);

    while (at != NULL && strcmp(at, setting) != 0)
        at = next_string(at, (const char *)environment->data + environment->length_bytes);
    return at != NULL;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemons that do not start: which, why, and whether the others are enough.  O(places that are absent) in memory,
 * as ranges, and 512 bytes for each of the first 1,024 reasons.
 */
#include "config.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "launch/job/instance_state.h"
#include "launch/job/job_report.h"

int instance_start_is_enough(const struct instance *instance)
{
    uint64_t nodes = allocation_nodes(instance->allocation);
    uint64_t needed =
        instance->spec->nodes_min > 0 ? instance->spec->nodes_min : nodes - instance->spec->spares;

    assert(instance->root != NULL);
    return ranges_count(&instance->root->absent) + needed <= nodes;
}

int instance_start_knows_reasons(const struct instance_root *root)
{
    for (uint32_t i = 0; i < root->start_failures_count; i++)
        if (root->start_failures[i].text[0] == '\0')
            return 0;
    return 1;
}

static struct start_failure *failure_of(struct instance_root *root, uint32_t place)
{
    for (uint32_t i = 0; i < root->start_failures_count; i++)
        if (root->start_failures[i].place == place)
            return &root->start_failures[i];
    return NULL;
}

int instance_start_failed(struct instance_root *root, uint32_t place, const char *text)
{
    struct start_failure *failure = failure_of(root, place);
    int is_new = !ranges_contains(&root->absent, place);

    assert(failure == NULL || !is_new);
    if (failure != NULL && failure->text[0] == '\0')
        snprintf(failure->text, sizeof(failure->text), "%s", text);
    if (!is_new)
        return 0;
    ranges_add(&root->absent, place, place);
    if (root->start_failures_count == START_FAILURES_MAX)
        return 1;
    root->start_failures = memory_resize(root->start_failures, (root->start_failures_count + 1) *
                                                                   sizeof(*root->start_failures));
    failure = &root->start_failures[root->start_failures_count++];
    failure->place = place;
    snprintf(failure->text, sizeof(failure->text), "%s", text);
    return 1;
}

/* A text for each line but the last one, which is returned. */
static char *tell_lines(const struct buffer *lines, uint8_t level, struct job_actions *actions)
{
    char *text = memory_copy_string(buffer_string((struct buffer *)lines));
    char *line = text, *end;

    while ((end = strchr(line, '\n')) != NULL) {
        *end = '\0';
        job_actions_text(actions, 0, level, line);
        line = end + 1;
    }
    line = memory_copy_string(line);
    free(text);
    return line;
}

/* The number of the option that lets nodes be missing. */
static uint32_t may_miss(const struct instance_spec *spec)
{
    return spec->nodes_min > 0 ? spec->nodes_min : spec->spares;
}

void instance_start_tell_absent(const struct instance *instance, struct job_actions *actions)
{
    uint64_t nodes = allocation_nodes(instance->allocation);
    uint64_t absent = ranges_count(&instance->root->absent);
    struct buffer lines = {0};
    char *last;

    assert(absent <= nodes);
    if (absent == 0)
        return;
    job_report_start(instance, NULL, &lines);
    buffer_printf(&lines, "\ncontinuing with %llu of %llu nodes (%s %u)",
                  (unsigned long long)(nodes - absent), (unsigned long long)nodes,
                  instance->spec->nodes_min > 0 ? "--min-nodes" : "--spares",
                  may_miss(instance->spec));
    last = tell_lines(&lines, LOG_LEVEL_WARNING, actions);
    job_actions_text(actions, 0, LOG_LEVEL_WARNING, last);
    free(last);
    buffer_fini(&lines);
}

char *instance_start_tell_failed(const struct instance *instance, const struct ranges *missing,
                                 struct job_actions *actions)
{
    uint64_t nodes = allocation_nodes(instance->allocation);
    uint64_t absent = ranges_count(&instance->root->absent);
    struct buffer lines = {0};
    char *last;

    job_report_start(instance, missing, &lines);
    if (instance_spec_may_miss(instance->spec) && absent > 0)
        buffer_printf(&lines, "\nat most %llu of %llu nodes can be used; %s is %u",
                      (unsigned long long)(nodes - absent), (unsigned long long)nodes,
                      instance->spec->nodes_min > 0 ? "--min-nodes" : "--spares",
                      may_miss(instance->spec));
    last = tell_lines(&lines, LOG_LEVEL_ERROR, actions);
    buffer_fini(&lines);
    return last;
}

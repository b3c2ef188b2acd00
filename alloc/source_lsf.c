/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LSF says the same in four ways, of which the first that is set counts: two files with a node a
 * line, pairs "node slots", and a node for each slot.  The affinity file has a line for each task:
 *
 *     line = node cpu { "," cpu } [ memory nodes [ memory policy ] ]
 */
#include "config.h"

#include "alloc/source_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CPU_MAX 1048575u

/* ---- The four forms ---- */

static int pairs_add(struct source_reading *reading, struct source_text *text)
{
    struct source_word node, slots;
    uint32_t count;
    int rc = 0;

    while (rc == 0 && source_text_word(text, &node)) {
        rc = source_text_expect(text, "the number of slots", &slots);
        if (rc == 0)
            rc = source_word_number(text, &slots, "the number of slots", 1, ALLOCATION_SLOTS_MAX,
                                    &count);
        if (rc == 0)
            rc = source_reading_add(reading, text, &node, count);
    }
    return rc;
}

static int nodes_add(struct source_reading *reading, const char **ret_name)
{
    static const char *const variables[] = {"LSB_DJOB_HOSTFILE", "LSB_DJOB_RANKFILE",
                                            "LSB_MCPU_HOSTS", "LSB_HOSTS", NULL};
    struct source_text text;
    const char *value;
    int rc = source_reading_require(reading, variables, ret_name, &value);

    if (rc < 0)
        return rc;
    if (*ret_name == variables[0] || *ret_name == variables[1])
        return source_reading_add_node_file(reading, variables, 1, ret_name);
    source_text_variable(&text, *ret_name, value, reading->error);
    if (*ret_name == variables[2])
        return pairs_add(reading, &text);
    return source_reading_add_repeated(reading, &text, source_text_word, 1);
}

/* ---- Affinity ---- */

static int cpus_parse(struct source_text *text, const struct source_word *word,
                      struct ranges *ret_cpus)
{
    size_t from = 0;

    while (from <= word->bytes) {
        const char *start = word->text + from;
        const char *comma = memchr(start, ',', word->bytes - from);
        struct source_word cpu = {start, word->bytes - from};
        uint32_t number;
        int rc;

        if (comma != NULL)
            cpu.bytes = (size_t)(comma - start);
        rc = source_word_number(text, &cpu, "a CPU", 0, CPU_MAX, &number);
        if (rc < 0)
            return rc;
        ranges_add(ret_cpus, number, number);
        from += cpu.bytes + 1;
    }
    return 0;
}

static int task_parse(struct source_reading *reading, struct source_text *text,
                      struct source_task *ret_task)
{
    struct source_word node, cpus;
    int64_t found;
    int rc;

    source_text_word(text, &node);
    found = name_index_find(reading->builder.index, node.text, node.bytes);
    if (found < 0)
        return source_text_fail(text, node.text, "the job has no node \"%.*s\"",
                                source_word_shown(&node), node.text);
    rc = source_text_expect(text, "the list of CPUs", &cpus);
    if (rc < 0)
        return rc;
    ret_task->node = (uint32_t)found;
    return cpus_parse(text, &cpus, &ret_task->cpus);
}

static int tasks_parse(struct source_reading *reading, struct source_text *text)
{
    struct source_result *result = reading->result;
    uint32_t capacity = 0;
    int rc;

    while ((rc = source_text_line(text)) > 0) {
        if (result->tasks_count == capacity) {
            capacity = capacity > 0 ? 2 * capacity : 16;
            result->tasks = memory_resize(result->tasks, capacity * sizeof(*result->tasks));
        }
        result->tasks[result->tasks_count] = (struct source_task){0};
        rc = task_parse(reading, text, &result->tasks[result->tasks_count++]);
        if (rc < 0)
            return rc;
    }
    return rc;
}

/* An empty file means that there is no affinity. */
static int affinity_read(struct source_reading *reading)
{
    static const char variable[] = "LSB_AFFINITY_HOSTFILE";
    const char *path = source_reading_variable(reading, variable);
    struct buffer bytes = {0};
    struct source_text text;
    int rc;

    if (path == NULL || path[0] == '\0')
        return 0;
    rc = source_reading_file(reading, variable, path, &bytes);
    if (rc == 0) {
        source_text_file(&text, path, bytes.data, bytes.length_bytes, reading->error);
        rc = tasks_parse(reading, &text);
        if (rc < 0)
            error_prefix(reading->error, "%s", variable);
    }
    buffer_fini(&bytes);
    return rc;
}

int source_read_lsf(struct source_reading *reading)
{
    const char *allocation_id = source_reading_variable(reading, "CSM_ALLOCATION_ID");
    const char *name;
    int rc;

    /* There the job's script runs on a separate node, which is listed first. */
    reading->skip_launch_node = allocation_id != NULL && allocation_id[0] != '\0';
    rc = nodes_add(reading, &name);
    if (rc == 0)
        rc = affinity_read(reading);
    return rc < 0 ? rc : source_reading_finish(reading, name);
}

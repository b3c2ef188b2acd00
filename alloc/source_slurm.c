/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slurm: a hostlist, and how many tasks (or CPUs) there are on each of its nodes, run-length coded:
 *
 *     counts = count { "," count }      count = number [ "(x" number ")" ]
 *
 * A heterogeneous job has one pair of them for each component, and a step its own.
 */
#include "config.h"

#include "alloc/source_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define COMPONENTS_MAX    1024u
#define NAME_BYTES_MAX    64
#define STEP_ID_MAX       0xffffffefu /* above are Slurm's own steps: batch, interactive, extern */
#define CPUS_PER_TASK_MAX 1000000u

/* The variables of a job, a component of a heterogeneous job, or a step. */
struct slurm_names {
    char list[NAME_BYTES_MAX];
    char list_old[NAME_BYTES_MAX]; /* its former name */
    char tasks[NAME_BYTES_MAX];
    char cpus[NAME_BYTES_MAX];
    char cpus_per_task[NAME_BYTES_MAX];
};

struct counts {
    struct slots_run *runs;
    uint32_t runs_count;
    uint32_t runs_capacity;
    uint64_t nodes;
};

/* ---- Counts ---- */

static void counts_append(struct counts *counts, uint32_t nodes, uint32_t slots)
{
    if (counts->runs_count == counts->runs_capacity) {
        counts->runs_capacity = counts->runs_capacity > 0 ? 2 * counts->runs_capacity : 8;
        counts->runs = memory_resize(counts->runs, counts->runs_capacity * sizeof(*counts->runs));
    }
    counts->runs[counts->runs_count++] = (struct slots_run){.nodes = nodes, .slots = slots};
    counts->nodes += nodes;
}

/* "(x30)", if there is one. */
static int repetition_parse(struct source_text *text, uint32_t *ret_times)
{
    int rc;

    *ret_times = 1;
    if (text->at == text->line_end || *text->at != '(')
        return 0;
    text->at++;
    if (text->at == text->line_end || *text->at != 'x')
        return source_text_fail(text, text->at, "'x' is missing after '('");
    text->at++;
    rc = source_text_number(text, "a repetition", 1, HOSTLIST_HOSTS_MAX, ret_times);
    if (rc < 0)
        return rc;
    if (text->at == text->line_end || *text->at != ')')
        return source_text_fail(text, text->at, "')' is missing");
    text->at++;
    return 0;
}

static int counts_parse(struct source_text *text, uint32_t cpus_per_slot, struct counts *counts)
{
    for (;;) {
        uint32_t count, times;
        int rc = source_text_number(text, "a count", 1, ALLOCATION_SLOTS_MAX, &count);

        if (rc == 0)
            rc = repetition_parse(text, &times);
        if (rc < 0)
            return rc;
        counts_append(counts, times, count / cpus_per_slot);
        if (text->at == text->line_end)
            return 0;
        if (*text->at != ',')
            return source_text_fail(text, text->at, "expected ',' or \"(xNUMBER)\"");
        text->at++;
    }
}

/* ---- CPUs of a task ---- */

#define TRES_PER_TASK "SLURM_TRES_PER_TASK"

/* "cpu=2,gres/gpu:1"; older versions write "cpu:2". */
static int tres_read(const struct source_reading *reading, uint32_t *ret_cpus)
{
    const char *value = source_reading_variable(reading, TRES_PER_TASK);
    struct source_text text;
    int is_found = 0, rc;

    if (value == NULL)
        return 0;
    source_text_variable(&text, TRES_PER_TASK, value, reading->error);
    while (!is_found && text.at < text.line_end) {
        const char *comma = memchr(text.at, ',', (size_t)(text.line_end - text.at));

        is_found = strncmp(text.at, "cpu=", 4) == 0 || strncmp(text.at, "cpu:", 4) == 0;
        if (is_found)
            text.at += 4;
        else
            text.at = comma != NULL ? comma + 1 : text.line_end;
    }
    rc = is_found ? source_text_number(&text, "CPUs", 1, CPUS_PER_TASK_MAX, ret_cpus) : 0;
    if (rc == 0 && is_found && text.at < text.line_end && *text.at != ',')
        rc = source_text_fail(&text, text.at, "',' is missing after the CPUs");
    return rc;
}

/* *ret_cpus stays as it is, and *ret_source NULL, if they are not given. */
static int cpus_per_task_read(const struct source_reading *reading, const struct slurm_names *names,
                              uint32_t *ret_cpus, const char **ret_source)
{
    int rc;

    *ret_source = NULL;
    if (source_reading_variable(reading, names->cpus_per_task) != NULL) {
        *ret_source = "SLURM_CPUS_PER_TASK";
        return source_reading_number(reading, names->cpus_per_task, 1, CPUS_PER_TASK_MAX, ret_cpus);
    }
    rc = tres_read(reading, ret_cpus);
    if (rc == 0 && source_reading_variable(reading, TRES_PER_TASK) != NULL)
        *ret_source = TRES_PER_TASK;
    return rc;
}

/* CPUs of each process, if all components agree.  One is the default anyway. */
static int note_cpus(struct source_reading *reading, const struct slurm_names *names, int is_first)
{
    struct allocation *allocation = &reading->builder.made;
    const char *from;
    uint32_t cpus = 1;
    int rc = cpus_per_task_read(reading, names, &cpus, &from);

    if (rc < 0)
        return rc;
    allocation->cpus = cpus > 1 && (is_first || cpus == allocation->cpus) ? cpus : 0;
    allocation->cpus_from = from;
    return 0;
}

/* ---- Slots ---- */

/* Reads the tasks of each node, or else its CPUs, or takes one slot for each of `nodes`.
 * *ret_source is the variable, or NULL if there is none. */
static int counts_read(const struct source_reading *reading, const struct slurm_names *names,
                       uint32_t nodes, struct counts *counts, const char **ret_source)
{
    const char *name = names->tasks;
    const char *value = source_reading_variable(reading, name);
    struct source_text text;
    uint32_t cpus_per_slot = 1;
    int rc = 0;

    if (value == NULL && names->cpus[0] != '\0') {
        name = names->cpus;
        value = source_reading_variable(reading, name);
        rc = cpus_per_task_read(reading, names, &cpus_per_slot, ret_source);
    }
    if (value == NULL) {
        *ret_source = NULL;
        counts_append(counts, nodes, 1);
        return rc;
    }
    if (rc < 0)
        return rc;
    source_text_variable(&text, name, value, reading->error);
    rc = counts_parse(&text, cpus_per_slot, counts);
    if (rc == 0 && counts->nodes < nodes)
        rc = error_set(reading->error, -EINVAL, "%s counts for %u of the %u nodes", name,
                       (unsigned int)counts->nodes, nodes);
    if (rc == 0 && counts->nodes > nodes)
        log_debug("%s counts for %llu nodes, but there are %u", name,
                  (unsigned long long)counts->nodes, nodes);
    *ret_source = name;
    return rc;
}

/* ---- Nodes ---- */

static int list_read(const struct source_reading *reading, const struct slurm_names *names,
                     struct hostlist *list, const char **ret_name)
{
    const char *const variables[] = {names->list, names->list_old[0] ? names->list_old : NULL,
                                     NULL};
    const char *value;
    struct source_text text;
    int rc = source_reading_require(reading, variables, ret_name, &value);

    if (rc < 0)
        return rc;
    source_text_variable(&text, *ret_name, value, reading->error);
    rc = source_reading_list_parse(&text, list);
    if (rc == 0 && hostlist_count(list) == 0)
        rc = error_set(reading->error, -EINVAL, "%s: contains no node name", *ret_name);
    return rc;
}

/* Adds the nodes of a job, component or step; *ret_counts is where the slots come from. */
static int nodes_add(struct source_reading *reading, const struct slurm_names *names,
                     const char **ret_counts)
{
    struct hostlist *list = hostlist_create();
    struct counts counts = {0};
    const char *list_name;
    int rc = list_read(reading, names, list, &list_name);

    if (rc == 0)
        rc = counts_read(reading, names, hostlist_count(list), &counts, ret_counts);
    if (rc == 0) {
        allocation_trace_place(reading->builder.made.trace, "%s, %s", list_name,
                               *ret_counts != NULL ? *ret_counts : "which gives no slot counts");
        rc = source_reading_add_list(reading, list, counts.runs);
        if (rc < 0)
            error_prefix(reading->error, "%s", list_name);
    }
    hostlist_destroy(list);
    free(counts.runs);
    return rc;
}

/* ---- Jobs, components, steps ---- */

static void names_set(struct slurm_names *names, const char *suffix)
{
    snprintf(names->list, sizeof(names->list), "SLURM_JOB_NODELIST%s", suffix);
    snprintf(names->list_old, sizeof(names->list_old), "SLURM_NODELIST%s", suffix);
    snprintf(names->tasks, sizeof(names->tasks), "SLURM_TASKS_PER_NODE%s", suffix);
    snprintf(names->cpus, sizeof(names->cpus), "SLURM_JOB_CPUS_PER_NODE%s", suffix);
    snprintf(names->cpus_per_task, sizeof(names->cpus_per_task), "SLURM_CPUS_PER_TASK%s", suffix);
}

static int step_read(struct source_reading *reading)
{
    static const struct slurm_names names = {
        .list = "SLURM_STEP_NODELIST",
        .tasks = "SLURM_STEP_TASKS_PER_NODE",
        .cpus_per_task = "SLURM_CPUS_PER_TASK",
    };
    const char *counts = NULL;
    int rc = nodes_add(reading, &names, &counts);

    if (rc == 0)
        rc = note_cpus(reading, &names, 1);
    return rc < 0 ? rc : source_reading_finish(reading, counts);
}

static int components_read(struct source_reading *reading, uint32_t components)
{
    bool counted = true;

    for (uint32_t i = 0; i < components; i++) {
        char suffix[24];
        struct slurm_names names;
        const char *counts = NULL;
        int rc;

        snprintf(suffix, sizeof(suffix), "_HET_GROUP_%u", i);
        names_set(&names, suffix);
        rc = nodes_add(reading, &names, &counts);
        if (rc == 0)
            rc = note_cpus(reading, &names, i == 0);
        if (rc < 0)
            return rc;
        counted = counted && counts != NULL;
    }
    return source_reading_finish(reading, counted ? "SLURM_TASKS_PER_NODE_HET_GROUP_*" : NULL);
}

static int job_read(struct source_reading *reading)
{
    struct slurm_names names;
    const char *counts = NULL;
    int rc;

    names_set(&names, "");
    rc = nodes_add(reading, &names, &counts);
    if (rc == 0)
        rc = note_cpus(reading, &names, 1);
    return rc < 0 ? rc : source_reading_finish(reading, counts);
}

/* 1 within a step that srun was asked for.  A batch script and the shell of salloc are steps of
 * Slurm's own making, with one node; they have the whole job. */
static bool is_step(const struct source_reading *reading)
{
    const char *id = source_reading_variable(reading, "SLURM_STEP_ID");
    const char *list = source_reading_variable(reading, "SLURM_STEP_NODELIST");
    uint64_t number;
    char *end;

    if (id == NULL || id[0] < '0' || id[0] > '9' || list == NULL || list[0] == '\0')
        return false;
    number = strtoull(id, &end, 10);
    return *end == '\0' && number <= STEP_ID_MAX;
}

int source_read_slurm(struct source_reading *reading)
{
    uint32_t components = 0;
    int rc = source_reading_number(reading, "SLURM_HET_SIZE", 1, COMPONENTS_MAX, &components);

    if (rc < 0)
        return rc;
    if (is_step(reading))
        return step_read(reading);
    return components > 0 ? components_read(reading, components) : job_read(reading);
}

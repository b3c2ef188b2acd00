/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flux gives a job's nodes on request only, as a JSON text, R (RFC 20), which launch/ decodes: sets
 * of ranks with the cores that each of them has, and one list of the nodes of all ranks in
 * ascending order.  A slot is a core.
 */
#include "config.h"

#include "alloc/source_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/host_name.h"

#define ID_MAX 16777215u /* of ranks and cores */

/* Ranks that have the same number of cores. */
struct rank_run {
    struct range ranks;
    uint32_t cores;
};

struct rank_runs {
    struct rank_run *items;
    uint32_t count;
    uint32_t capacity;
};

/* idset = [ "[" ] range { "," range } [ "]" ], range = number [ "-" number ] (RFC 22). */
static int idset_parse(const char *name, const char *value, struct ranges *ret_set,
                       struct error *error)
{
    struct source_text text;
    size_t bytes = strlen(value);

    source_text_variable(&text, name, value, error);
    if (bytes >= 2 && value[0] == '[' && value[bytes - 1] == ']') {
        text.at++;
        text.line_end--;
    }
    for (;;) {
        const char *start = text.at;
        uint32_t first, last;
        int rc = source_text_number(&text, "an id", 0, ID_MAX, &first);

        last = first;
        if (rc == 0 && text.at < text.line_end && *text.at == '-') {
            text.at++;
            rc = source_text_number(&text, "an id", 0, ID_MAX, &last);
        }
        if (rc < 0)
            return rc;
        if (last < first)
            return source_text_fail(&text, start, "the range %u-%u runs backwards", first, last);
        ranges_add(ret_set, first, last);
        if (text.at == text.line_end)
            return 0;
        if (*text.at != ',')
            return source_text_fail(&text, text.at, "expected ',' or '-', not '%c'", *text.at);
        text.at++;
    }
}

static void rank_runs_add(struct rank_runs *runs, const struct ranges *ranks, uint32_t cores)
{
    while (runs->capacity - runs->count < ranks->count) {
        runs->capacity = runs->capacity > 0 ? 2 * runs->capacity : 8;
        runs->items = memory_resize(runs->items, runs->capacity * sizeof(*runs->items));
    }
    for (uint32_t i = 0; i < ranks->count; i++)
        runs->items[runs->count++] = (struct rank_run){ranks->items[i], cores};
}

static int entry_read(const struct source_reading *reading, const struct flux_entry *entry,
                      struct rank_runs *runs)
{
    struct ranges ranks = {0}, cores = {0};
    int rc = idset_parse("R_lite rank", entry->ranks, &ranks, reading->error);

    if (rc == 0 && entry->cores == NULL)
        rc = error_set(reading->error, -EINVAL, "R_lite has no cores for rank %.40s", entry->ranks);
    if (rc == 0)
        rc = idset_parse("R_lite core", entry->cores, &cores, reading->error);
    if (rc == 0 && ranges_count(&cores) > ALLOCATION_SLOTS_MAX)
        rc = error_set(reading->error, -E2BIG, "R_lite core: more than %u cores",
                       ALLOCATION_SLOTS_MAX);
    if (rc == 0)
        rank_runs_add(runs, &ranks, (uint32_t)ranges_count(&cores));
    ranges_fini(&ranks);
    ranges_fini(&cores);
    return rc;
}

static int rank_run_compare(const void *a, const void *b)
{
    uint32_t x = ((const struct rank_run *)a)->ranks.first;
    uint32_t y = ((const struct rank_run *)b)->ranks.first;

    return (x > y) - (x < y);
}

/* Sorts the ranks and makes slots of them; there is one run at least. */
static int slots_make(const struct source_reading *reading, struct rank_runs *runs,
                      struct slots_run *ret_slots, uint64_t *ret_nodes)
{
    qsort(runs->items, runs->count, sizeof(*runs->items), rank_run_compare);
    *ret_nodes = 0;
    for (uint32_t i = 0; i < runs->count; i++) {
        struct range ranks = runs->items[i].ranks;

        if (i > 0 && ranks.first <= runs->items[i - 1].ranks.last)
            return error_set(reading->error, -EINVAL, "R_lite has rank %u twice", ranks.first);
        ret_slots[i] = (struct slots_run){.nodes = ranks.last - ranks.first + 1,
                                          .slots = runs->items[i].cores};
        *ret_nodes += ret_slots[i].nodes;
    }
    return 0;
}

static int nodelist_read(const struct source_reading *reading,
                         const struct flux_resources *resources, struct hostlist *list)
{
    for (uint32_t i = 0; i < resources->nodelist_count; i++) {
        struct source_text text;
        int rc;

        source_text_variable(&text, "nodelist", resources->nodelist[i], reading->error);
        rc = source_reading_list_parse(&text, list);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int nodes_add(struct source_reading *reading, const struct flux_resources *resources,
                     struct rank_runs *runs, struct hostlist *list)
{
    struct slots_run *slots;
    uint64_t nodes;
    int rc;

    for (uint32_t i = 0; i < resources->entries_count; i++) {
        rc = entry_read(reading, &resources->entries[i], runs);
        if (rc < 0)
            return rc;
    }
    rc = nodelist_read(reading, resources, list);
    if (rc < 0)
        return rc;
    if (runs->count == 0)
        return error_set(reading->error, -EINVAL, "R_lite has no rank");
    slots = memory_allocate(runs->count * sizeof(*slots));
    rc = slots_make(reading, runs, slots, &nodes);
    if (rc == 0 && nodes != hostlist_count(list))
        rc = error_set(reading->error, -EINVAL, "R_lite has %llu ranks, but nodelist %u nodes",
                       (unsigned long long)nodes, hostlist_count(list));
    allocation_trace_place(reading->builder.made.trace, "R: execution.nodelist and R_lite");
    if (rc == 0)
        rc = source_reading_add_list(reading, list, slots);
    free(slots);
    return rc;
}

int source_read_flux(struct source_reading *reading)
{
    const struct source_ops *ops = reading->ops;
    const char *job = source_reading_variable(reading, "FLUX_JOB_ID");
    struct flux_resources resources = {0};
    struct rank_runs runs = {0};
    struct hostlist *list;
    int rc;

    if (ops->flux == NULL)
        return error_set(reading->error, -ENOTSUP, "its resources cannot be queried here");
    rc = ops->flux(ops->context, job != NULL && job[0] != '\0' ? job : NULL, &resources,
                   reading->error);
    if (rc < 0)
        return rc;
    list = hostlist_create();
    rc = nodes_add(reading, &resources, &runs, list);
    hostlist_destroy(list);
    free(runs.items);
    return rc < 0 ? rc : source_reading_finish(reading, "the cores in R");
}

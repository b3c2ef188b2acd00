/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/allocation_builder.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void allocation_builder_init(struct allocation_builder *builder, const struct allocation *start)
{
    uint32_t host = 0;

    *builder = (struct allocation_builder){.index = name_index_create()};
    allocation_init(&builder->made);
    builder->made.trace = start->trace;
    hostlist_append_slice(builder->made.names, start->names, 0, hostlist_count(start->names));
    builder->made.runs = memory_copy(start->runs, start->runs_count * sizeof(*start->runs));
    builder->made.runs_count = start->runs_count;
    builder->made.runs_capacity = start->runs_count;
    for (uint32_t i = 0; i < hostlist_runs(start->names); i++) {
        struct host_run run = hostlist_run(start->names, i);

        name_index_add(builder->index, &run, host);
        host += run.count;
    }
}

void allocation_builder_fini(struct allocation_builder *builder)
{
    allocation_fini(&builder->made);
    name_index_destroy(builder->index);
    free(builder->raises);
}

static void raise_add(struct allocation_builder *builder, uint32_t index, uint32_t slots)
{
    if (builder->raises_count == builder->raises_capacity) {
        builder->raises_capacity = builder->raises_capacity > 0 ? 2 * builder->raises_capacity : 8;
        builder->raises =
            memory_resize(builder->raises, builder->raises_capacity * sizeof(*builder->raises));
    }
    builder->raises[builder->raises_count++] = (struct slots_raise){.index = index, .slots = slots};
}

/* Adds a run none of whose names is there. */
static int run_append(struct allocation_builder *builder, const struct host_run *run,
                      uint32_t slots, struct error *error)
{
    uint32_t nodes = allocation_nodes(&builder->made);

    if (run->count > HOSTLIST_HOSTS_MAX - nodes)
        return error_set(error, -E2BIG, "more than %u nodes", HOSTLIST_HOSTS_MAX);
    name_index_add(builder->index, run, nodes);
    allocation_append_run(&builder->made, run, slots);
    return 0;
}

static int name_add(struct allocation_builder *builder, const struct host_run *run, uint32_t offset,
                    uint32_t slots, struct error *error)
{
    char name[HOST_NAME_BYTES_MAX + 1];
    size_t name_bytes = hostlist_run_name(run, offset, name);
    int64_t found = name_index_find(builder->index, name, name_bytes);
    struct host_run single = *run;

    if (found >= 0) {
        raise_add(builder, (uint32_t)found, slots);
        return 0;
    }
    single.first += offset;
    single.count = 1;
    return run_append(builder, &single, slots, error);
}

int allocation_builder_add(struct allocation_builder *builder, const struct host_run *run,
                           uint32_t slots, struct error *error)
{
    int rc = 0;

    assert(slots <= ALLOCATION_SLOTS_MAX);
    builder->added += run->count;
    allocation_trace_add(builder->made.trace, run, slots);
    if (run->count >= NAME_INDEX_RUN_MIN && !name_index_may_hold(builder->index, run))
        return run_append(builder, run, slots, error);
    for (uint32_t i = 0; i < run->count && rc == 0; i++)
        rc = name_add(builder, run, i, slots, error);
    return rc;
}

static int raise_compare(const void *a, const void *b)
{
    uint32_t x = ((const struct slots_raise *)a)->index;
    uint32_t y = ((const struct slots_raise *)b)->index;

    return (x > y) - (x < y);
}

static int raises_apply(struct allocation_builder *builder, struct error *error)
{
    char name[HOST_NAME_BYTES_MAX + 1];
    uint32_t index;

    if (builder->raises_count == 0)
        return 0;
    qsort(builder->raises, builder->raises_count, sizeof(*builder->raises), raise_compare);
    if (allocation_raise(&builder->made, builder->raises, builder->raises_count, &index) == 0)
        return 0;
    hostlist_name(builder->made.names, index, name);
    return error_set(error, -E2BIG, "node %s has more than %u slots", name, ALLOCATION_SLOTS_MAX);
}

/* "--host", then "--host and host file hosts.txt"; the end is cut if there is no room. */
static void origin_add(char *target, size_t target_bytes, const char *origin)
{
    size_t used = strlen(target);

    if (strcmp(target, origin) == 0)
        return;
    snprintf(target + used, target_bytes - used, "%s%s", used > 0 ? " and " : "", origin);
}

int allocation_builder_finish(struct allocation_builder *builder, struct allocation *target,
                              const char *origin, struct error *error)
{
    struct allocation replaced = *target;
    int rc = raises_apply(builder, error);

    if (rc < 0)
        return rc;
    if (builder->added == 0)
        return error_set(error, -EINVAL, "contains no node name");
    if (allocation_slots(&builder->made) == 0)
        return error_set(error, -EINVAL, "no node has a slot");
    memcpy(builder->made.origin, target->origin, sizeof(target->origin));
    memcpy(builder->made.user, target->user, sizeof(target->user));
    origin_add(builder->made.origin, sizeof(builder->made.origin), origin);
    *target = builder->made;
    builder->made = replaced;
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/allocation.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void allocation_check(const struct allocation *allocation)
{
    assert(allocation->names != NULL);
    assert(allocation->runs_count <= allocation->runs_capacity);
    assert((allocation_nodes(allocation) == 0) == (allocation->runs_count == 0));
}

void allocation_init(struct allocation *allocation)
{
    *allocation = (struct allocation){.names = hostlist_create()};
}

void allocation_fini(struct allocation *allocation)
{
    hostlist_destroy(allocation->names);
    free(allocation->runs);
    node_order_destroy(allocation->order);
    *allocation = (struct allocation){.names = NULL};
}

uint32_t allocation_nodes(const struct allocation *allocation)
{
    return hostlist_count(allocation->names);
}

uint64_t allocation_slots(const struct allocation *allocation)
{
    uint64_t slots = 0;

    for (uint32_t i = 0; i < allocation->runs_count; i++)
        slots += (uint64_t)allocation->runs[i].nodes * allocation->runs[i].slots;
    return slots;
}

uint32_t allocation_slots_of(const struct allocation *allocation, uint32_t index)
{
    const struct slots_run *run = allocation->runs;

    assert(index < allocation_nodes(allocation));
    for (; index >= run->nodes; run++)
        index -= run->nodes;
    return run->slots;
}

/* Neighbours stay neighbours where they can, so most names are appended by the run. */
struct hostlist *allocation_tree_names(const struct allocation *allocation)
{
    uint32_t nodes = allocation_nodes(allocation);
    struct hostlist *names = hostlist_create();

    assert(node_order_count(allocation->order) <= nodes);
    for (uint32_t at = 0; at < nodes;) {
        uint32_t count;
        uint32_t node = node_order_stretch(allocation->order, at, &count);

        count = count < nodes - at ? count : nodes - at;
        hostlist_append_slice(names, allocation->names, node, count);
        at += count;
    }
    return names;
}

static void slots_append(struct allocation *allocation, uint32_t nodes, uint32_t slots)
{
    uint32_t count = allocation->runs_count;

    assert(slots <= ALLOCATION_SLOTS_MAX);
    if (nodes == 0)
        return;
    if (count > 0 && allocation->runs[count - 1].slots == slots) {
        allocation->runs[count - 1].nodes += nodes;
        return;
    }
    if (count == allocation->runs_capacity) {
        allocation->runs_capacity = count > 0 ? 2 * count : 4;
        allocation->runs =
            memory_resize(allocation->runs, allocation->runs_capacity * sizeof(*allocation->runs));
    }
    allocation->runs[count] = (struct slots_run){.nodes = nodes, .slots = slots};
    allocation->runs_count++;
}

void allocation_copy(struct allocation *ret_copy, const struct allocation *source)
{
    struct allocation copy = *source;

    copy.names = hostlist_create();
    copy.runs = NULL;
    copy.runs_count = copy.runs_capacity = 0;
    copy.trace = NULL;
    copy.order = node_order_copy(source->order);
    allocation_append(&copy, source);
    *ret_copy = copy;
}

void allocation_append(struct allocation *allocation, const struct allocation *added)
{
    assert(allocation != added);
    hostlist_append_slice(allocation->names, added->names, 0, allocation_nodes(added));
    for (uint32_t i = 0; i < added->runs_count; i++)
        slots_append(allocation, added->runs[i].nodes, added->runs[i].slots);
    allocation_check(allocation);
}

void allocation_append_run(struct allocation *allocation, const struct host_run *run,
                           uint32_t slots)
{
    hostlist_append_run(allocation->names, run);
    slots_append(allocation, run->count, slots);
    allocation_check(allocation);
}

/* Appends a run's slots to a target, with the raises that lie in it; returns how many those are,
 * or -1 and *ret_index. */
static int64_t run_raise(struct allocation *target, struct slots_run run, uint32_t base,
                         const struct slots_raise *raises, uint32_t raises_count,
                         uint32_t *ret_index)
{
    uint32_t done = 0; /* nodes of the run */
    uint32_t used = 0;

    while (used < raises_count && raises[used].index - base < run.nodes) {
        uint32_t index = raises[used].index;
        uint64_t slots = run.slots;

        assert(index >= base + done);
        for (; used < raises_count && raises[used].index == index; used++)
            slots += raises[used].slots;
        if (slots > ALLOCATION_SLOTS_MAX) {
            *ret_index = index;
            return -1;
        }
        slots_append(target, index - base - done, run.slots);
        slots_append(target, 1, (uint32_t)slots);
        done = index - base + 1;
    }
    slots_append(target, run.nodes - done, run.slots);
    assert(done <= run.nodes);
    return used;
}

int allocation_raise(struct allocation *allocation, const struct slots_raise *raises,
                     uint32_t raises_count, uint32_t *ret_index)
{
    struct allocation raised = {.names = NULL};
    uint32_t base = 0;

    for (uint32_t i = 0; i < allocation->runs_count; i++) {
        int64_t used =
            run_raise(&raised, allocation->runs[i], base, raises, raises_count, ret_index);

        if (used < 0) {
            free(raised.runs);
            return -E2BIG;
        }
        raises += used;
        raises_count -= (uint32_t)used;
        base += allocation->runs[i].nodes;
    }
    assert(raises_count == 0);
    free(allocation->runs);
    allocation->runs = raised.runs;
    allocation->runs_count = raised.runs_count;
    allocation->runs_capacity = raised.runs_capacity;
    allocation_check(allocation);
    return 0;
}

void allocation_add(struct allocation *allocation, const char *name, uint32_t slots)
{
    int64_t found = hostlist_find(allocation->names, name, 0);
    struct slots_raise raise;
    uint32_t room;

    if (found < 0) {
        hostlist_append(allocation->names, name);
        slots_append(allocation, 1, slots);
        return;
    }
    raise.index = (uint32_t)found;
    room = ALLOCATION_SLOTS_MAX - allocation_slots_of(allocation, raise.index);
    raise.slots = slots < room ? slots : room;
    allocation_raise(allocation, &raise, 1, &raise.index);
}

void allocation_generate(struct allocation *allocation, const char *prefix, uint32_t count,
                         uint32_t slots)
{
    struct host_run run = {
        .prefix = prefix,
        .suffix = "",
        .first = 1,
        .count = count,
        .prefix_bytes = (uint8_t)strlen(prefix),
        .width = 1,
    };

    assert(strlen(prefix) < HOST_NAME_BYTES_MAX);
    if (count > 0)
        allocation_append_run(allocation, &run, slots);
}

void allocation_set_slots(struct allocation *allocation, uint32_t slots)
{
    allocation->runs_count = 0;
    slots_append(allocation, allocation_nodes(allocation), slots);
    allocation_check(allocation);
}

void allocation_clear_last(struct allocation *allocation, uint32_t nodes)
{
    uint32_t left = nodes;

    assert(nodes <= allocation_nodes(allocation));
    while (left > 0) {
        struct slots_run *last = &allocation->runs[allocation->runs_count - 1];
        uint32_t taken = last->nodes < left ? last->nodes : left;

        last->nodes -= taken;
        left -= taken;
        allocation->runs_count -= last->nodes == 0;
    }
    if (nodes > 0)
        slots_append(allocation, nodes, 0);
    allocation_check(allocation);
}

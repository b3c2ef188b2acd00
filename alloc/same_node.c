/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/same_node.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/name_index.h"

#define NOBODY UINT32_MAX

static const char *const own_names[] = {"localhost", "127.0.0.1", "::1"};

/* What is in front of the first dot; 0 if there is none or the name is an address. */
static size_t short_bytes_of(const char *name)
{
    size_t bytes = strcspn(name, ".");

    if (name[bytes] == '\0' || name[strspn(name, "0123456789.")] == '\0')
        return 0;
    return bytes;
}

bool same_node_is_here(const char *name, const char *host_name)
{
    size_t short_bytes = strcspn(host_name, ".");

    for (size_t i = 0; i < sizeof(own_names) / sizeof(own_names[0]); i++) {
        if (strcmp(name, own_names[i]) == 0)
            return true;
    }
    return strcmp(name, host_name) == 0 ||
           (strlen(name) == short_bytes && memcmp(name, host_name, short_bytes) == 0);
}

/* ---- Which are one ---- */

/* homes[i] is the node that i is joined to, at first itself. */
static uint32_t home_of(const uint32_t *homes, uint32_t node)
{
    assert(homes[node] <= node);
    while (homes[node] != node)
        node = homes[node];
    return node;
}

static void join_homes(uint32_t *homes, uint32_t a, uint32_t b)
{
    uint32_t left = home_of(homes, a), right = home_of(homes, b);

    if (left < right)
        homes[right] = left;
    else
        homes[left] = right;
}

/* The names of this machine in the list; returns their number. */
static uint32_t find_here(const struct allocation *allocation, const char *host_name,
                          uint32_t ret_nodes[5])
{
    char short_name[HOST_NAME_BYTES_MAX + 1] = "";
    const char *names[5] = {own_names[0], own_names[1], own_names[2], host_name, short_name};
    size_t short_bytes = strcspn(host_name, ".");
    uint32_t count = 0;

    if (short_bytes <= HOST_NAME_BYTES_MAX && host_name[short_bytes] != '\0')
        memcpy(short_name, host_name, short_bytes);
    for (size_t i = 0; i < 5; i++) {
        int64_t found = names[i][0] != '\0' ? hostlist_find(allocation->names, names[i], 0) : -1;

        if (found >= 0)
            ret_nodes[count++] = (uint32_t)found;
    }
    return count;
}

/* 1 if there are names with a dot and names without one: else none is short for another. */
static bool has_both_forms(const struct allocation *allocation)
{
    int has_full = 0, has_short = 0;

    for (uint32_t i = 0; i < hostlist_runs(allocation->names) && !(has_full && has_short); i++) {
        struct host_run run = hostlist_run(allocation->names, i);
        int is_full = memchr(run.prefix, '.', run.prefix_bytes) != NULL ||
                      memchr(run.suffix, '.', run.suffix_bytes) != NULL;

        has_full |= is_full;
        has_short |= !is_full;
    }
    return has_full && has_short;
}

/* Two full names of one short name (n1.east.org, n1.west.org) leave it to neither. */
static void join_full_names(const struct allocation *allocation, uint32_t *homes)
{
    struct name_index *index = name_index_of(allocation->names);
    uint32_t nodes = allocation_nodes(allocation);
    uint32_t *full = memory_allocate(nodes * sizeof(*full)); /* by short name; itself: none yet */
    char name[HOST_NAME_BYTES_MAX + 1];

    for (uint32_t i = 0; i < nodes; i++)
        full[i] = i;
    for (uint32_t i = 0; i < nodes; i++) {
        int64_t found = -1;
        size_t bytes;

        hostlist_name(allocation->names, i, name);
        bytes = short_bytes_of(name);
        if (bytes > 0)
            found = name_index_find(index, name, bytes);
        if (found >= 0)
            full[found] = full[found] == (uint32_t)found ? i : NOBODY;
    }
    for (uint32_t i = 0; i < nodes; i++) {
        if (full[i] != i && full[i] != NOBODY)
            join_homes(homes, i, full[i]);
    }
    free(full);
    name_index_destroy(index);
}

/* ---- Joining ---- */

static void append_slice(struct allocation *allocation, const struct hostlist *names, uint32_t node,
                         uint32_t slots)
{
    struct hostlist *one = hostlist_create();
    struct host_run run;

    hostlist_append_slice(one, names, node, 1);
    run = hostlist_run(one, 0);
    allocation_append_run(allocation, &run, slots);
    hostlist_destroy(one);
}

static void rebuild_allocation(struct allocation *allocation, const uint32_t *homes)
{
    uint32_t nodes = allocation_nodes(allocation), node = 0;
    uint64_t *slots = memory_allocate_zeroed(nodes * sizeof(*slots));
    struct allocation joined = *allocation; /* all but names and slots stays */
    struct allocation empty;

    for (uint32_t i = 0; i < allocation->runs_count; i++) {
        for (uint32_t left = allocation->runs[i].nodes; left > 0; left--, node++)
            slots[home_of(homes, node)] += allocation->runs[i].slots;
    }
    assert(node == nodes);
    allocation_init(&empty);
    joined.names = empty.names;
    joined.runs = empty.runs;
    joined.runs_count = joined.runs_capacity = 0;
    for (uint32_t i = 0; i < nodes; i++) {
        if (homes[i] == i)
            append_slice(&joined, allocation->names, i,
                         slots[i] < ALLOCATION_SLOTS_MAX ? (uint32_t)slots[i]
                                                         : ALLOCATION_SLOTS_MAX);
    }
    allocation_fini(allocation);
    *allocation = joined;
    free(slots);
}

void same_node_join(struct allocation *allocation, const char *host_name)
{
    uint32_t nodes = allocation_nodes(allocation), here[5], left = 0;
    uint32_t here_count = find_here(allocation, host_name, here);
    int has_both = has_both_forms(allocation);
    uint32_t *homes;

    if (here_count < 2 && !has_both)
        return;
    homes = memory_allocate(nodes * sizeof(*homes));
    for (uint32_t i = 0; i < nodes; i++)
        homes[i] = i;
    for (uint32_t i = 1; i < here_count; i++)
        join_homes(homes, here[0], here[i]);
    if (has_both)
        join_full_names(allocation, homes);
    for (uint32_t i = 0; i < nodes; i++)
        left += homes[i] == i;
    if (left < nodes)
        rebuild_allocation(allocation, homes);
    free(homes);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/map_machines.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/topology_read.h"

/* Words of hwloc and paths have one of these before their first '='. */
#define NO_LIST " :(/"

/* ---- Reading ---- */

/* A list with brackets has commas, but no character of NO_LIST.  Returns the text after it, or NULL
 * if there is no list. */
static const char *text_behind_list(const char *text)
{
    size_t bytes = strcspn(text, "=" NO_LIST);

    return bytes > 0 && text[bytes] == '=' ? text + bytes + 1 : NULL;
}

static int read_names(struct map_machine *machine, const char *text, size_t bytes,
                      struct error *error)
{
    char *list = memory_printf("%.*s", (int)bytes, text);
    int rc;

    machine->names = hostlist_create();
    rc = hostlist_parse(machine->names, list, error);
    if (rc == 0 && hostlist_count(machine->names) == 0)
        rc = error_set(error, -EINVAL, "'%.80s' contains no node name", list);
    free(list);
    return rc;
}

static int read_machine(struct map_machines *machines, const char *text, struct error *error)
{
    const char *words = text_behind_list(text);
    struct map_machine machine = {.names = NULL};
    int rc = words != NULL ? read_names(&machine, text, (size_t)(words - 1 - text), error) : 0;

    assert(machines->count < MAP_MACHINES_MAX);
    if (rc == 0)
        rc = topology_read_text(words != NULL ? words : text, &machine.topology, &machine.allowed,
                                error);
    if (rc < 0) {
        hostlist_destroy(machine.names);
        return rc;
    }
    machines->items =
        memory_resize(machines->items, (machines->count + 1) * sizeof(*machines->items));
    machines->items[machines->count++] = machine;
    return 0;
}

static int read_all(struct map_machines *machines, char *text, struct error *error)
{
    char *rest = NULL;
    int rc = 0;

    for (char *word = strtok_r(text, ";", &rest); rc == 0 && word != NULL;
         word = strtok_r(NULL, ";", &rest)) {
        if (machines->count == MAP_MACHINES_MAX)
            return error_set(error, -E2BIG, "more than %u topologies", MAP_MACHINES_MAX);
        if (machines->count > 0 && machines->items[machines->count - 1].names == NULL)
            return error_set(
                error, -EINVAL,
                "'%.80s' comes after the topology without LIST=, which applies to all other nodes and must be last",
                word);
        rc = read_machine(machines, word + strspn(word, " "), error);
    }
    if (rc == 0 && machines->count == 0)
        rc = error_set(error, -EINVAL, "no topology given");
    return rc;
}

int map_machines_read(struct map_machines *machines, const char *text, struct error *error)
{
    char *copy;
    int rc;

    assert(machines->count == 0);
    if (text == NULL) {
        machines->items = memory_allocate_zeroed(sizeof(*machines->items));
        rc = topology_read(1, &machines->items[0].topology, &machines->items[0].allowed, error);
        machines->count = rc == 0;
        return rc;
    }
    machines->is_described = 1;
    copy = memory_copy_string(text);
    rc = read_all(machines, copy, error);
    free(copy);
    if (rc < 0)
        error_prefix(error, "option --topology");
    return rc;
}

void map_machines_fini(struct map_machines *machines)
{
    for (uint32_t i = 0; i < machines->count; i++) {
        hostlist_destroy(machines->items[i].names);
        topology_fini(&machines->items[i].topology);
        ranges_fini(&machines->items[i].allowed);
    }
    free(machines->items);
    *machines = (struct map_machines){.count = 0};
}

/* ---- Which node is like which ---- */

void map_machines_print_whose(const struct map_machines *machines, uint32_t index,
                              struct buffer *out)
{
    assert(index < machines->count);
    if (machines->items[index].names != NULL)
        hostlist_print(machines->items[index].names, out);
    else
        buffer_append_string(out, index > 0 ? "every other node" : "every node");
}

/* The first that names it, or count. */
static uint32_t machine_of(const struct map_machines *machines, const struct allocation *allocation,
                           uint32_t node)
{
    char name[HOST_NAME_BYTES_MAX + 1];
    uint32_t i = 0;

    assert(node < allocation_nodes(allocation));
    hostlist_name(allocation->names, node, name);
    while (i < machines->count && machines->items[i].names != NULL &&
           hostlist_find(machines->items[i].names, name, 0) < 0)
        i++;
    return i;
}

/* The number of nodes from this one on that are like it; -ENOENT if it is not described. */
static int64_t run_of(const struct map_machines *machines, const struct allocation *allocation,
                      uint32_t node, uint32_t *ret_machine, struct error *error)
{
    uint32_t after = node + 1, nodes = allocation_nodes(allocation);
    char name[HOST_NAME_BYTES_MAX + 1];

    *ret_machine = machine_of(machines, allocation, node);
    if (*ret_machine == machines->count) {
        hostlist_name(allocation->names, node, name);
        return error_set(
            error, -ENOENT,
            "option --topology: no topology for node %s; one without LIST= applies to all other nodes",
            name);
    }
    if (machines->count == 1 && machines->items[0].names == NULL)
        return nodes - node;
    while (after < nodes && machine_of(machines, allocation, after) == *ret_machine)
        after++;
    assert(after > node && after <= nodes);
    return after - node;
}

static void append_slice(struct allocation *allocation, const struct allocation *source,
                         uint32_t node, uint32_t count, uint32_t slots)
{
    struct hostlist *slice = hostlist_create();

    assert(count > 0 && node + count <= allocation_nodes(source));
    hostlist_append_slice(slice, source->names, node, count);
    for (uint32_t i = 0; i < hostlist_runs(slice); i++) {
        struct host_run names = hostlist_run(slice, i);

        allocation_append_run(allocation, &names, slots);
    }
    hostlist_destroy(slice);
}

int map_machines_set_slots(const struct map_machines *machines, struct allocation *allocation,
                           struct error *error)
{
    uint32_t nodes = allocation_nodes(allocation), machine;
    struct allocation counted;

    allocation_init(&counted);
    for (uint32_t node = 0; node < nodes;) {
        int64_t run = run_of(machines, allocation, node, &machine, error);

        if (run < 0) {
            allocation_fini(&counted);
            return (int)run;
        }
        append_slice(&counted, allocation, node, (uint32_t)run,
                     machines->items[machine].topology.counts[TOPOLOGY_CORE]);
        node += (uint32_t)run;
    }
    allocation_fini(allocation);
    assert(allocation_nodes(&counted) == nodes);
    *allocation = counted;
    return 0;
}

void map_machines_nodes(const struct map_machines *machines, uint32_t index,
                        const struct allocation *allocation, struct ranges *ret_nodes)
{
    uint32_t nodes = allocation_nodes(allocation), machine;

    assert(index < machines->count);
    for (uint32_t node = 0; node < nodes;) {
        int64_t run = run_of(machines, allocation, node, &machine, NULL);

        if (run < 0)
            return;
        if (machine == index)
            ranges_add(ret_nodes, node, node + (uint32_t)run - 1);
        node += (uint32_t)run;
    }
}

int map_machines_add(const struct map_machines *machines, const struct allocation *allocation,
                     struct placement_machines *ret_machines, struct error *error)
{
    uint32_t nodes = allocation_nodes(allocation), machine;

    for (uint32_t node = 0; node < nodes;) {
        int64_t run = run_of(machines, allocation, node, &machine, error);

        if (run < 0)
            return (int)run;
        if (placement_machines_add(ret_machines, &machines->items[machine].topology,
                                   &machines->items[machine].allowed, node,
                                   node + (uint32_t)run - 1) < 0)
            return error_set(error, -ENOENT, "the topology has no usable processor");
        node += (uint32_t)run;
    }
    return 0;
}

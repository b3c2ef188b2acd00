/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/placement_print.h"

#include <assert.h>

#define DRAWN_THREADS_MAX 256u /* more than that nobody counts; the list follows anyway */

static void draw_threads(const struct topology *topology, const struct ranges *allowed,
                         const struct ranges *cpus, struct buffer *out)
{
    const uint32_t *packages = topology->objects[TOPOLOGY_PACKAGE];
    const uint32_t *cores = topology->objects[TOPOLOGY_CORE];

    buffer_append_string(out, "[");
    for (uint32_t i = 0; i < topology->threads; i++) {
        if (i > 0 && packages[i] != packages[i - 1])
            buffer_append_string(out, "][");
        else if (i > 0 && cores[i] != cores[i - 1])
            buffer_append_string(out, "/");
        buffer_append_string(out, ranges_contains(cpus, topology->os[i])      ? "B"
                                  : ranges_contains(allowed, topology->os[i]) ? "."
                                                                              : "~");
    }
    buffer_append_string(out, "]");
}

void placement_print_layout(const struct placement_map *map, uint32_t node,
                            const struct placement_binding *binding, struct buffer *out)
{
    const struct placement_machines *machines = &map->placement->machines;
    uint32_t number = placement_machines_kind(machines, node);
    const struct placement_kind *kind;

    assert(number == UINT32_MAX || number < machines->kinds_count);
    if (ranges_is_empty(&binding->cpus) || number == UINT32_MAX) {
        buffer_append_string(out, "not bound");
    } else {
        kind = &machines->kinds[number];
        assert(kind->class < machines->classes_count);
        if (machines->classes[kind->class].threads <= DRAWN_THREADS_MAX)
            draw_threads(&machines->classes[kind->class], &kind->allowed, &binding->cpus, out);
        buffer_append_string(out, " cpus ");
        ranges_print(&binding->cpus, out);
    }
    if (!ranges_is_empty(&binding->gpus)) {
        buffer_append_string(out, " gpus ");
        ranges_print(&binding->gpus, out);
    }
}

/* The objects of a level that hold threads of a set. */
static void objects_of(const struct topology *topology, enum topology_level level,
                       const struct ranges *cpus, struct ranges *ret_objects)
{
    assert(level < TOPOLOGY_LEVEL_COUNT);
    for (uint32_t i = 0; i < topology->threads; i++) {
        uint32_t object = topology->objects[level][i];

        if (object != TOPOLOGY_NONE && ranges_contains(cpus, topology->os[i]))
            ranges_add(ret_objects, object, object);
    }
}

void placement_print_locality(const struct placement_map *map, uint32_t node,
                              const struct placement_binding *binding, struct buffer *out)
{
    static const struct {
        const char *name;
        enum topology_level level;
    } levels[] = {{"SK", TOPOLOGY_PACKAGE}, {"NM", TOPOLOGY_NUMA}, {"L3", TOPOLOGY_L3},
                  {"L2", TOPOLOGY_L2},      {"L1", TOPOLOGY_L1},   {"CR", TOPOLOGY_CORE},
                  {"HT", TOPOLOGY_THREAD}};
    const struct placement_machines *machines = &map->placement->machines;
    uint32_t kind = placement_machines_kind(machines, node);
    const char *between = "";

    if (ranges_is_empty(&binding->cpus) || kind == UINT32_MAX)
        return;
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        struct ranges objects = {0};

        objects_of(&machines->classes[machines->kinds[kind].class], levels[i].level, &binding->cpus,
                   &objects);
        if (!ranges_is_empty(&objects)) {
            buffer_printf(out, "%s%s", between, levels[i].name);
            ranges_print(&objects, out);
            between = ":";
        }
        ranges_fini(&objects);
    }
}

void placement_print_binding(const struct placement_binding *binding, struct buffer *out)
{
    if (ranges_is_empty(&binding->cpus))
        buffer_append_string(out, "-");
    else
        ranges_print(&binding->cpus, out);
    if (!ranges_is_empty(&binding->gpus)) {
        buffer_append_string(out, " gpu ");
        ranges_print(&binding->gpus, out);
    }
}

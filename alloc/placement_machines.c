/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/placement_machines.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void kind_fini(struct placement_kind *kind)
{
    topology_fini(&kind->view);
    ranges_fini(&kind->allowed);
    ranges_fini(&kind->taken);
    ranges_fini(&kind->nodes);
}

void placement_machines_fini(struct placement_machines *machines)
{
    for (uint32_t i = 0; i < machines->classes_count; i++)
        topology_fini(&machines->classes[i]);
    for (uint32_t i = 0; i < machines->kinds_count; i++)
        kind_fini(&machines->kinds[i]);
    free(machines->classes);
    free(machines->kinds);
    *machines = (struct placement_machines){0};
}

static int same_topology(const struct topology *a, const struct topology *b)
{
    struct buffer left = {0}, right = {0};
    int same;

    if (a->threads != b->threads)
        return 0;
    topology_encode(a, &left);
    topology_encode(b, &right);
    same = left.length_bytes == right.length_bytes &&
           memcmp(left.data, right.data, left.length_bytes) == 0;
    buffer_fini(&left);
    buffer_fini(&right);
    return same;
}

static void copy_topology(const struct topology *topology, struct topology *ret_copy)
{
    struct ranges all = {0};

    topology_all(topology, &all);
    (void)topology_restrict(topology, &all, ret_copy);
    ranges_fini(&all);
}

static uint32_t class_of(struct placement_machines *machines, const struct topology *topology)
{
    for (uint32_t i = 0; i < machines->classes_count; i++) {
        if (same_topology(&machines->classes[i], topology))
            return i;
    }
    machines->classes = memory_resize(machines->classes,
                                      (machines->classes_count + 1) * sizeof(*machines->classes));
    copy_topology(topology, &machines->classes[machines->classes_count]);
    return machines->classes_count++;
}

/* The kind of that class and these threads, made if need be; NULL if no thread is there. */
static struct placement_kind *kind_of(struct placement_machines *machines, uint32_t class,
                                      const struct ranges *allowed, const struct ranges *taken)
{
    struct placement_kind *kind;
    struct topology view;

    for (uint32_t i = 0; i < machines->kinds_count; i++) {
        kind = &machines->kinds[i];
        if (kind->class == class && ranges_equal(&kind->allowed, allowed) &&
            ranges_equal(&kind->taken, taken))
            return kind;
    }
    assert(class < machines->classes_count);
    if (topology_restrict(&machines->classes[class], allowed, &view) < 0)
        return NULL;
    machines->kinds =
        memory_resize(machines->kinds, (machines->kinds_count + 1) * sizeof(*machines->kinds));
    kind = &machines->kinds[machines->kinds_count++];
    *kind = (struct placement_kind){.class = class, .view = view};
    ranges_copy(&kind->allowed, allowed);
    ranges_copy(&kind->taken, taken);
    return kind;
}

int placement_machines_add(struct placement_machines *machines, const struct topology *topology,
                           const struct ranges *allowed, uint32_t first, uint32_t last)
{
    const struct ranges none = {0};
    struct placement_kind *kind = kind_of(machines, class_of(machines, topology), allowed, &none);

    assert(first <= last);
    if (kind == NULL)
        return -ENOENT;
    ranges_add(&kind->nodes, first, last);
    return 0;
}

void placement_machines_merge(struct placement_machines *machines,
                              const struct placement_machines *other)
{
    assert(machines != other);
    for (uint32_t i = 0; i < other->kinds_count; i++) {
        const struct placement_kind *source = &other->kinds[i];
        struct placement_kind *kind;

        assert(source->class < other->classes_count);
        kind = kind_of(machines, class_of(machines, &other->classes[source->class]),
                       &source->allowed, &source->taken);
        if (kind != NULL)
            ranges_add_all(&kind->nodes, &source->nodes);
    }
}

uint32_t placement_machines_kind(const struct placement_machines *machines, uint32_t node)
{
    for (uint32_t i = 0; i < machines->kinds_count; i++) {
        if (ranges_contains(&machines->kinds[i].nodes, node))
            return i;
    }
    return UINT32_MAX;
}

void placement_machines_nodes(const struct placement_machines *machines, struct ranges *ret_nodes)
{
    ranges_clear(ret_nodes);
    for (uint32_t i = 0; i < machines->kinds_count; i++)
        ranges_add_all(ret_nodes, &machines->kinds[i].nodes);
}

/* ---- Fewer nodes ---- */

/* Kinds without nodes go, and classes without kinds. */
static void drop_unused(struct placement_machines *machines)
{
    uint32_t *numbers = memory_allocate_zeroed((machines->classes_count + 1) * sizeof(*numbers));
    uint32_t kinds = 0, classes = 0;

    for (uint32_t i = 0; i < machines->kinds_count; i++) {
        struct placement_kind kind = machines->kinds[i];

        if (ranges_is_empty(&kind.nodes)) {
            kind_fini(&kind);
            continue;
        }
        machines->kinds[kinds++] = kind;
        numbers[kind.class] = 1;
    }
    machines->kinds_count = kinds;
    for (uint32_t i = 0; i < machines->classes_count; i++) {
        struct topology class = machines->classes[i];

        if (!numbers[i]) {
            topology_fini(&class);
            continue;
        }
        numbers[i] = classes;
        machines->classes[classes++] = class;
    }
    machines->classes_count = classes;
    for (uint32_t i = 0; i < kinds; i++)
        machines->kinds[i].class = numbers[machines->kinds[i].class];
    free(numbers);
}

void placement_machines_keep(struct placement_machines *machines, const struct ranges *nodes)
{
    for (uint32_t i = 0; i < machines->kinds_count; i++) {
        struct ranges kept = {0};

        ranges_intersect(&machines->kinds[i].nodes, nodes, &kept);
        ranges_move(&machines->kinds[i].nodes, &kept);
    }
    drop_unused(machines);
}

/* ---- Cores of other jobs ---- */

/* With each of these threads all that share its core. */
static void widen_to_cores(const struct topology *view, const struct ranges *threads,
                           struct ranges *taken)
{
    const uint32_t *cores = view->objects[TOPOLOGY_CORE];
    uint8_t *is_taken = memory_allocate_zeroed(view->counts[TOPOLOGY_CORE] + 1);

    for (uint32_t i = 0; i < view->threads; i++)
        if (ranges_contains(threads, view->os[i]))
            is_taken[cores[i]] = 1;
    for (uint32_t i = 0; i < view->threads; i++)
        if (is_taken[cores[i]])
            ranges_add(taken, view->os[i], view->os[i]);
    free(is_taken);
}

void placement_machines_take(struct placement_machines *machines, const struct ranges *nodes,
                             const struct ranges *threads)
{
    uint32_t count = machines->kinds_count; /* those that are added have the threads */

    for (uint32_t i = 0; i < count; i++) {
        struct ranges hit = {0}, allowed = {0}, taken = {0};
        struct placement_kind *kind = &machines->kinds[i];
        uint32_t class = kind->class;

        ranges_intersect(&kind->nodes, nodes, &hit);
        ranges_copy(&allowed, &kind->allowed);
        ranges_copy(&taken, &kind->taken);
        widen_to_cores(&kind->view, threads, &taken);
        if (!ranges_is_empty(&hit) && !ranges_equal(&taken, &kind->taken)) {
            ranges_remove_all(&kind->nodes, &hit);
            kind = kind_of(machines, class, &allowed, &taken);
            assert(kind != NULL); /* its view is there already */
            ranges_add_all(&kind->nodes, &hit);
        }
        ranges_fini(&hit);
        ranges_fini(&allowed);
        ranges_fini(&taken);
    }
    drop_unused(machines);
}

uint32_t placement_machines_taken(const struct placement_kind *kind, enum topology_level level)
{
    const uint32_t *objects = kind->view.objects[level];
    uint32_t last = TOPOLOGY_NONE, count = 0;

    assert(level == TOPOLOGY_CORE || level == TOPOLOGY_THREAD);
    for (uint32_t i = 0; i < kind->view.threads; i++) {
        if (objects[i] != last && ranges_contains(&kind->taken, kind->view.os[i]))
            count++;
        last = objects[i];
    }
    return count;
}

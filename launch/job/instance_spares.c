/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spare nodes of an instance, at its root (--spares): their daemons run as all do, but no process is placed there until
 * a spare takes the place of a node that is lost or has not started; from then on it is a node like the others.
 *
 * Invariant: no spare is lost or removed, and each node has at most one that has taken its place.
 * Cost: a loss is O(lost nodes * spares); two numbers are kept for each spare that was taken.
 */
#include "config.h"

#include <assert.h>

#include "base/log.h"
#include "launch/job/instance.h"
#include "launch/job/instance_state.h"

void instance_spares_keep(struct instance *instance)
{
    uint32_t nodes = allocation_nodes(instance->allocation);
    uint32_t spares = instance->spec->spares;

    assert(instance->root != NULL && ranges_is_empty(&instance->root->spares));
    if (spares == 0)
        return;
    assert(spares < nodes);
    ranges_add(&instance->root->spares, nodes - spares + 1, nodes);
}

uint32_t instance_spares_of(const struct instance_root *root, uint32_t lost)
{
    for (uint32_t i = 0; i < root->stand_ins_count; i++)
        if (root->stand_ins[i].lost == lost)
            return root->stand_ins[i].place;
    return 0;
}

/* The first one that has as many slots as the lost node, or else the first; 0: there is none. */
static uint32_t choose(const struct instance *instance, uint32_t lost)
{
    const struct allocation *roster = instance->allocation;
    const struct instance_root *root = instance->root;
    uint32_t slots = allocation_slots_of(roster, lost - 1);
    uint32_t place = 0, first = 0;

    for (; ranges_next(&root->spares, place, &place); place++) {
        if (ranges_contains(&root->drained, place))
            continue;
        if (allocation_slots_of(roster, place - 1) >= slots)
            return place;
        if (first == 0)
            first = place;
    }
    return first;
}

static void take(struct instance *instance, uint32_t lost, uint32_t place,
                 struct job_actions *actions)
{
    struct instance_root *root = instance->root;
    char name[HOST_NAME_BYTES_MAX + 1], spare[HOST_NAME_BYTES_MAX + 1];
    struct buffer text = {0};

    ranges_remove(&root->spares, place, place);
    root->stand_ins =
        memory_resize(root->stand_ins, (root->stand_ins_count + 1) * sizeof(*root->stand_ins));
    root->stand_ins[root->stand_ins_count++] = (struct stand_in){.lost = lost, .place = place};
    hostlist_name(instance->allocation->names, lost - 1, name);
    hostlist_name(instance->allocation->names, place - 1, spare);
    buffer_printf(&text, "spare node %s takes the place of %s, which %s; %llu left", spare, name,
                  ranges_contains(&root->absent, lost) ? "has not started" : "is lost",
                  (unsigned long long)ranges_count(&root->spares));
    job_actions_text(actions, 0, LOG_LEVEL_WARNING, buffer_string(&text));
    buffer_fini(&text);
}

void instance_spares_take(struct instance *instance, const struct ranges *lost,
                          struct job_actions *actions)
{
    struct instance_root *root = instance->root;
    struct ranges ordinary = {0};
    uint32_t place = 0;

    if (ranges_is_empty(&root->spares))
        return;
    ranges_copy(&ordinary, lost);
    ranges_remove_all(&ordinary, &root->spares);
    ranges_remove_all(&ordinary, &root->removed);
    ranges_remove_all(&root->spares, lost);
    for (; ranges_next(&ordinary, place, &place); place++) {
        uint32_t spare = instance_spares_of(root, place) == 0 ? choose(instance, place) : 0;

        if (spare > 0)
            take(instance, place, spare, actions);
    }
    ranges_fini(&ordinary);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The roster of a living instance, at its root: nodes are appended, also those that did not come up, since an index of
 * the roster is a place less one; and removed ones stay in it, without a name that could be found.  Each change has a
 * version, of which all places hear before the next launch.
 *
 * Cost: the roster as a broadcast for each change, and at the root O(jobs + new names * runs of names).
 */
#include "config.h"

#include <assert.h>
#include <stdio.h>

#include "launch/job/instance.h"
#include "launch/job/instance_state.h"

/* Of nodes that are no more; the place follows. */
#define NAME_OF_NOBODY "_removed-"

void instance_roster_tell(struct instance *instance, struct job_actions *actions)
{
    struct buffer payload = {0};

    assert(instance->root != NULL && instance->allocation == &instance->own_roster);
    instance->roster_version++;
    job_roster_encode(instance->roster_version, instance->allocation, &payload);
    job_actions_broadcast(actions, 0, NULL, &payload);
}

void instance_nodes_retire(struct instance *instance, const struct ranges *places)
{
    uint32_t place = 0;

    ranges_add_all(&instance->root->removed, places);
    ranges_add_all(&instance->root->drained, places);
    ranges_remove_all(&instance->root->spares, places);
    for (; ranges_next(places, place, &place); place++)
        node_pool_retire(instance->root->book, place - 1);
}

/* Names of the roster are unique: a removed node loses the one that a new node has. */
static void free_names(struct instance *instance, const struct allocation *added)
{
    struct hostlist *names = instance->own_roster.names;
    char name[HOST_NAME_BYTES_MAX + 1];

    if (ranges_is_empty(&instance->root->removed))
        return;
    for (uint32_t i = 0; i < allocation_nodes(added); i++) {
        int64_t index;

        hostlist_name(added->names, i, name);
        index = hostlist_find(names, name, 0);
        if (index < 0)
            continue;
        assert(ranges_contains(&instance->root->removed, (uint32_t)index + 1));
        snprintf(name, sizeof(name), NAME_OF_NOBODY "%u", (uint32_t)index + 1);
        hostlist_rename(names, (uint32_t)index, name);
    }
}

/* A job that has had the roster to itself has had no more than there is so far, and the files of one that waits go to
 * no other nodes. */
static void keep_to_nodes(const struct instance *instance, uint32_t added)
{
    uint32_t nodes = allocation_nodes(instance->allocation);
    struct list_link *node, *spare;

    list_for_each(&instance->root->jobs, node, spare)
    {
        struct job *job = list_entry(node, struct job, node);

        if (job->map.apps_count == 0 && job->spec.stage != 0)
            ranges_add(&job->spec.placement.excluded, nodes, nodes + added - 1);
        if (job->map.apps_count == 0 || job->own.allocation.runs_count > 0)
            continue;
        job_view_init(&job->own, instance->allocation);
        job_view_make(&job->own);
    }
}

static void append_nodes(struct instance *instance, const struct allocation *added)
{
    int rc;

    keep_to_nodes(instance, allocation_nodes(added));
    free_names(instance, added);
    allocation_append(&instance->own_roster, added);
    rc = node_pool_insert(instance->root->book, "", added, NULL);
    assert(rc == 0); /* instance_nodes_are_new */
}

void instance_grow(struct instance *instance, const struct allocation *added, int has_joined,
                   struct job_actions *actions)
{
    uint32_t first = allocation_nodes(instance->allocation) + 1;
    uint32_t count = allocation_nodes(added);
    const struct host_run nobody = {.prefix = NAME_OF_NOBODY,
                                    .suffix = "",
                                    .first = first,
                                    .count = count,
                                    .prefix_bytes = sizeof(NAME_OF_NOBODY) - 1,
                                    .width = 1};
    struct allocation absent;
    struct ranges places = {0};

    assert(count > 0);
    if (has_joined) {
        append_nodes(instance, added);
    } else {
        allocation_init(&absent);
        allocation_append_run(&absent, &nobody, 0);
        append_nodes(instance, &absent);
        allocation_fini(&absent);
        ranges_add(&places, first, first + count - 1);
        instance_nodes_retire(instance, &places);
        ranges_fini(&places);
    }
    instance_nodes_changed(instance);
    instance_roster_tell(instance, actions);
}

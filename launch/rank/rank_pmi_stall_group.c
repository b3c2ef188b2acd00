/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who takes part in the barrier of a group of ranks (PMI 1.2) only the nodes know whose ranks have called it, so that
 * those report it to the root (launch/core/stall_report.h) if it takes long, whether they have contributed or not.  The
 * root then asks the nodes of the others, where one learns in this way that a member has ended which it had not known
 * to be one, and the barrier fails.
 */
#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "base/time.h"
#include "launch/rank/rank_pmi_internal.h"

#define LOOK_NS      NS_PER_S
#define STALL_NS     (5 * NS_PER_S)
#define STALL_NS_MAX (320 * NS_PER_S)

/* A barrier in which clients wait. */
struct group_wait {
    struct list_link node;
    struct pmi_socket_group group;
    struct operation_name key;
    struct ranges places;
    uint64_t due_ns;
    uint64_t wait_ns; /* until it is reported again */
    uint8_t is_told;
    uint8_t is_there; /* at the last look */
};

static void tell(struct rank_pmi *rank_pmi, const struct group_wait *wait,
                 enum job_stalled_kind kind)
{
    struct ranges ranks = {0};

    ranges_copy(&ranks, wait->group.members);
    if (ranges_is_empty(&ranks))
        ranges_add(&ranks, 0, rank_pmi->config.job->map.processes - 1);
    rank_pmi->events.stalled(rank_pmi->events.context, &wait->key, &wait->places, &ranks,
                             (uint8_t)kind);
    ranges_fini(&ranks);
}

static void wait_free(struct group_wait *wait)
{
    list_remove(&wait->node);
    ranges_fini(&wait->places);
    free(wait);
}

static struct group_wait *wait_find(const struct rank_pmi *rank_pmi, const void *handle,
                                    uint64_t round)
{
    struct list_link *node, *spare;

    list_for_each(&rank_pmi->groups.waits, node, spare)
    {
        struct group_wait *wait = list_entry(node, struct group_wait, node);

        if (wait->group.handle == handle && wait->group.round == round)
            return wait;
    }
    return NULL;
}

static void look_at(struct rank_pmi *rank_pmi, const struct pmi_socket_group *group,
                    uint64_t now_ns)
{
    struct group_wait *wait = wait_find(rank_pmi, group->handle, group->round);

    if (wait == NULL) {
        wait = memory_allocate_zeroed(sizeof(*wait));
        wait->group = *group;
        wait->key = rank_pmi_group_next(rank_pmi, group, &wait->places);
        wait->wait_ns = STALL_NS;
        wait->due_ns = now_ns + STALL_NS - LOOK_NS;
        list_append(&rank_pmi->groups.waits, &wait->node);
    }
    wait->is_there = 1;
    if (now_ns < wait->due_ns)
        return;
    if (wait->wait_ns < STALL_NS_MAX)
        wait->wait_ns *= 2;
    wait->due_ns = now_ns + wait->wait_ns;
    wait->is_told = 1;
    tell(rank_pmi, wait, JOB_STALLED_LOCAL);
}

/* Those that have ended since the last look. */
static void drop_ended(struct rank_pmi *rank_pmi)
{
    struct list_link *node, *spare;

    list_for_each(&rank_pmi->groups.waits, node, spare)
    {
        struct group_wait *wait = list_entry(node, struct group_wait, node);

        if (wait->is_there)
            continue;
        if (wait->is_told)
            tell(rank_pmi, wait, JOB_STALLED_LOCAL_OVER);
        wait_free(wait);
    }
}

static void look(void *context)
{
    struct rank_pmi *rank_pmi = context;
    struct pmi_socket_group group;
    struct list_link *node, *spare;
    uint64_t now_ns = loop_now_ns();
    size_t cursor = 0;

    rank_pmi->groups.is_set = 0;
    list_for_each(&rank_pmi->groups.waits, node, spare) list_entry(node, struct group_wait, node)
        ->is_there = 0;
    while (pmi_socket_group_next(rank_pmi->socket, &cursor, &group))
        look_at(rank_pmi, &group, now_ns);
    drop_ended(rank_pmi);
    rank_pmi_stall_group_check(rank_pmi);
}

void rank_pmi_stall_group_check(struct rank_pmi *rank_pmi)
{
    if (rank_pmi->groups.is_set || rank_pmi->socket == NULL ||
        (!pmi_socket_groups_wait(rank_pmi->socket) && list_is_empty(&rank_pmi->groups.waits)))
        return;
    if (rank_pmi->groups.timer == NULL)
        rank_pmi->groups.timer = loop_timer_create(rank_pmi->config.loop, look, rank_pmi);
    rank_pmi->groups.is_set = 1;
    loop_timer_set(rank_pmi->groups.timer, loop_now_ns() + LOOK_NS);
}

int rank_pmi_group_arrived(const struct rank_pmi *rank_pmi, const struct operation_name *key,
                           uint32_t index)
{
    struct list_link *node, *spare;

    assert(job_is_group_barrier(key));
    list_for_each(&rank_pmi->groups.waits, node, spare)
    {
        const struct group_wait *wait = list_entry(node, struct group_wait, node);

        if (wait->key.set_id == key->set_id && wait->key.generation == key->generation)
            return pmi_socket_in_group(&wait->group, index);
    }
    return 0;
}

void rank_pmi_stall_group_open(struct rank_pmi *rank_pmi)
{
    list_init(&rank_pmi->groups.waits);
}

void rank_pmi_stall_group_close(struct rank_pmi *rank_pmi)
{
    struct list_link *node;

    while ((node = list_first(&rank_pmi->groups.waits)) != NULL)
        wait_free(list_entry(node, struct group_wait, node));
    if (rank_pmi->groups.timer != NULL)
        loop_timer_destroy(rank_pmi->groups.timer);
}

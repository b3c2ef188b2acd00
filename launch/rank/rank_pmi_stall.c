/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node contributes to a barrier when its ranks have all called.  If on every node one has not, there is no operation
 * in the tree that could be found stalled, so each node looks after its own and reports to the root
 * (launch/core/stall_report.h).  libpmix does not say how many have called: so this is for PMI-1 only.
 */
#include "config.h"

#include <assert.h>

#include "base/time.h"
#include "launch/rank/rank_pmi_internal.h"

/* A second more than the tree waits (endpoint_config.stall_ns): the meeting point, if there is one, knows more. */
#define STALL_NS     (6 * NS_PER_S)
#define STALL_NS_MAX (384 * NS_PER_S)

static void tell(const struct rank_pmi *rank_pmi, enum job_stalled_kind kind)
{
    rank_pmi->events.stalled(rank_pmi->events.context, &rank_pmi->stall.key,
                             &rank_pmi->config.job->places, NULL, (uint8_t)kind);
}

static void stall_due(void *context)
{
    struct rank_pmi *rank_pmi = context;

    assert(rank_pmi->stall.is_waiting);
    rank_pmi->stall.is_told = 1;
    if (rank_pmi->stall.wait_ns < STALL_NS_MAX)
        rank_pmi->stall.wait_ns *= 2;
    loop_timer_set(rank_pmi->stall.timer, loop_now_ns() + rank_pmi->stall.wait_ns);
    tell(rank_pmi, JOB_STALLED_LOCAL);
}

static void stall_begin(struct rank_pmi *rank_pmi)
{
    if (rank_pmi->stall.timer == NULL)
        rank_pmi->stall.timer = loop_timer_create(rank_pmi->config.loop, stall_due, rank_pmi);
    rank_pmi->stall.key = rank_pmi_barrier_next(rank_pmi);
    rank_pmi->stall.wait_ns = STALL_NS;
    rank_pmi->stall.is_waiting = 1;
    loop_timer_set(rank_pmi->stall.timer, loop_now_ns() + STALL_NS);
}

static void stall_end(struct rank_pmi *rank_pmi)
{
    int is_told = rank_pmi->stall.is_told;

    loop_timer_cancel(rank_pmi->stall.timer);
    rank_pmi->stall.is_waiting = rank_pmi->stall.is_told = 0;
    if (is_told)
        tell(rank_pmi, JOB_STALLED_LOCAL_OVER);
}

void rank_pmi_stall_check(struct rank_pmi *rank_pmi)
{
    int is_waiting = rank_pmi->socket != NULL && pmi_socket_is_waiting(rank_pmi->socket);

    if (rank_pmi->stall.is_waiting &&
        (!is_waiting ||
         rank_pmi->stall.key.generation != rank_pmi_barrier_next(rank_pmi).generation))
        stall_end(rank_pmi);
    if (is_waiting && !rank_pmi->stall.is_waiting)
        stall_begin(rank_pmi);
    rank_pmi_stall_group_check(rank_pmi);
}

void rank_pmi_stall_close(struct rank_pmi *rank_pmi)
{
    if (rank_pmi->stall.timer != NULL)
        loop_timer_destroy(rank_pmi->stall.timer);
}

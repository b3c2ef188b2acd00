/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queries of processes (pmix/pmi_query.h): of jobs the root is asked, of processes the nodes that run them, at most
 * ASKED_MAX at a time.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "launch/rank/rank_pmi_internal.h"
#include "pmix/pmi_query.h"

#define ASKED_MAX 64u

/* A query that is being asked of nodes. */
struct inquiry {
    const struct speaker *speaker;
    uint64_t id;
    struct buffer question;
    struct ranges places; /* to ask yet */
    uint32_t asked;       /* without an answer so far */
    struct buffer answer;
    int status; /* of the last node that gave none */
};

static void inquiry_ask(struct inquiry *inquiry);

static void inquiry_end(struct inquiry *inquiry)
{
    int status = inquiry->answer.length_bytes > 0 ? 0 : inquiry->status;

    assert(inquiry->asked == 0);
    if (status != -ECANCELED)
        rank_pmi_answer(inquiry->speaker, inquiry->id, status, inquiry->answer.data,
                        inquiry->answer.length_bytes);
    buffer_fini(&inquiry->question);
    buffer_fini(&inquiry->answer);
    ranges_fini(&inquiry->places);
    free(inquiry);
}

/* A node that is lost no longer has processes. */
static void node_answered(struct rank_pmi *rank_pmi, void *context, int status, const void *data,
                          size_t data_bytes)
{
    struct inquiry *inquiry = context;

    (void)rank_pmi;
    assert(inquiry->asked > 0);
    inquiry->asked--;
    if (status == 0)
        buffer_append(&inquiry->answer, data, data_bytes);
    else
        inquiry->status = status;
    if (status == -ECANCELED) { /* the job is closed here: no more is asked */
        ranges_clear(&inquiry->places);
        buffer_clear(&inquiry->answer);
    }
    inquiry_ask(inquiry);
}

static void ask_own(struct inquiry *inquiry)
{
    const struct rank_pmi *rank_pmi = inquiry->speaker->rank_pmi;
    int rc = rank_pmi->events.query(rank_pmi->events.context, inquiry->question.data,
                                    inquiry->question.length_bytes, &inquiry->answer);

    if (rc < 0)
        inquiry->status = rc;
}

static void inquiry_ask(struct inquiry *inquiry)
{
    struct rank_pmi *rank_pmi = inquiry->speaker->rank_pmi;
    uint32_t place;

    while (inquiry->asked < ASKED_MAX && ranges_next(&inquiry->places, 0, &place)) {
        ranges_remove(&inquiry->places, place, place);
        if (place == rank_pmi->config.place) {
            ask_own(inquiry);
            continue;
        }
        inquiry->asked++;
        rank_pmi_ask(rank_pmi, place,
                     job_request_message(JOB_MESSAGE_QUERY, inquiry->question.data,
                                         inquiry->question.length_bytes),
                     node_answered, inquiry);
    }
    if (inquiry->asked == 0)
        inquiry_end(inquiry);
}

/* The nodes to ask, of those that the caller has named.  Of the own job it is known where a rank is. */
static void inquiry_places(const struct rank_pmi *rank_pmi, const struct pmi_query *query,
                           struct ranges *ret_places)
{
    const struct job_local *job = rank_pmi->config.job;
    uint32_t node, index;

    if (query->kind != PMI_QUERY_PROCESSES) { /* only the root knows */
        ranges_add(ret_places, 0, 0);
    } else if (query->is_local) {
        ranges_add(ret_places, rank_pmi->config.place, rank_pmi->config.place);
    } else if (query->job == job->number && query->rank < job->map.processes) {
        placement_map_find(&job->map, query->rank, &node, &index);
        ranges_add(ret_places, node + 1, node + 1);
    } else {
        ranges_copy(ret_places, &query->places);
        ranges_clip(ret_places, 1, allocation_nodes(rank_pmi->config.allocation));
    }
}

void rank_pmi_query(struct speaker *speaker, const struct pmi_request *request)
{
    struct inquiry *inquiry;
    struct pmi_query query;
    int rc = pmi_query_decode(&query, request->data, request->data_bytes);

    if (rc < 0) {
        rank_pmi_answer(speaker, request->id, rc, NULL, 0);
        return;
    }
    inquiry = memory_allocate_zeroed(sizeof(*inquiry));
    inquiry->speaker = speaker;
    inquiry->id = request->id;
    inquiry->status = -ENOENT;
    inquiry_places(speaker->rank_pmi, &query, &inquiry->places);
    ranges_clear(&query.places); /* the nodes need not know of each other */
    pmi_query_encode(&query, &inquiry->question);
    pmi_query_fini(&query);
    inquiry_ask(inquiry);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Abort.  Of a whole job it is the job's end.  Of some ranks: the nodes of these are requested to end
 * them, by SIGTERM and after the grace SIGKILL, and reply when they have ended; then the caller is answered.  What
 * their end means for the job is a matter of its policy, as with every rank that fails.
 *
 * Cost: O(ranks named) on each of their nodes.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/time.h"
#include "launch/rank/rank_pmi_internal.h"

/* SIGKILL is repeated, since a rank may have been about to start; then the caller is not kept any longer. */
#define REPEAT_NS (NS_PER_S)
#define KILLS_MAX 10u

/* A call that waits for other nodes. */
struct caller {
    const struct speaker *speaker;
    uint64_t id;
    uint32_t waiting; /* nodes that have not replied */
    int status;
};

/* A request to end local ranks. */
struct ending {
    struct list_link node;
    struct rank_pmi *rank_pmi;
    struct loop_timer *timer;
    uint32_t source;
    uint32_t id;
    struct ranges ranks; /* local ones that have not ended */
    uint32_t kills;
};

/* ---- The caller's node ---- */

/* -ENOENT: one is not a rank of this job. */
static int find_ranks(const struct rank_pmi *rank_pmi, const struct pmi_process *targets,
                      size_t targets_count, struct ranges *ret_ranks)
{
    const struct job_local *job = rank_pmi->config.job;

    for (size_t i = 0; i < targets_count; i++) {
        if (targets[i].job != job->number ||
            (targets[i].rank != PMI_RANK_ALL && targets[i].rank >= job->map.processes))
            return -ENOENT;
        if (targets[i].rank == PMI_RANK_ALL)
            ranges_add(ret_ranks, 0, job->map.processes - 1);
        else
            ranges_add(ret_ranks, targets[i].rank, targets[i].rank);
    }
    return 0;
}

static void find_places(const struct rank_pmi *rank_pmi, const struct ranges *ranks,
                        struct ranges *ret_places)
{
    uint32_t rank = 0, node, local_index;

    for (; ranges_next(ranks, rank, &rank); rank++) {
        placement_map_find(&rank_pmi->config.job->map, rank, &node, &local_index);
        ranges_add(ret_places, node + 1, node + 1);
    }
}

/* A node that is lost has no rank left that could be ended. */
static void node_answered(struct rank_pmi *rank_pmi, void *context, int status, const void *data,
                          size_t data_bytes)
{
    struct caller *caller = context;

    (void)rank_pmi;
    (void)data;
    (void)data_bytes;
    assert(caller->waiting > 0);
    if (status < 0 && status != -EHOSTDOWN)
        caller->status = status;
    if (--caller->waiting > 0)
        return;
    if (caller->status != -ECANCELED)
        rank_pmi_answer(caller->speaker, caller->id, caller->status, NULL, 0);
    free(caller);
}

static void ask_nodes(const struct speaker *speaker, uint64_t id, int status,
                      const struct ranges *ranks)
{
    struct rank_pmi *rank_pmi = speaker->rank_pmi;
    struct job_abort_request request = {
        .number = rank_pmi->config.job->number, .status = status, .ranks = *ranks /* borrowed */};
    struct caller *caller = memory_allocate_zeroed(sizeof(*caller));
    struct ranges places = {0};
    struct buffer message = {0};
    uint32_t place = 0;

    find_places(rank_pmi, ranks, &places);
    caller->speaker = speaker;
    caller->id = id;
    caller->waiting = (uint32_t)ranges_count(&places);
    for (; ranges_next(&places, place, &place); place++) {
        job_abort_request_encode(&request, &message);
        rank_pmi_ask(rank_pmi, place, message_from_buffer(&message), node_answered, caller);
        buffer_clear(&message);
    }
    buffer_fini(&message);
    ranges_fini(&places);
}

void rank_pmi_abort(struct speaker *speaker, uint64_t id, const struct pmi_process *caller,
                    int status, const char *message, const struct pmi_process *targets,
                    size_t targets_count)
{
    struct rank_pmi *rank_pmi = speaker->rank_pmi;
    int64_t index = rank_pmi_local_index(rank_pmi, caller->rank);
    const char *node = rank_pmi->config.node_name;
    struct ranges ranks = {0};
    struct buffer text = {0};
    int rc = find_ranks(rank_pmi, targets, targets_count, &ranks);

    if (rc < 0) {
        rank_pmi_say(
            rank_pmi,
            "rank %u on %s called abort for ranks that its job does not have; none is ended",
            caller->rank, node);
        rank_pmi_answer(speaker, id, rc, NULL, 0);
    } else if (targets_count == 0 || ranges_count(&ranks) == rank_pmi->config.job->map.processes) {
        if (index >= 0)
            rank_pmi->events.aborted(rank_pmi->events.context, (uint32_t)index, status, message);
    } else {
        ranges_print(&ranks, &text);
        rank_pmi_say(rank_pmi, "rank %u on %s called abort with status %d for rank%s %s%s%s",
                     caller->rank, node, status, ranges_count(&ranks) == 1 ? "" : "s",
                     buffer_string(&text), message[0] != '\0' ? ": " : "", message);
        ask_nodes(speaker, id, status, &ranks);
        buffer_fini(&text);
    }
    ranges_fini(&ranks);
}

/* ---- The node of ranks that are to end ---- */

static void ending_free(struct ending *ending)
{
    list_remove(&ending->node);
    loop_timer_destroy(ending->timer);
    ranges_fini(&ending->ranks);
    free(ending);
}

static void send_signal(const struct ending *ending, int number)
{
    struct rank_pmi *rank_pmi = ending->rank_pmi;
    uint32_t rank = 0;

    for (; ranges_next(&ending->ranks, rank, &rank); rank++)
        rank_pmi->events.signal(rank_pmi->events.context,
                                (uint32_t)rank_pmi_local_index(rank_pmi, rank), number);
}

static void on_grace_over(void *context)
{
    struct ending *ending = context;
    struct rank_pmi *rank_pmi = ending->rank_pmi;

    if (ending->kills++ == KILLS_MAX) {
        rank_pmi_reply_to(rank_pmi, ending->source, ending->id, -ETIMEDOUT, NULL, 0);
        ending_free(ending);
        return;
    }
    send_signal(ending, SIGKILL);
    loop_timer_set(ending->timer, loop_now_ns() + REPEAT_NS);
}

static bool is_known(const struct rank_pmi *rank_pmi, uint32_t source, uint32_t id)
{
    struct list_link *node, *spare;

    list_for_each(&rank_pmi->endings, node, spare)
    {
        const struct ending *ending = list_entry(node, struct ending, node);

        if (ending->source == source && ending->id == id)
            return true;
    }
    return false;
}

static struct ending *ending_create(struct rank_pmi *rank_pmi, uint32_t source, uint32_t id,
                                    const struct job_abort_request *request)
{
    struct ending *ending = memory_allocate_zeroed(sizeof(*ending));

    ending->rank_pmi = rank_pmi;
    ending->source = source;
    ending->id = id;
    list_append(&rank_pmi->endings, &ending->node);
    for (uint32_t i = 0; i < rank_pmi->config.job->count; i++) {
        struct client *client = &rank_pmi->clients[i];
        uint32_t rank = rank_pmi->ranks[i];

        if (client->has_ended || !ranges_contains(&request->ranks, rank))
            continue;
        client->is_aborted = 1;
        client->abort_status = request->status;
        ranges_add(&ending->ranks, rank, rank);
    }
    return ending;
}

/* The request may come again when a relay has died. */
void rank_pmi_abort_request(struct rank_pmi *rank_pmi, uint32_t source, uint32_t id,
                            struct wire_reader *reader)
{
    struct job_abort_request request;
    struct ending *ending;

    if (is_known(rank_pmi, source, id))
        return;
    if (job_abort_request_decode(&request, reader) < 0) {
        rank_pmi_reply_to(rank_pmi, source, id, -EBADMSG, NULL, 0);
        return;
    }
    ending = ending_create(rank_pmi, source, id, &request);
    ranges_fini(&request.ranks);
    if (ranges_is_empty(&ending->ranks)) {
        rank_pmi_reply_to(rank_pmi, source, id, 0, NULL, 0);
        ending_free(ending);
        return;
    }
    ending->timer = loop_timer_create(rank_pmi->config.loop, on_grace_over, ending);
    loop_timer_set(ending->timer,
                   loop_now_ns() + (uint64_t)rank_pmi->config.kill_grace_ms * NS_PER_MS);
    send_signal(ending, SIGTERM);
    send_signal(ending, SIGCONT);
}

void rank_pmi_abort_ended(struct rank_pmi *rank_pmi, uint32_t index)
{
    uint32_t rank = rank_pmi->ranks[index];
    struct list_link *node, *spare;

    rank_pmi->clients[index].has_ended = 1;
    list_for_each(&rank_pmi->endings, node, spare)
    {
        struct ending *ending = list_entry(node, struct ending, node);

        ranges_remove(&ending->ranks, rank, rank);
        if (!ranges_is_empty(&ending->ranks))
            continue;
        rank_pmi_reply_to(rank_pmi, ending->source, ending->id, 0, NULL, 0);
        ending_free(ending);
    }
}

void rank_pmi_abort_open(struct rank_pmi *rank_pmi)
{
    list_init(&rank_pmi->endings);
}

void rank_pmi_abort_close(struct rank_pmi *rank_pmi)
{
    struct list_link *node;

    while ((node = list_first(&rank_pmi->endings)) != NULL)
        ending_free(list_entry(node, struct ending, node));
}

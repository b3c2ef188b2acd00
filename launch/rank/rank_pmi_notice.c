/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events across nodes.  Those of local processes (PMI_REQUEST_NOTIFY), and in a job that goes on after
 * failures those for local ranks that have ended, go to the root, one message at a time and in order; the root
 * (launch/core/daemon_core_notice.c) brings it to the nodes of those who are meant.  What comes from there is handed to
 * the PMIx server, once for each job.  It is kept until the first process of the job has connected: from then on libpmix
 * keeps events for processes that register late (before, 4.2.2 gives them out with a wrong source).
 *
 * Cost: ranks that end while a message is under way share the next; at most KEPT_MAX messages are kept.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/time.h"
#include "launch/rank/rank_pmi_internal.h"
#include "pmix/pmi_notice.h"

#define KEPT_MAX 64u
/* The root has too many broadcasts under way. */
#define AGAIN_NS (100 * NS_PER_MS)

/* On its way to the root. */
struct outgoing {
    struct list_link node;
    const struct speaker *speaker; /* NULL: ours */
    uint64_t id;
    struct buffer message;        /* a client's, or ours that is complete; else empty */
    struct pmi_notice notice;     /* of which one of ours is made when it is sent */
    struct pmi_process *affected; /* of that */
};

/* Waits for the first client. */
struct kept {
    struct list_link node;
    struct buffer data;
};

static void outgoing_free(struct outgoing *outgoing)
{
    list_remove(&outgoing->node);
    buffer_fini(&outgoing->message);
    free(outgoing->affected);
    free(outgoing);
}

static void kept_free(struct rank_pmi *rank_pmi, struct kept *kept)
{
    assert(rank_pmi->notices.kept_count > 0);
    rank_pmi->notices.kept_count--;
    list_remove(&kept->node);
    buffer_fini(&kept->data);
    free(kept);
}

/* ---- To others ---- */

/* A client's event has been given to the processes here by their server. */
static void encode(const struct rank_pmi *rank_pmi, struct pmi_notice *notice, bool told,
                   struct buffer *out)
{
    struct job_notice message = {.number = rank_pmi->config.job->number,
                                 .told = told ? rank_pmi->config.place : 0,
                                 .targets_count = (uint32_t)notice->targets_count};
    struct buffer data = {0};

    message.targets = memory_allocate(notice->targets_count * sizeof(message.targets[0]));
    for (uint32_t i = 0; i < message.targets_count; i++)
        message.targets[i] =
            (struct job_target){.number = notice->targets[i].job, .rank = notice->targets[i].rank};
    notice->targets_count = 0;
    pmi_notice_encode(notice, &data);
    message.data = data.data;
    message.data_bytes = data.length_bytes;
    job_notice_encode(&message, out);
    job_notice_fini(&message);
    buffer_fini(&data);
}

static void encode_own(const struct rank_pmi *rank_pmi, const struct outgoing *outgoing,
                       struct buffer *out)
{
    struct pmi_process everyone = {.job = rank_pmi->config.job->number, .rank = PMI_RANK_ALL};
    struct pmi_notice notice = outgoing->notice;

    notice.affected = outgoing->affected;
    notice.targets = &everyone;
    notice.targets_count = 1;
    encode(rank_pmi, &notice, false, out);
}

static void send_next(struct rank_pmi *rank_pmi);

static void on_again(void *context)
{
    send_next(context);
}

static void try_again(struct rank_pmi *rank_pmi)
{
    struct rank_pmi_notices *notices = &rank_pmi->notices;

    if (notices->again == NULL)
        notices->again = loop_timer_create(rank_pmi->config.loop, on_again, rank_pmi);
    loop_timer_set(notices->again, loop_now_ns() + AGAIN_NS);
}

static void on_sent(struct rank_pmi *rank_pmi, void *context, int status, const void *data,
                    size_t data_bytes)
{
    struct outgoing *outgoing = context;
    const struct speaker *speaker = outgoing->speaker;
    uint64_t id = outgoing->id;

    assert(rank_pmi->notices.is_sending);
    (void)data;
    (void)data_bytes;
    if (status == -ECANCELED)
        return; /* rank_pmi_notice_close frees it */
    rank_pmi->notices.is_sending = false;
    if (status == -EAGAIN) {
        try_again(rank_pmi);
        return;
    }
    outgoing_free(outgoing);
    send_next(rank_pmi);
    if (speaker != NULL)
        rank_pmi_answer(speaker, id, status, NULL, 0);
}

static void send_next(struct rank_pmi *rank_pmi)
{
    struct list_link *node = list_first(&rank_pmi->notices.outgoing);
    struct outgoing *outgoing;
    struct buffer message = {0};

    if (node == NULL || rank_pmi->notices.is_sending)
        return;
    outgoing = list_entry(node, struct outgoing, node);
    rank_pmi->notices.is_sending = true;
    if (outgoing->message.length_bytes == 0)
        encode_own(rank_pmi, outgoing, &message);
    else
        buffer_append(&message, outgoing->message.data, outgoing->message.length_bytes);
    rank_pmi_ask(rank_pmi, 0, message_from_buffer(&message), on_sent, outgoing);
    buffer_fini(&message);
}

static struct outgoing *outgoing_add(struct rank_pmi *rank_pmi)
{
    struct outgoing *outgoing = memory_allocate_zeroed(sizeof(*outgoing));

    list_append(&rank_pmi->notices.outgoing, &outgoing->node);
    return outgoing;
}

/* All processes of this job have stopped: for the user, and for who has spawned it, whom the root knows. */
static void tell_stop(struct rank_pmi *rank_pmi, enum pmi_stop stop)
{
    const struct job_spec *spec = &rank_pmi->config.job->spec;
    struct job_notice message = {.number = rank_pmi->config.job->number,
                                 .child = rank_pmi->config.job->number,
                                 .stop = stop};
    struct outgoing *outgoing;

    assert(stop == PMI_STOP_INIT || stop == PMI_STOP_APP);
    rank_pmi_say(
        rank_pmi,
        "all %u processes of job %u wait for a debugger%s, until it raises PMIX_DEBUGGER_RELEASE",
        rank_pmi->config.job->map.processes, message.number,
        stop == PMI_STOP_INIT ? " in PMIx_Init" : "");
    if (spec->parent == 0)
        return;
    outgoing = outgoing_add(rank_pmi);
    job_notice_encode(&message, &outgoing->message);
    send_next(rank_pmi);
}

/* A process that is not on this node may be meant. */
static bool concerns_others(const struct rank_pmi *rank_pmi, const struct pmi_notice *notice)
{
    const struct job_local *job = rank_pmi->config.job;

    for (size_t i = 0; i < notice->targets_count; i++) {
        const struct pmi_process *target = &notice->targets[i];

        if (target->job != job->number ||
            (target->rank == PMI_RANK_ALL ? job->nodes > 1
                                          : rank_pmi_local_index(rank_pmi, target->rank) < 0))
            return true;
    }
    return notice->targets_count == 0;
}

void rank_pmi_notify(struct speaker *speaker, const struct pmi_request *request)
{
    struct rank_pmi *rank_pmi = speaker->rank_pmi;
    struct outgoing *outgoing;
    struct pmi_notice notice;
    int rc = pmi_notice_decode(&notice, request->data, request->data_bytes);

    if (rc == 0 && notice.event == PMI_EVENT_STOPPED) {
        tell_stop(rank_pmi, rank_pmi->config.job->spec.stop);
        rank_pmi_answer(speaker, request->id, 0, NULL, 0);
    } else if (rc == 0 && notice.event == PMI_EVENT_CLIENT && concerns_others(rank_pmi, &notice)) {
        outgoing = outgoing_add(rank_pmi);
        outgoing->speaker = speaker;
        outgoing->id = request->id;
        encode(rank_pmi, &notice, true, &outgoing->message);
        send_next(rank_pmi);
    } else {
        rank_pmi_answer(speaker, request->id, rc, NULL, 0);
    }
    if (rc == 0)
        pmi_notice_fini(&notice);
}

/* ---- How ranks end ---- */

/* One like the last, which has not been sent yet, is sent with it. */
static struct outgoing *own_like(struct rank_pmi *rank_pmi, enum pmi_event event, int32_t code)
{
    struct rank_pmi_notices *notices = &rank_pmi->notices;
    struct list_link *node = list_last(&notices->outgoing);
    struct outgoing *last = node != NULL ? list_entry(node, struct outgoing, node) : NULL;

    if (last == NULL || last->message.length_bytes > 0 || last->notice.event != event ||
        last->notice.code != code || last->notice.affected_count >= PMI_NOTICE_PROCESSES_MAX ||
        (notices->is_sending && node == list_first(&notices->outgoing)))
        return NULL;
    return last;
}

static void tell_end(struct rank_pmi *rank_pmi, enum pmi_event event, int32_t code, uint32_t rank)
{
    struct outgoing *outgoing = own_like(rank_pmi, event, code);
    struct pmi_notice *notice;

    if (outgoing == NULL)
        outgoing = outgoing_add(rank_pmi);
    notice = &outgoing->notice;
    notice->event = event;
    notice->code = code;
    notice->source =
        (struct pmi_process){.job = PMI_JOB_NONE, .rank = 0 /* as if the root had noticed */};
    outgoing->affected = memory_resize(outgoing->affected, (notice->affected_count + 1) *
                                                               sizeof(outgoing->affected[0]));
    outgoing->affected[notice->affected_count++] =
        (struct pmi_process){.job = rank_pmi->config.job->number, .rank = rank};
    send_next(rank_pmi);
}

void rank_pmi_notice_end(struct rank_pmi *rank_pmi, uint32_t index, int wait_status,
                         bool is_unsynced)
{
    const struct job_local *job = rank_pmi->config.job;
    uint32_t rank = rank_pmi->ranks[index];

    if (job->spec.on_failure != JOB_ON_FAILURE_CONTINUE || !(job->spec.mpi & JOB_MPI_PMIX))
        return;
    if (rank_pmi->clients[index].is_aborted)
        tell_end(rank_pmi, PMI_EVENT_ABORTED, rank_pmi->clients[index].abort_status, rank);
    else if (WIFSIGNALED(wait_status))
        tell_end(rank_pmi, PMI_EVENT_SIGNALLED, WTERMSIG(wait_status), rank);
    else if (WEXITSTATUS(wait_status) != 0)
        tell_end(rank_pmi, PMI_EVENT_EXITED, WEXITSTATUS(wait_status), rank);
    else if (is_unsynced)
        tell_end(rank_pmi, PMI_EVENT_UNSYNCED, 0, rank);
}

/* ---- From others ---- */

/* The targets among the processes of this job; all of it if everyone is meant. */
static struct pmi_process *own_targets(const struct rank_pmi *rank_pmi,
                                       const struct job_notice *message, size_t *ret_count)
{
    uint32_t number = rank_pmi->config.job->number;
    struct pmi_process *own = memory_allocate((message->targets_count + 1) * sizeof(*own));
    size_t count = 0;

    if (message->targets_count == 0)
        own[count++] = (struct pmi_process){.job = number, .rank = PMI_RANK_ALL};
    for (uint32_t i = 0; i < message->targets_count; i++) {
        const struct job_target *target = &message->targets[i];

        if (target->number == number &&
            (target->rank == JOB_RANK_ALL || rank_pmi_local_index(rank_pmi, target->rank) >= 0))
            own[count++] = (struct pmi_process){.job = number, .rank = target->rank};
    }
    *ret_count = count;
    return own;
}

/* All of a list of processes of this job, wherever they are; NULL if some are of another. */
static struct pmi_process *all_targets(const struct rank_pmi *rank_pmi,
                                       const struct job_notice *message)
{
    struct pmi_process *all = memory_allocate((message->targets_count + 1) * sizeof(*all));

    for (uint32_t i = 0; i < message->targets_count; i++) {
        all[i] = (struct pmi_process){.job = message->targets[i].number,
                                      .rank = message->targets[i].rank};
        if (all[i].job == rank_pmi->config.job->number)
            continue;
        free(all);
        return NULL;
    }
    return all;
}

static void hand_over(struct rank_pmi *rank_pmi, const struct buffer *data)
{
    const struct speaker *speaker = &rank_pmi->speakers[SPEAKER_PMIX];
    struct pmi_process everyone = {.job = rank_pmi->config.job->number, .rank = PMI_RANK_ALL};

    speaker->events->notice(speaker->handle, PMI_NOTICE_EVENT, &everyone, data->data,
                            data->length_bytes);
}

/* The oldest is dropped, as libpmix does when it has kept too many. */
static void keep(struct rank_pmi *rank_pmi, struct buffer *data)
{
    struct rank_pmi_notices *notices = &rank_pmi->notices;
    struct kept *kept = memory_allocate_zeroed(sizeof(*kept));

    if (notices->kept_count == KEPT_MAX)
        kept_free(rank_pmi, list_entry(list_first(&notices->kept), struct kept, node));
    buffer_swap(&kept->data, data);
    list_append(&notices->kept, &kept->node);
    notices->kept_count++;
}

static void give(struct rank_pmi *rank_pmi, const struct pmi_notice *notice)
{
    struct buffer data = {0};

    pmi_notice_encode(notice, &data);
    if (rank_pmi->notices.is_open)
        hand_over(rank_pmi, &data);
    else
        keep(rank_pmi, &data);
    buffer_fini(&data);
}

static bool is_served(const struct rank_pmi *rank_pmi)
{
    return rank_pmi->pmix.door != NULL && rank_pmi->pmix.state != SERVER_LOST;
}

/* To a tool on this node, whose namespace is the data. */
static void give_tool(struct rank_pmi *rank_pmi, const struct job_notice *message,
                      struct pmi_notice *notice)
{
    struct pmi_process tool = {.job = PMI_JOB_NONE};
    char *namespace;

    if (message->number != rank_pmi->config.job->number || message->targets_count != 1 ||
        message->data_bytes >= PMI_NAMESPACE_BYTES)
        return;
    namespace = memory_printf("%.*s", (int)message->data_bytes, (const char *)message->data);
    tool.rank = message->targets[0].rank;
    notice->text = namespace;
    notice->targets = &tool;
    notice->targets_count = 1;
    give(rank_pmi, notice);
    free(namespace);
}

/* To the process that has spawned the job. */
static void give_child(struct rank_pmi *rank_pmi, const struct job_notice *message)
{
    struct pmi_process all = {.job = message->child, .rank = PMI_RANK_ALL}, *targets;
    struct pmi_notice notice = {
        .event = message->stop != PMI_STOP_NONE ? PMI_EVENT_STOPPED : PMI_EVENT_JOB_ENDED,
        .code = (int32_t)(message->stop != PMI_STOP_NONE ? message->stop : message->status),
        .affected = &all,
        .affected_count = 1};

    if (message->data_bytes > 0) {
        give_tool(rank_pmi, message, &notice);
        return;
    }
    notice.targets = targets = own_targets(rank_pmi, message, &notice.targets_count);
    if (notice.targets_count > 0)
        give(rank_pmi, &notice);
    free(targets);
}

void rank_pmi_notice(struct rank_pmi *rank_pmi, const struct job_notice *message)
{
    struct pmi_notice notice;

    if (!is_served(rank_pmi))
        return;
    if (message->child != 0) {
        give_child(rank_pmi, message);
        return;
    }
    if (pmi_notice_decode(&notice, message->data, message->data_bytes) < 0)
        return;
    free((void *)(uintptr_t)notice.targets);
    notice.targets = own_targets(rank_pmi, message, &notice.targets_count);
    if (notice.event == PMI_EVENT_CLIENT) {
        free((void *)(uintptr_t)notice.affected);
        notice.affected = all_targets(rank_pmi, message);
        notice.affected_count = notice.affected != NULL ? message->targets_count : 0;
    }
    if (notice.targets_count > 0)
        give(rank_pmi, &notice);
    pmi_notice_fini(&notice);
}

/* Every node learns of a loss by itself. */
static void give_loss(struct rank_pmi *rank_pmi, uint32_t place)
{
    const struct job_local *job = rank_pmi->config.job;
    const struct placement_map *map = &job->map;
    struct pmi_process everyone = {.job = job->number, .rank = PMI_RANK_ALL};
    struct pmi_process *affected;
    struct pmi_notice notice = {.event = PMI_EVENT_NODE_LOST, .targets = &everyone};
    char name[HOST_NAME_BYTES_MAX + 1];

    assert(place > 0);
    notice.affected_count = placement_map_count(map, place - 1);
    affected = memory_allocate(notice.affected_count * sizeof(*affected));
    for (uint32_t i = 0; i < notice.affected_count; i++)
        affected[i] =
            (struct pmi_process){.job = job->number, .rank = placement_map_rank(map, place - 1, i)};
    hostlist_name(rank_pmi->config.allocation->names, place - 1, name);
    notice.text = name;
    notice.targets_count = 1;
    notice.affected = affected;
    give(rank_pmi, &notice);
    free(affected);
}

void rank_pmi_lost(struct rank_pmi *rank_pmi, const struct ranges *places)
{
    const struct job_local *job = rank_pmi->config.job;
    uint32_t place = 0;

    if (job->spec.on_failure != JOB_ON_FAILURE_CONTINUE || !is_served(rank_pmi))
        return;
    for (; ranges_next(&job->places, place, &place); place++) {
        if (ranges_contains(places, place))
            give_loss(rank_pmi, place);
    }
}

void rank_pmi_notice_connected(struct rank_pmi *rank_pmi)
{
    struct list_link *node;

    rank_pmi->notices.is_open = true;
    while ((node = list_first(&rank_pmi->notices.kept)) != NULL) {
        struct kept *kept = list_entry(node, struct kept, node);

        hand_over(rank_pmi, &kept->data);
        kept_free(rank_pmi, kept);
    }
}

void rank_pmi_notice_open(struct rank_pmi *rank_pmi)
{
    list_init(&rank_pmi->notices.outgoing);
    list_init(&rank_pmi->notices.kept);
}

void rank_pmi_notice_close(struct rank_pmi *rank_pmi)
{
    struct list_link *node;

    while ((node = list_first(&rank_pmi->notices.outgoing)) != NULL)
        outgoing_free(list_entry(node, struct outgoing, node));
    while ((node = list_first(&rank_pmi->notices.kept)) != NULL)
        kept_free(rank_pmi, list_entry(node, struct kept, node));
    loop_timer_destroy(rank_pmi->notices.again);
}

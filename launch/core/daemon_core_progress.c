/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far a job is (launch/proto/progress.h): a client at a terminal asks the root, now and then, until the job's
 * processes have initialised.  What daemons have joined the root knows; of processes the nodes of the job are asked
 * by a broadcast, and their counts are summed up the tree.
 *
 * Cost: nothing without clients that ask; one broadcast and one gather a question, and at a node a look at each local
 * process.  One question of a job is under way at a time.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/wire.h"
#include "launch/core/daemon_core_internal.h"
#include "launch/job/clients.h"
#include "launch/job/job.h"
#include "launch/proto/activity.h"
#include "launch/proto/job_wire.h"
#include "launch/proto/progress.h"

/* A job that was asked about, until it has ended. */
struct progress_poll {
    struct list_link node;
    uint32_t job;
    uint32_t generation; /* of the last question */
    uint32_t client;     /* that waits for its answer; 0: none does */
    uint32_t request;    /* the client's number of it */
    uint8_t is_under_way;
};

static struct operation_name key_of(uint32_t job, uint32_t generation)
{
    return (struct operation_name){.set_id = job_set_id(job, JOB_OPERATION_PROGRESS),
                                   .owner = job,
                                   .generation = generation,
                                   .kind = JOB_OPERATION_PROGRESS,
                                   .merge = JOB_MERGE_PROGRESS,
                                   .target = ENDPOINT_TARGET_ROOT};
}

/* ---- a node ---- */

static void count_here(struct daemon_core *core, uint32_t job, struct progress_count *ret_count)
{
    const struct job_local *part = instance_part(core->instance, job);

    for (uint32_t i = 0; part != NULL && i < part->count; i++) {
        struct activity_rank what = {.state = 0};

        if (instance_part_is_starting(core->instance, job, i))
            continue;
        core->ops->ranks->activity(core->context, job, i, &what);
        ret_count->started++;
        ret_count->connected += what.pmi != ACTIVITY_PMI_NONE;
    }
}

int daemon_core_progress_broadcast(struct daemon_core *core, const struct message *message)
{
    struct progress_count count = {0};
    struct buffer payload = {0};
    const struct job_local *part;
    struct operation_name key;
    struct wire_reader reader;
    uint32_t job, generation;

    if (message->length_bytes == 0 || message->data[0] != JOB_MESSAGE_PROGRESS)
        return 0;
    wire_reader_init(&reader, message->data + 1, message->length_bytes - 1);
    if (daemon_core_is_root(core) || progress_decode_order(&reader, &job, &generation) < 0)
        return 1;
    part = instance_part(core->instance, job);
    if (part == NULL || part->count == 0)
        return 1; /* it has ended here: so will the operation */
    count_here(core, job, &count);
    progress_encode_count(&count, &payload);
    key = key_of(job, generation);
    core->tree->contribute(core->tree_context, &key, &part->places, message_from_buffer(&payload));
    buffer_fini(&payload);
    return 1;
}

/* ---- the root ---- */

static struct progress_poll *poll_find(const struct daemon_core *core, uint32_t job)
{
    struct list_link *node, *spare;

    list_for_each(&core->root->polls, node, spare)
    {
        struct progress_poll *poll = list_entry(node, struct progress_poll, node);

        if (poll->job == job)
            return poll;
    }
    return NULL;
}

static struct progress_poll *poll_of(struct daemon_core *core, uint32_t job)
{
    struct progress_poll *poll = poll_find(core, job);

    if (poll != NULL)
        return poll;
    poll = memory_allocate_zeroed(sizeof(*poll));
    poll->job = job;
    list_append(&core->root->polls, &poll->node);
    return poll;
}

static void poll_free(struct progress_poll *poll)
{
    list_remove(&poll->node);
    free(poll);
}

static void count_nodes(struct daemon_core *core, struct progress *progress)
{
    struct ranges nodes = {0}, absent = {0};

    instance_nodes_all(core->instance, &nodes);
    progress->nodes = (uint32_t)ranges_count(&nodes);
    core->tree->missing(core->tree_context, &absent);
    instance_lost_places(core->instance, &absent);
    ranges_remove_all(&nodes, &absent);
    progress->nodes_up = (uint32_t)ranges_count(&nodes);
    ranges_fini(&nodes);
    ranges_fini(&absent);
}

static void send_answer(struct daemon_core *core, uint32_t client, uint32_t request, int status,
                        const struct buffer *data)
{
    struct control_answer message = {.request = request, .status = status};

    if (data != NULL)
        message.data = (struct wire_bytes){.data = data->data, .length_bytes = data->length_bytes};
    clients_answer(core->clients, client, &message);
}

static void answer(struct daemon_core *core, uint32_t client, uint32_t request, uint32_t job,
                   const struct progress_count *count)
{
    const struct placement_map *map = instance_job_map(core->instance, job);
    struct progress progress = {.phase = PROGRESS_PROCESSES};
    struct buffer data = {0};

    count_nodes(core, &progress);
    if (count == NULL) {
        progress.phase = instance_is_up(core->instance) ? PROGRESS_WAITS : PROGRESS_NODES;
    } else {
        progress.processes = map != NULL ? map->processes : 0;
        if (count->started <= progress.processes)
            progress.count = *count;
    }
    progress_encode(&progress, &data);
    send_answer(core, client, request, 0, &data);
    buffer_fini(&data);
}

/* The gather is of all nodes of the job: it fails if one is lost. */
static int ask_nodes(struct daemon_core *core, struct progress_poll *poll)
{
    struct ranges places = {0};
    int rc;

    if (poll->is_under_way)
        return -EAGAIN;
    instance_job_places(core->instance, poll->job, UINT32_MAX, &places);
    rc = core->tree->broadcast(core->tree_context, &places,
                               progress_order_message(poll->job, poll->generation + 1));
    ranges_fini(&places);
    if (rc < 0)
        return rc;
    poll->generation++;
    poll->is_under_way = 1;
    return 0;
}

void daemon_core_progress_client(struct daemon_core *core, uint32_t client, uint32_t request,
                                 struct wire_reader *reader)
{
    uint32_t job = progress_decode_request(reader);
    struct progress_poll *poll;
    int rc;

    assert(daemon_core_is_root(core));
    if (job == 0 || instance_job_spec(core->instance, job) == NULL) {
        send_answer(core, client, request, job == 0 ? -EBADMSG : -ENOENT, NULL);
        return;
    }
    if (!instance_job_is_running(core->instance, job)) {
        answer(core, client, request, job, NULL);
        return;
    }
    poll = poll_of(core, job);
    rc = ask_nodes(core, poll);
    if (rc < 0) {
        send_answer(core, client, request, rc, NULL);
        return;
    }
    poll->client = client;
    poll->request = request;
}

/* Nodes get results, too: of what they have contributed. */
void daemon_core_progress_result(struct daemon_core *core, const struct daemon_event *event)
{
    struct progress_poll *poll =
        daemon_core_is_root(core) ? poll_find(core, event->key->owner) : NULL;
    const struct message *message = event->message;
    struct progress_count count = {0};
    int rc = event->status;

    if (poll == NULL || event->key->generation != poll->generation || !poll->is_under_way)
        return;
    poll->is_under_way = 0;
    if (rc == 0)
        rc = progress_decode_count(&count, message != NULL ? message->data : NULL,
                                   message != NULL ? message->length_bytes : 0);
    if (poll->client != 0 && rc == 0)
        answer(core, poll->client, poll->request, poll->job, &count);
    else if (poll->client != 0)
        send_answer(core, poll->client, poll->request, rc, NULL);
    poll->client = 0;
}

void daemon_core_progress_forget(struct daemon_core *core, uint32_t job)
{
    struct progress_poll *poll = poll_find(core, job);

    if (poll == NULL)
        return;
    if (poll->client != 0)
        send_answer(core, poll->client, poll->request, -ENOENT, NULL);
    poll_free(poll);
}

void daemon_core_progress_gone(struct daemon_core *core, uint32_t client)
{
    struct list_link *node, *spare;

    list_for_each(&core->root->polls, node, spare)
    {
        struct progress_poll *poll = list_entry(node, struct progress_poll, node);

        if (poll->client == client)
            poll->client = 0;
    }
}

void daemon_core_progress_open(struct daemon_core *core)
{
    list_init(&core->root->polls);
}

void daemon_core_progress_close(struct daemon_core *core)
{
    struct list_link *node;

    while ((node = list_first(&core->root->polls)) != NULL)
        poll_free(list_entry(node, struct progress_poll, node));
}

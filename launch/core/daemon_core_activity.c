/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the ranks of a job are doing (launch/proto/activity.h).  A client asks the root, which asks the nodes of the job,
 * at most ASKED_MAX at a time, and answers when all have, or after ANSWER_MS with the names of those that have not: the
 * client is about to end the job, and those may be the reason.
 *
 * Cost: nothing without requests; a message and its answer for each node of the job.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/time.h"
#include "base/wire.h"
#include "launch/core/daemon_core_internal.h"
#include "launch/job/clients.h"
#include "launch/proto/activity.h"
#include "launch/proto/job_wire.h"

#define ASKED_MAX 64u
#define ANSWER_MS 2500u

struct activity_inquiry {
    struct list_link node;
    uint32_t client;
    uint32_t request; /* the client's number of it */
    uint32_t job;
    uint64_t due_ns;
    struct ranges places;   /* to ask yet */
    struct hash_map *asked; /* id of the request -> the place; of those that are not answered */
    struct activity activity;
};

static void answer(struct daemon_core *core, uint32_t client, uint32_t request, int status,
                   const struct buffer *data)
{
    struct control_answer message = {.request = request, .status = status};

    if (data->length_bytes > CONTROL_ANSWER_BYTES_MAX)
        message.status = -EMSGSIZE;
    if (message.status == 0)
        message.data = (struct wire_bytes){.data = data->data, .length_bytes = data->length_bytes};
    clients_answer(core->clients, client, &message);
}

/* ---- a node ---- */

int daemon_core_activity_request(struct daemon_core *core, const struct daemon_event *event,
                                 struct wire_reader *reader)
{
    uint32_t number = activity_decode_request(reader);
    const struct job_local *part = instance_part(core->instance, number);
    struct activity activity = {0};
    struct buffer data = {0};

    if (number == 0)
        return -EBADMSG;
    for (uint32_t i = 0; part != NULL && i < part->count; i++) {
        struct activity_rank what = {.state = 0};

        core->ops->ranks->activity(core->context, number, i, &what);
        activity_add(&activity, &what, instance_part_rank(core->instance, part, i), core->place);
    }
    activity_encode(&activity, &data);
    activity_fini(&activity);
    core->tree->reply(core->tree_context, event->place, event->id,
                      job_reply_message(0, data.data, data.length_bytes));
    buffer_fini(&data);
    return 0;
}

/* ---- the root ---- */

static void inquiry_free(struct activity_inquiry *inquiry)
{
    assert(list_is_linked(&inquiry->node) && inquiry->client > 0);
    list_remove(&inquiry->node);
    hash_map_destroy(inquiry->asked);
    ranges_fini(&inquiry->places);
    activity_fini(&inquiry->activity);
    free(inquiry);
}

static void inquiry_answer(struct daemon_core *core, struct activity_inquiry *inquiry)
{
    struct buffer data = {0};
    const void *name;
    size_t cursor = 0, name_bytes;
    void *place;

    while ((place = hash_map_next_entry(inquiry->asked, &cursor, &name, &name_bytes)) != NULL)
        ranges_add(&inquiry->activity.silent, (uint32_t)(uintptr_t)place,
                   (uint32_t)(uintptr_t)place);
    ranges_add_all(&inquiry->activity.silent, &inquiry->places);
    activity_encode(&inquiry->activity, &data);
    answer(core, inquiry->client, inquiry->request, 0, &data);
    buffer_fini(&data);
    inquiry_free(inquiry);
}

static void inquiry_go_on(struct daemon_core *core, struct activity_inquiry *inquiry)
{
    uint32_t place;

    assert(inquiry->job > 0 && hash_map_count(inquiry->asked) <= ASKED_MAX);
    while (hash_map_count(inquiry->asked) < ASKED_MAX && ranges_next(&inquiry->places, 0, &place)) {
        struct buffer question = {0};
        uint32_t id;

        activity_encode_request(inquiry->job, &question);
        id = core->tree->request(
            core->tree_context, place,
            job_request_message(JOB_MESSAGE_ACTIVITY, question.data, question.length_bytes));
        buffer_fini(&question);
        ranges_remove(&inquiry->places, place, place);
        (void)hash_map_put_u64(inquiry->asked, id, (void *)(uintptr_t)place);
    }
    if (hash_map_count(inquiry->asked) == 0)
        inquiry_answer(core, inquiry);
}

/* A node that is lost no longer has ranks. */
static void take_reply(struct activity_inquiry *inquiry, uint32_t place,
                       const struct daemon_event *event)
{
    const struct message *message = event->message;
    struct activity activity;
    struct wire_reader reader;
    int rc;

    assert(place > 0);
    wire_reader_init(&reader, message != NULL ? message->data : NULL,
                     message != NULL ? message->length_bytes : 0);
    rc = job_reply_decode(event->status, &reader);
    if (rc == -EHOSTDOWN)
        return;
    if (rc < 0 || activity_decode(&activity, &reader) < 0) {
        ranges_add(&inquiry->activity.silent, place, place);
        return;
    }
    activity_merge(&inquiry->activity, &activity);
    activity_fini(&activity);
}

int daemon_core_activity_reply(struct daemon_core *core, const struct daemon_event *event)
{
    struct list_link *node, *spare;

    list_for_each(&core->root->activities, node, spare)
    {
        struct activity_inquiry *inquiry = list_entry(node, struct activity_inquiry, node);
        void *place = hash_map_remove_u64(inquiry->asked, event->id);

        if (place == NULL)
            continue;
        take_reply(inquiry, (uint32_t)(uintptr_t)place, event);
        inquiry_go_on(core, inquiry);
        return 1;
    }
    return 0;
}

static void set_timer(struct daemon_core *core)
{
    uint64_t next_ns = UINT64_MAX;
    struct list_link *node, *spare;

    list_for_each(&core->root->activities, node, spare)
    {
        uint64_t due_ns = list_entry(node, struct activity_inquiry, node)->due_ns;

        if (due_ns < next_ns)
            next_ns = due_ns;
    }
    if (next_ns != UINT64_MAX)
        core->ops->timer(core->context, DAEMON_TIMER_ACTIVITY, 0, next_ns);
}

void daemon_core_activity_due(struct daemon_core *core)
{
    uint64_t now_ns = core->ops->now_ns(core->context);
    struct list_link *node, *spare;

    list_for_each(&core->root->activities, node, spare)
    {
        struct activity_inquiry *inquiry = list_entry(node, struct activity_inquiry, node);

        if (inquiry->due_ns <= now_ns)
            inquiry_answer(core, inquiry);
    }
    set_timer(core);
}

static struct activity_inquiry *inquiry_of(const struct daemon_core *core, uint32_t client)
{
    struct list_link *node, *spare;

    list_for_each(&core->root->activities, node, spare)
    {
        struct activity_inquiry *inquiry = list_entry(node, struct activity_inquiry, node);

        if (inquiry->client == client)
            return inquiry;
    }
    return NULL;
}

void daemon_core_activity_client(struct daemon_core *core, uint32_t client, uint32_t request,
                                 struct wire_reader *reader)
{
    uint32_t job = activity_decode_request(reader);
    struct activity_inquiry *inquiry;
    int rc = job == 0                                               ? -EBADMSG
             : instance_job_spec(core->instance, job) == NULL       ? -ENOENT
             : inquiry_of(core, client) != NULL /* one at a time */ ? -EAGAIN
                                                                    : 0;

    assert(daemon_core_is_root(core));
    if (rc < 0) {
        answer(core, client, request, rc, &(struct buffer){0});
        return;
    }
    inquiry = memory_allocate_zeroed(sizeof(*inquiry));
    inquiry->client = client;
    inquiry->request = request;
    inquiry->job = job;
    inquiry->due_ns = core->ops->now_ns(core->context) + ANSWER_MS * NS_PER_MS;
    inquiry->asked = hash_map_create();
    instance_job_places(core->instance, job, UINT32_MAX, &inquiry->places);
    list_append(&core->root->activities, &inquiry->node);
    set_timer(core);
    inquiry_go_on(core, inquiry);
}

/* Replies that still come are nobody's. */
void daemon_core_activity_gone(struct daemon_core *core, uint32_t client)
{
    struct activity_inquiry *inquiry = inquiry_of(core, client);

    if (inquiry != NULL)
        inquiry_free(inquiry);
}

void daemon_core_activity_open(struct daemon_core *core)
{
    list_init(&core->root->activities);
}

void daemon_core_activity_close(struct daemon_core *core)
{
    struct list_link *node;

    while ((node = list_first(&core->root->activities)) != NULL)
        inquiry_free(list_entry(node, struct activity_inquiry, node));
}

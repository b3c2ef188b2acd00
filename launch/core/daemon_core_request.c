/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What clients ask the root about jobs and their processes (JOB_MESSAGE_QUERY), and the answers to all that they request
 * (CONTROL_REQUEST).  Which processes run is known on their nodes only, so these are asked, at most ASKED_MAX at a time.
 *
 * Cost: nothing without requests; a message and its answer for each node that is asked about, and an answer of
 * CONTROL_ANSWER_BYTES_MAX for each client that has asked about processes.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/wire.h"
#include "launch/core/daemon_core_internal.h"
#include "launch/job/clients.h"
#include "launch/proto/job_wire.h"

#define ASKED_MAX 64u

/* A question about processes that is being asked of nodes. */
struct inquiry {
    struct list_link node;
    uint32_t client;
    uint32_t request; /* the client's number of it */
    struct buffer question;
    struct ranges places;   /* to ask yet */
    struct hash_map *asked; /* ids of the requests that are not answered */
    struct buffer answer;
    int status; /* of the last node that gave none */
};

void daemon_core_request_answer(struct daemon_core *core, uint32_t client, uint32_t request,
                                int status, const struct buffer *data)
{
    struct control_answer message = {.request = request, .status = status};

    if (status == 0 && data != NULL && data->length_bytes > CONTROL_ANSWER_BYTES_MAX)
        message.status = -EMSGSIZE;
    if (message.status == 0 && data != NULL)
        message.data = (struct wire_bytes){.data = data->data, .length_bytes = data->length_bytes};
    clients_answer(core->clients, client, &message);
}

static void inquiry_free(struct inquiry *inquiry)
{
    list_remove(&inquiry->node);
    hash_map_destroy(inquiry->asked);
    buffer_fini(&inquiry->question);
    buffer_fini(&inquiry->answer);
    ranges_fini(&inquiry->places);
    free(inquiry);
}

static void inquiry_go_on(struct daemon_core *core, struct inquiry *inquiry)
{
    uint32_t place;

    while (hash_map_count(inquiry->asked) < ASKED_MAX && ranges_next(&inquiry->places, 0, &place)) {
        struct message *question = job_request_message(JOB_MESSAGE_QUERY, inquiry->question.data,
                                                       inquiry->question.length_bytes);
        uint32_t id = core->tree->request(core->tree_context, place, question);

        ranges_remove(&inquiry->places, place, place);
        (void)hash_map_put_u64(inquiry->asked, id, inquiry);
    }
    if (hash_map_count(inquiry->asked) > 0)
        return;
    assert(ranges_is_empty(&inquiry->places));
    daemon_core_request_answer(core, inquiry->client, inquiry->request, inquiry->status,
                               &inquiry->answer);
    inquiry_free(inquiry);
}

/* A node that is lost no longer has processes. */
static void take_reply(struct inquiry *inquiry, const struct daemon_event *event)
{
    const struct message *message = event->message;
    struct wire_reader reader;
    int rc;

    wire_reader_init(&reader, message != NULL ? message->data : NULL,
                     message != NULL ? message->length_bytes : 0);
    rc = job_reply_decode(event->status, &reader);
    if (rc == 0 && inquiry->answer.length_bytes + wire_left(&reader) > CONTROL_ANSWER_BYTES_MAX)
        rc = -EMSGSIZE;
    if (rc == 0)
        buffer_append(&inquiry->answer, reader.position, wire_left(&reader));
    else if (rc != -EHOSTDOWN)
        inquiry->status = rc;
}

int daemon_core_request_reply(struct daemon_core *core, const struct daemon_event *event)
{
    struct list_link *node, *spare;

    list_for_each(&core->root->inquiries, node, spare)
    {
        struct inquiry *inquiry = list_entry(node, struct inquiry, node);

        if (hash_map_remove_u64(inquiry->asked, event->id) == NULL)
            continue;
        take_reply(inquiry, event);
        inquiry_go_on(core, inquiry);
        return 1;
    }
    return daemon_core_activity_reply(core, event);
}

static void ask_nodes(struct daemon_core *core, uint32_t client,
                      const struct control_request *request)
{
    struct inquiry *inquiry = memory_allocate_zeroed(sizeof(*inquiry));

    inquiry->client = client;
    inquiry->request = request->request;
    inquiry->asked = hash_map_create();
    ranges_copy(&inquiry->places, &request->places);
    ranges_clip(&inquiry->places, 1, allocation_nodes(instance_roster(core->instance)));
    buffer_append(&inquiry->question, request->data.data, request->data.length_bytes);
    list_append(&core->root->inquiries, &inquiry->node);
    inquiry_go_on(core, inquiry);
}

static void ask_root(struct daemon_core *core, uint32_t client,
                     const struct control_request *request)
{
    struct buffer facts = {0};
    int rc = core->ops->pmi->query(core->context, request->data.data, request->data.length_bytes,
                                   &facts);

    daemon_core_request_answer(core, client, request->request, rc, &facts);
    buffer_fini(&facts);
}

static struct inquiry *inquiry_of(const struct daemon_core *core, uint32_t client)
{
    struct list_link *node, *spare;

    list_for_each(&core->root->inquiries, node, spare)
    {
        struct inquiry *inquiry = list_entry(node, struct inquiry, node);

        if (inquiry->client == client)
            return inquiry;
    }
    return NULL;
}

void daemon_core_request_client(struct daemon_core *core, uint32_t client,
                                const struct control_request *request)
{
    assert(daemon_core_is_root(core));
    if (request->data.length_bytes > CONTROL_QUESTION_BYTES_MAX)
        daemon_core_request_answer(core, client, request->request, -EMSGSIZE, NULL);
    else if (ranges_is_empty(&request->places))
        ask_root(core, client, request);
    else if (inquiry_of(core, client) != NULL) /* one at a time */
        daemon_core_request_answer(core, client, request->request, -EAGAIN, NULL);
    else
        ask_nodes(core, client, request);
}

/* Replies that still come are nobody's. */
void daemon_core_request_gone(struct daemon_core *core, uint32_t client)
{
    struct inquiry *inquiry = inquiry_of(core, client);

    if (inquiry != NULL)
        inquiry_free(inquiry);
}

void daemon_core_request_open(struct daemon_core *core)
{
    list_init(&core->root->inquiries);
}

void daemon_core_request_close(struct daemon_core *core)
{
    struct list_link *node;

    while ((node = list_first(&core->root->inquiries)) != NULL)
        inquiry_free(list_entry(node, struct inquiry, node));
}

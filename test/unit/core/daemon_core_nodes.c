/* SPDX-License-Identifier: BSD-3-Clause */
/* A client drains, resumes and lists nodes (launch/core/daemon_core_nodes.c): the test plays the client of a root of four nodes. */
#include "config.h"

#include "launch/core/daemon_core_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "launch/proto/control.h"
#include "launch/proto/job_wire.h"
#include "launch/proto/node_list.h"
#include "test/support/lone_core.h"
#include "test/support/tap.h"

#define CLIENT 2u /* who asks */
#define OTHER  3u /* who comes later */

static struct buffer heard;
static uint64_t welcome_slots;

static void take_list(struct wire_reader *reader)
{
    struct node_list list;

    if (node_list_decode(&list, reader) < 0) {
        buffer_append_string(&heard, "no list");
        return;
    }
    buffer_append_string(&heard, list.why);
    if (list.why[0] == '\0' && list.groups_count == 0)
        buffer_append_string(&heard, "nothing");
    for (uint32_t i = 0; i < list.groups_count; i++)
        buffer_printf(&heard, "%s%u %s", i > 0 ? ", " : "", list.groups[i].nodes,
                      node_list_state_name((enum node_list_state)list.groups[i].state));
    node_list_fini(&list);
}

static void client_send(void *context, uint32_t client, uint8_t type, const void *data,
                        size_t bytes)
{
    struct control_welcome welcome;
    struct control_answer answer;
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    if (type == CONTROL_WELCOME && control_welcome_decode(&welcome, &reader) == 0) {
        welcome_slots = allocation_slots(&welcome.roster);
        allocation_fini(&welcome.roster);
    }
    if (type != CONTROL_ANSWER || control_answer_decode(&answer, &reader) < 0)
        return;
    if (answer.status < 0) {
        buffer_printf(&heard, "status %d", answer.status);
        return;
    }
    wire_reader_init(&reader, answer.data.data, answer.data.length_bytes);
    take_list(&reader);
}

static const struct daemon_client_ops client_ops = {.send = client_send,
                                                    .queued = lone_core_client_queued};
static void set_timer(void *context, enum daemon_timer timer, uint32_t job, uint64_t deadline_ns)
{
}

static void renew_credit(void *context)
{
}

static void pmi_lost(void *context, const struct ranges *places)
{
}

static const struct daemon_rank_ops rank_ops = {.renew_credit = renew_credit};
static const struct daemon_pmi_ops pmi_ops = {.lost = pmi_lost};
static const struct daemon_ops ops = {.now_ns = lone_core_now_ns,
                                      .timer = set_timer,
                                      .ranks = &rank_ops,
                                      .pmi = &pmi_ops,
                                      .clients = &client_ops};

static struct buffer left; /* which places were asked to leave */
static int shrink_status;

static int tree_broadcast(void *context, const struct ranges *places, struct message *message)
{
    message_release(message);
    return 0;
}

static int tree_shrink(void *context, const struct ranges *places)
{
    if (shrink_status == 0)
        ranges_print(places, &left);
    return shrink_status;
}

static bool tree_has_room(void *context)
{
    return true;
}

static const struct daemon_tree_ops tree_ops = {.broadcast = tree_broadcast,
                                                .shrink = tree_shrink,
                                                .has_room = tree_has_room};

static void asks_bytes(struct daemon_core *core, const struct buffer *data, const char *expected,
                       const char *what)
{
    struct control_request request = {.request = 1, .kind = JOB_MESSAGE_NODES};
    struct buffer payload = {0};

    request.data = (struct wire_bytes){data->data, data->length_bytes};
    control_request_encode(&request, &payload);
    buffer_clear(&heard);
    lone_core_say(core, CLIENT, CONTROL_REQUEST, &payload);
    is_string(buffer_string(&heard), expected, "%s", what);
    buffer_fini(&payload);
}

static void removes(struct daemon_core *core, enum node_list_when when, const char *names,
                    const char *expected, const char *what)
{
    struct node_list_request request = {
        .order = NODE_LIST_REMOVE, .when = (uint8_t)when, .names = (char *)(uintptr_t)names};
    struct buffer data = {0};

    buffer_clear(&left);
    node_list_request_encode(&request, &data);
    asks_bytes(core, &data, expected, what);
    buffer_fini(&data);
}

static void asks(struct daemon_core *core, enum node_list_order order, const char *names,
                 const char *expected, const char *what)
{
    struct node_list_request request = {.order = (uint8_t)order, .names = (char *)(uintptr_t)names};
    struct buffer data = {0};

    node_list_request_encode(&request, &data);
    asks_bytes(core, &data, expected, what);
    buffer_fini(&data);
}

static void test_orders(struct daemon_core *core)
{
    struct buffer invalid = {0};

    asks(core, NODE_LIST_SHOW, "", "4 up", "all nodes");
    asks(core, NODE_LIST_DRAIN, "n[2-3]", "2 drained", "two are drained");
    asks(core, NODE_LIST_SHOW, "", "1 up, 2 drained, 1 up", "as the list has it");
    lone_core_greet(core, OTHER, CONTROL_WANTS_ROSTER);
    is_uint(welcome_slots, 4, "who comes now has half of the slots");
    asks(core, NODE_LIST_DRAIN, "n4,n9", "no such node: n9", "a node that there is not");
    asks(core, NODE_LIST_SHOW, "n[3-4]", "1 drained, 1 up", "then nothing is done");
    asks(core, NODE_LIST_RESUME, "n3", "1 up", "one is resumed");
    asks(core, NODE_LIST_SHOW, "", "1 up, 1 drained, 2 up", "and no other");
    asks(core, NODE_LIST_DRAIN, "", "no node is named", "no name drains nothing");
    buffer_append_string(&invalid, "\xff");
    asks_bytes(core, &invalid, "status -74", "what cannot be read is refused");
    buffer_fini(&invalid);
}

static void leave(struct daemon_core *core, uint32_t place)
{
    struct ranges places = {0};
    struct daemon_event lost = {.kind = DAEMON_EVENT_LOST, .places = &places, .number = 1};

    buffer_clear(&heard);
    ranges_add(&places, place, place);
    daemon_core_step(core, &lost);
    ranges_fini(&places);
}

/* n2 is drained. */
static void test_remove(struct daemon_core *core)
{
    removes(core, NODE_LIST_UNUSED, "n1", "the instance is starting or ending",
            "nothing is removed during the start");
    lone_core_job(core, (struct job_event){.kind = JOB_EVENT_COMPLETE});
    removes(core, NODE_LIST_UNUSED, "n1,n9", "no such node: n9", "a node that there is not");
    shrink_status = -EAGAIN;
    removes(core, NODE_LIST_UNUSED, "n1",
            "the nodes cannot be asked to leave at the moment; try again", "the tree refuses");
    asks(core, NODE_LIST_RESUME, "n[1-2]", "2 up", "its nodes can be resumed");
    shrink_status = 0;
    removes(core, NODE_LIST_UNUSED, "n1", "", "a node that nobody uses: no answer yet");
    is_string(buffer_string(&left), "1", "it is asked to leave");
    leave(core, 3);
    is_string(buffer_string(&heard), "", "the loss of another is none");
    leave(core, 1);
    is_string(buffer_string(&heard), "nothing", "it has left");
    asks(core, NODE_LIST_SHOW, "", "1 up, 1 lost, 1 up", "and is not listed");
    removes(core, NODE_LIST_FORCE, "n3", "nothing", "one that is lost need not leave");
}

/* A job has a process on each node. */
static void test_used(struct daemon_core *core)
{
    struct daemon_event closed = {.kind = DAEMON_EVENT_CLIENT_CLOSED, .place = CLIENT};

    lone_core_job(core, (struct job_event){.kind = JOB_EVENT_COMPLETE});
    lone_core_run(core, UINT32_MAX);
    removes(core, NODE_LIST_UNUSED, "n2",
            "job 1 uses these nodes; --wait removes them when no job does, --force ends its "
            "processes there",
            "nodes of a job");
    removes(core, NODE_LIST_WAIT, "n2", "", "it can be waited for");
    is_string(buffer_string(&left), "", "meanwhile nobody leaves");
    asks(core, NODE_LIST_SHOW, "", "1 up, 1 draining, 2 up", "the node is drained");
    removes(core, NODE_LIST_FORCE, "n2", "", "or it leaves at once");
    is_string(buffer_string(&left), "2", "as it is asked to");
    leave(core, 2);
    is_string(buffer_string(&heard), "nothing", "who has forced it is answered");
    removes(core, NODE_LIST_WAIT, "n4", "", "another waits");
    daemon_core_step(core, &closed);
    ok(list_is_empty(&core->root->removals), "nobody waits for a client that has gone");
}

static struct daemon_core *begin(void)
{
    struct daemon_core *core = lone_core_at(0, &ops, &tree_ops);

    lone_core_greet(core, CLIENT, CONTROL_WANTS_ROSTER);
    return core;
}

int main(void)
{
    struct daemon_core *core;

    lone_core_open();
    core = begin();
    is_uint(welcome_slots, 8, "a client gets the roster with all slots");
    test_orders(core);
    test_remove(core);
    daemon_core_destroy(core);
    core = begin();
    test_used(core);
    daemon_core_destroy(core);
    lone_core_close();
    buffer_fini(&heard);
    buffer_fini(&left);
    return done_testing();
}

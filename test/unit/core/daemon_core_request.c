/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What clients request of the root (launch/core/daemon_core_request.c): the test plays the tree, the daemon and a client.
 * Job 1 has a rank on each of the four nodes.
 */
#include "config.h"

#include "launch/core/daemon_core_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launch/proto/control.h"
#include "launch/proto/job_wire.h"
#include "test/support/lone_core.h"
#include "test/support/tap.h"

#define CLIENT 2u

static struct buffer calls;
static uint32_t last_id;

static void heard(const char *expected, const char *name)
{
    is_string(buffer_string(&calls), expected, "%s", name);
    buffer_clear(&calls);
}

/* ---- The tree ---- */

static uint32_t tree_request(void *context, uint32_t place, struct message *message)
{
    buffer_printf(&calls, "%u is asked %.*s\n", place, (int)message->length_bytes - 1,
                  (const char *)message->data + 1);
    message_release(message);
    return ++last_id;
}

static int tree_broadcast(void *context, const struct ranges *places, struct message *message)
{
    message_release(message);
    return 0;
}

static const struct daemon_tree_ops tree_ops = {.broadcast = tree_broadcast,
                                                .request = tree_request};

/* ---- The root ---- */

static void client_send(void *context, uint32_t client, uint8_t type, const void *data,
                        size_t bytes)
{
    struct control_answer answer;
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    if (type == CONTROL_ANSWER && control_answer_decode(&answer, &reader) == 0)
        buffer_printf(&calls, "answer %u to %u: %d %.*s\n", answer.request, client, answer.status,
                      (int)answer.data.length_bytes, (const char *)answer.data.data);
}

static int pmi_query(void *context, const void *data, size_t bytes, struct buffer *answer)
{
    if (bytes != 4)
        return -EBADMSG;
    buffer_append_string(answer, "jobs");
    return 0;
}

static const struct daemon_pmi_ops pmi_ops = {.query = pmi_query};
static const struct daemon_client_ops client_ops = {.send = client_send,
                                                    .queued = lone_core_client_queued};
static const struct daemon_ops ops = {.now_ns = lone_core_now_ns,
                                      .pmi = &pmi_ops,
                                      .clients = &client_ops};

/* ---- The client ---- */

static void ask(struct daemon_core *core, uint32_t number, uint8_t kind, const char *text,
                struct ranges places)
{
    struct control_request request = {.request = number,
                                      .kind = kind,
                                      .places = places,
                                      .data = {(const uint8_t *)text, strlen(text)}};
    struct buffer payload = {0};

    control_request_encode(&request, &payload);
    lone_core_say(core, CLIENT, CONTROL_REQUEST, &payload);
    buffer_fini(&payload);
    ranges_fini(&places);
}

static struct ranges places_of(uint32_t first, uint32_t last)
{
    struct ranges places = {0};

    ranges_add(&places, first, last);
    return places;
}

static void reply(struct daemon_core *core, uint32_t id, int status, const char *text)
{
    struct daemon_event event = {.kind = DAEMON_EVENT_REPLY, .id = id, .status = status};

    if (status == 0)
        event.message = job_reply_message(0, text, strlen(text));
    daemon_core_step(core, &event);
    message_release(event.message);
}

static struct daemon_core *root_with_client(void)
{
    struct daemon_core *core = lone_core_at(0, &ops, &tree_ops);

    lone_core_greet(core, CLIENT, 0);
    buffer_clear(&calls);
    return core;
}

static void test_query(void)
{
    struct daemon_core *core = root_with_client();

    ask(core, 1, JOB_MESSAGE_QUERY, "what", (struct ranges){0});
    heard("answer 1 to 2: 0 jobs\n", "the root answers what it knows");
    ask(core, 2, JOB_MESSAGE_QUERY, "wrong", (struct ranges){0});
    heard("answer 2 to 2: -74 \n", "or refuses");
    ask(core, 3, JOB_MESSAGE_OUTPUT, "", (struct ranges){0});
    heard("answer 3 to 2: -95 \n", "what no client may request is not supported");
    last_id = 0;
    ask(core, 4, JOB_MESSAGE_QUERY, "who", places_of(2, 9));
    heard("2 is asked who\n3 is asked who\n4 is asked who\n", "nodes are asked, if there are such");
    reply(core, 2, 0, "three ");
    reply(core, 3, -EHOSTDOWN, NULL);
    reply(core, 77, 0, "stranger");
    heard("", "it waits for all of them");
    reply(core, 1, 0, "two");
    heard("answer 4 to 2: 0 three two\n", "a node that is lost has nothing to say");
    ask(core, 5, JOB_MESSAGE_QUERY, "who", places_of(8, 9));
    heard("answer 5 to 2: 0 \n", "nobody is asked of nodes that there are not");
    daemon_core_destroy(core);
}

static void test_limits(void)
{
    struct daemon_core *core = root_with_client();
    char *text = memory_allocate_zeroed(CONTROL_QUESTION_BYTES_MAX + 2);

    memset(text, 'x', CONTROL_QUESTION_BYTES_MAX + 1);
    ask(core, 1, JOB_MESSAGE_QUERY, text, places_of(1, 4));
    heard("answer 1 to 2: -90 \n", "a question that is too long is refused");
    free(text);
    last_id = 0;
    ask(core, 2, JOB_MESSAGE_QUERY, "who", places_of(1, 2));
    buffer_clear(&calls);
    ask(core, 3, JOB_MESSAGE_QUERY, "who", places_of(1, 2));
    heard("answer 3 to 2: -11 \n", "a client asks nodes one question at a time");
    reply(core, 1, 0, "one");
    reply(core, 2, -ENOTSUP, NULL);
    heard("answer 2 to 2: -95 \n", "a node that refuses is an error");
    daemon_core_destroy(core);
}

static void test_gone(void)
{
    struct daemon_core *core = root_with_client();
    struct daemon_event closed = {.kind = DAEMON_EVENT_CLIENT_CLOSED, .place = CLIENT};

    last_id = 0;
    ask(core, 1, JOB_MESSAGE_QUERY, "who", places_of(1, 1));
    daemon_core_step(core, &closed);
    buffer_clear(&calls);
    reply(core, 1, 0, "one");
    heard("", "a client that has gone gets no answer");
    ask(core, 2, JOB_MESSAGE_QUERY, "who", places_of(1, 1));
    daemon_core_destroy(core);
    ok(1, "a root ends while nodes are asked");
}

static void test_control(void)
{
    struct daemon_core *core = root_with_client();
    struct job_control control = {.number = 7, .kind = JOB_CONTROL_KILL, .by = "the user"};
    struct control_request request = {.request = 1, .kind = JOB_MESSAGE_CONTROL};
    struct buffer payload = {0}, data = {0};

    job_control_encode(&control, &data);
    request.data = (struct wire_bytes){data.data, data.length_bytes};
    control_request_encode(&request, &payload);
    lone_core_say(core, CLIENT, CONTROL_REQUEST, &payload);
    heard("answer 1 to 2: -2 \n", "a job that there is not cannot be controlled");
    buffer_fini(&payload);
    buffer_fini(&data);
    daemon_core_destroy(core);
}

int main(void)
{
    lone_core_open();
    test_query();
    test_limits();
    test_gone();
    test_control();
    lone_core_close();
    buffer_fini(&calls);
    return done_testing();
}

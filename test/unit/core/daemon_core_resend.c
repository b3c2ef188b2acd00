/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is sent to a root that others survive (launch/core/daemon_core_resend.c): the test carries messages between a node and
 * the root, and loses some.
 */
#include "config.h"

#include "launch/core/daemon_core_internal.h"

#include <stdio.h>

#include "base/log.h"
#include "launch/job/clients.h"
#include "launch/proto/job_wire.h"
#include "test/support/lone_core.h"
#include "test/support/tap.h"

#define WIRE_MAX 256u

static struct message *wire[WIRE_MAX]; /* from the node to the root, in order */
static uint32_t wire_count;
static struct message *answer; /* the last one, from the root */
static uint32_t answers;
static uint32_t renewed;
static uint32_t texts;

static void node_send(void *context, uint32_t place, enum frame_class class,
                      struct message *message)
{
    ok(place == 0 && wire_count < WIRE_MAX, "the node sends to the root");
    wire[wire_count++] = message;
}

static void root_send(void *context, uint32_t place, enum frame_class class,
                      struct message *message)
{
    is_uint(place, 1, "the root answers the node");
    message_release(answer);
    answer = message;
    answers++;
}

static const struct daemon_tree_ops node_tree = {.send = node_send};
static const struct daemon_tree_ops root_tree = {.send = root_send};

static void renew_credit(void *context)
{
    renewed++;
}

/* A text without a client is printed. */
static void root_print(void *context, const char *text)
{
    char expected[16];

    snprintf(expected, sizeof(expected), "text %u", texts++);
    is_string(text, expected, "the root gets each text once, in order");
}

static void client_send(void *context, uint32_t client, uint8_t type, const void *data,
                        size_t bytes)
{
}

static const struct daemon_rank_ops rank_ops = {.renew_credit = renew_credit};
static const struct daemon_client_ops client_ops = {.send = client_send,
                                                    .queued = lone_core_client_queued};
static const struct daemon_ops ops = {.now_ns = lone_core_now_ns,
                                      .print = root_print,
                                      .ranks = &rank_ops,
                                      .clients = &client_ops};

static struct instance_spec surviving;

static struct daemon_core *make_core(uint32_t place, const struct daemon_tree_ops *tree)
{
    struct daemon_core *core = lone_core_at(place, &ops, tree);

    if (surviving.survive_s == 0)
        instance_spec_copy(&surviving, core->spec);
    surviving.survive_s = 60;
    core->spec = &surviving;
    core->has_joined = true;
    return core;
}

static void say(struct daemon_core *node, uint32_t index)
{
    char text[16];

    snprintf(text, sizeof(text), "text %u", index);
    daemon_core_text(node, 0, LOG_LEVEL_WARNING, text);
}

/* The messages from first on arrive; all are gone then. */
static void deliver(struct daemon_core *root, uint32_t first)
{
    for (uint32_t i = 0; i < wire_count; i++) {
        struct daemon_event event = {.kind = DAEMON_EVENT_RECEIVED, .place = 1, .message = wire[i]};

        if (i >= first)
            daemon_core_step(root, &event);
        message_release(wire[i]);
    }
    wire_count = 0;
}

static void recover(struct daemon_core *core)
{
    daemon_core_step(core, &(struct daemon_event){.kind = DAEMON_EVENT_RECOVERED});
}

static void test_lost_is_sent_again(void)
{
    struct daemon_core *node = make_core(1, &node_tree);
    struct daemon_core *root = make_core(0, &root_tree);

    for (uint32_t i = 0; i < 5; i++)
        say(node, i);
    deliver(root, 0);
    is_uint(texts, 5, "what is sent arrives");
    for (uint32_t i = 5; i < 9; i++)
        say(node, i);
    deliver(root, 2); /* two are lost with the root */
    is_uint(texts, 5, "what comes after a gap is not taken");
    recover(root);
    recover(node);
    is_uint(renewed, 1, "the node's credit is renewed");
    is_uint(wire_count, 9, "it sends again what the root has not confirmed");
    say(node, 9);
    deliver(root, 0);
    is_uint(texts, 10, "and the root takes what it does not have");
    recover(node);
    deliver(root, 0);
    is_uint(texts, 10, "and no more");
    daemon_core_destroy(node);
    daemon_core_destroy(root);
}

/* Without a death of the root: a relay may lose something, too. */
static void test_gap_is_closed(void)
{
    struct daemon_core *node = make_core(1, &node_tree);
    struct daemon_core *root = make_core(0, &root_tree);
    struct daemon_event event = {.kind = DAEMON_EVENT_RECEIVED, .place = 0};

    texts = answers = 0;
    for (uint32_t i = 0; i < 4; i++)
        say(node, i);
    deliver(root, 1); /* one is lost */
    is_uint(texts, 0, "nothing is taken before it");
    is_uint(answers, 1, "the root asks for it, once");
    event.message = answer;
    daemon_core_step(node, &event);
    is_uint(wire_count, 4, "the node sends all again");
    deliver(root, 0);
    is_uint(texts, 4, "and the root has all");
    daemon_core_resend_lost(node);
    is_uint(wire_count, 4, "a node that is lost may have lost them, too");
    deliver(root, 0);
    is_uint(texts, 4, "what has come is not taken again");
    daemon_core_destroy(node);
    daemon_core_destroy(root);
}

static void test_taken_is_dropped(void)
{
    struct daemon_core *node = make_core(1, &node_tree);
    struct daemon_core *root = make_core(0, &root_tree);
    struct daemon_event event = {.kind = DAEMON_EVENT_RECEIVED, .place = 0};

    texts = answers = 0;
    for (uint32_t i = 0; i < 40; i++)
        say(node, i);
    deliver(root, 0);
    is_uint(answers, 2, "the root confirms what it has from time to time");
    event.message = answer;
    daemon_core_step(node, &event);
    recover(node);
    is_uint(wire_count, 8, "what it has confirmed is not sent again");
    deliver(root, 0);
    is_uint(texts, 40, "it has come already");
    daemon_core_destroy(node);
    daemon_core_destroy(root);
}

/* Where nobody survives the root. */
static void test_without(void)
{
    struct daemon_core *node = lone_core_at(1, &ops, &node_tree);

    node->has_joined = true;
    say(node, 0);
    is_uint(wire_count, 1, "without --survive it is sent");
    is_int(wire[0]->data[0], JOB_MESSAGE_TEXT, "as it is");
    message_release(wire[0]);
    wire_count = 0;
    ok(node->resend == NULL, "and not kept");
    daemon_core_destroy(node);
}

int main(void)
{
    lone_core_open();
    test_lost_is_sent_again();
    test_gap_is_closed();
    test_taken_is_dropped();
    test_without();
    message_release(answer);
    instance_spec_fini(&surviving);
    lone_core_close();
    return done_testing();
}

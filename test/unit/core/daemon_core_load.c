/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is used (launch/core/daemon_core_load.c), and how such an inquiry spreads (launch/core/daemon_core_inquiry.c): the test plays the tree, the daemon, the clock and a client.  Radix 2,
 * four nodes.
 */
#include "config.h"

#include "launch/core/daemon_core_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "launch/proto/control.h"
#include "launch/proto/job_wire.h"
#include "launch/proto/load.h"
#include "test/support/lone_calls.h"
#include "test/support/tap.h"

#define CLIENT 2u

static void print(const void *data, size_t bytes)
{
    struct wire_reader reader;
    struct load load;

    wire_reader_init(&reader, data, bytes);
    if (load_decode(&load, &reader) < 0)
        return;
    for (uint32_t i = 0; i < load.rows_count; i++)
        buffer_printf(&lone_calls.text, " %u:%llu,%llu,%llu", load.rows[i].place,
                      (unsigned long long)load.rows[i].figures[LOAD_MACHINE_BUSY],
                      (unsigned long long)load.rows[i].figures[LOAD_DAEMONS_CPU],
                      (unsigned long long)load.rows[i].figures[LOAD_MESSAGES]);
    buffer_printf(&lone_calls.text,
                  " of %llu silent:", (unsigned long long)load.sums[LOAD_DAEMONS]);
    ranges_print(&load.silent, &lone_calls.text);
    load_fini(&load);
}

static void print_request(uint32_t place, const struct message *message)
{
    struct load_request request;
    struct wire_reader reader;

    wire_reader_init(&reader, message->data, message->length_bytes);
    if (wire_get_u8(&reader) == JOB_MESSAGE_LOAD && load_request_decode(&request, &reader) == 0) {
        lone_calls_print_request(place, &request.places, request.patience_ms);
        ranges_fini(&request.places);
    }
}

/* ---- The daemon ---- */

/* Of two CPUs a quarter is in use, a tenth of one by this daemon, which sends 100 messages a second. */
static void load_now(void *context, struct daemon_load *ret_load)
{
    *ret_load = (struct daemon_load){.cpus = 2,
                                     .busy_ticks = lone_calls.now_ns / 4,
                                     .idle_ticks = lone_calls.now_ns - lone_calls.now_ns / 4,
                                     .daemon_cpu_ns = lone_calls.now_ns / 10,
                                     .messages = lone_calls.now_ns / (10 * NS_PER_MS)};
}

static const struct daemon_client_ops client_ops = {.send = lone_calls_client_send,
                                                    .queued = lone_core_client_queued};
static const struct daemon_ops ops = {.now_ns = lone_calls_now_ns,
                                      .timer = lone_calls_timer,
                                      .load = load_now,
                                      .clients = &client_ops};

/* ---- The client ---- */

static void ask(struct daemon_core *core, uint32_t number, uint32_t rows)
{
    const struct load_request load = {.rows = rows};
    struct buffer data = {0};

    load_request_encode(&load, &data);
    lone_core_ask(core, CLIENT, number, JOB_MESSAGE_LOAD, &data);
}

static void reply(struct daemon_core *core, uint32_t id, int status, uint32_t first, uint32_t last)
{
    struct load load = {.rows = NULL};
    struct buffer data = {0};

    for (uint32_t place = first; place <= last; place++) {
        struct load_row row = {.place = place, .figures = {[LOAD_DAEMONS] = 1}};

        load_add(&load, &row, LOAD_ROWS_MAX);
    }
    load_encode(&load, &data);
    lone_core_reply(core, id, status, &data);
    load_fini(&load);
}

static void test_root(void)
{
    struct daemon_core *core = lone_calls_root(&ops, CLIENT, false);

    ask(core, 1, 9);
    lone_calls_heard("1 is asked about 1-2 within 2625 ms\n3 is asked about 3-4 within 2625 ms\n",
                     "the root asks as many as the radix is, about the others, too");
    is_uint(lone_calls.due_ns, lone_calls.now_ns + 300 * NS_PER_MS, "and measures itself");
    ask(core, 2, 9);
    lone_calls_heard("answer 2: -11\n", "a client asks one question at a time");
    reply(core, 2, 0, 3, 4);
    reply(core, 1, 0, 1, 2);
    lone_calls_heard("", "all have answered, but it has not measured yet");
    lone_calls_wait(core, DAEMON_TIMER_LOAD);
    lone_calls_heard("answer 1: 0 0:0,100,100 1:0,0,0 2:0,0,0 3:0,0,0 4:0,0,0 of 5 silent:\n",
                     "the sums of all; the root's machine is nobody's node");
    is_uint(lone_calls.due_ns, UINT64_MAX, "nothing is left to wait for");
    ask(core, 3, 1);
    buffer_clear(&lone_calls.text);
    lone_calls_wait(core, DAEMON_TIMER_LOAD);
    reply(core, 4, -EAGAIN, 0, 0);
    reply(core, 3, -EHOSTDOWN, 0, 0);
    lone_calls_heard("2 is asked about 2 within 2625 ms\n",
                     "for a node that is lost the next one answers");
    reply(core, 5, -EHOSTDOWN, 0, 0);
    lone_calls_heard(
        "answer 3: 0 0:0,100,100 of 1 silent:3-4\n",
        "a part that is refused is silent; lost ones are not; rows are as many as asked for");
    daemon_core_destroy(core);
}

static void test_silent(void)
{
    struct daemon_core *core = lone_calls_root(&ops, CLIENT, false);
    uint64_t begun_ns = lone_calls.now_ns;

    ask(core, 1, 1);
    lone_calls_wait(core, DAEMON_TIMER_LOAD);
    reply(core, 2, 0, 3, 4);
    buffer_clear(&lone_calls.text);
    is_uint(lone_calls.due_ns, begun_ns + 3000 * NS_PER_MS, "the others have some time");
    lone_calls_wait(core, DAEMON_TIMER_LOAD);
    lone_calls_heard("answer 1: 0 0:0,100,100 of 3 silent:1-2\n",
                     "then it names those that are silent");
    reply(core, 1, 0, 1, 2);
    lone_calls_heard("", "an answer that comes later is dropped");
    daemon_core_destroy(core);
}

static void ask_first(struct daemon_core *core)
{
    ask(core, 1, 1);
}

static void node_is_asked(struct daemon_core *core, uint32_t id, uint32_t first, uint32_t last)
{
    struct daemon_event event = {.kind = DAEMON_EVENT_REQUEST, .place = 1, .id = id};
    struct load_request request = {.rows = 4, .patience_ms = 800};
    struct buffer data = {0};

    ranges_add(&request.places, first, last);
    load_request_encode(&request, &data);
    event.message = job_request_message(JOB_MESSAGE_LOAD, data.data, data.length_bytes);
    daemon_core_step(core, &event);
    message_release(event.message);
    ranges_fini(&request.places);
    buffer_fini(&data);
}

static void test_node(void)
{
    struct daemon_core *core = lone_core_at(2, &ops, &lone_calls_tree);

    node_is_asked(core, 5, 1, 2);
    lone_calls_heard("reply -74\n", "a request that another should answer is refused");
    node_is_asked(core, 5, 2, 9);
    lone_calls_heard("reply -74\n", "and one about places that are not");
    node_is_asked(core, 6, 2, 4);
    lone_calls_heard("3 is asked about 3 within 700 ms\n4 is asked about 4 within 700 ms\n",
                     "a node hands the others on, with less time");
    lone_calls_wait(core, DAEMON_TIMER_LOAD);
    reply(core, lone_calls.last_id, 0, 4, 4);
    lone_calls_wait(core, DAEMON_TIMER_LOAD);
    lone_calls_heard("reply 0 2:500,100,100 4:0,0,0 of 2 silent:3\n",
                     "and answers when its time is over");
    node_is_asked(core, 7, 2, 2);
    lone_calls_wait(core, DAEMON_TIMER_LOAD);
    lone_calls_heard("reply 0 2:500,100,100 of 1 silent:\n", "or for itself");
    for (uint32_t id = 10; id < 26; id++)
        node_is_asked(core, id, 2, 2);
    lone_calls_heard("", "so many questions are answered later");
    node_is_asked(core, 26, 2, 2);
    lone_calls_heard("reply -11\n", "and no more");
    daemon_core_destroy(core);
}

int main(void)
{
    lone_calls.timer = DAEMON_TIMER_LOAD;
    lone_calls.print_answer = print;
    lone_calls.print_request = print_request;
    lone_core_open();
    test_root();
    test_silent();
    lone_calls_test_gone(&ops, CLIENT, false, DAEMON_TIMER_LOAD, ask_first);
    test_node();
    lone_core_close();
    buffer_fini(&lone_calls.text);
    return done_testing();
}

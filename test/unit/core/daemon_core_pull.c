/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies of output for places that request them (launch/core/daemon_core_pull.c), at the root and at a node: the test
 * plays the tree, the starter, the client and the PMIx server.  Jobs 1 and 2 have a rank on each of the four nodes.
 */
#include "config.h"

#include "launch/core/daemon_core_internal.h"

#include <stdio.h>

#include "test/support/lone_core.h"
#include "test/support/tap.h"

static struct buffer calls;
static bool is_served = true;

static void heard(const char *expected, const char *name)
{
    is_string(buffer_string(&calls), expected, "%s", name);
    buffer_clear(&calls);
}

/* ---- The tree ---- */

static void tree_send(void *context, uint32_t place, enum frame_class class,
                      struct message *message)
{
    struct wire_reader reader;
    struct job_pulled output;
    uint8_t kind;

    wire_reader_init(&reader, message->data, message->length_bytes);
    kind = wire_get_u8(&reader);
    if (kind == JOB_MESSAGE_PULL_GONE)
        buffer_printf(&calls, "to %u: gone %u\n", place, job_pull_gone_decode(&reader));
    else if (kind == JOB_MESSAGE_PULLED && job_pulled_decode(&output, &reader) == 0)
        buffer_printf(&calls, "to %u: %u.%u stream %u, %zu bytes\n", place, output.number,
                      output.rank == JOB_RANK_ALL ? 99 : output.rank, output.stream,
                      output.data_bytes);
    message_release(message);
}

static void tree_reply(void *context, uint32_t source, uint32_t id, struct message *message)
{
    struct wire_reader reader;

    wire_reader_init(&reader, message->data, message->length_bytes);
    buffer_printf(&calls, "%u: %d\n", source, (int32_t)wire_get_u32(&reader));
    message_release(message);
}

static int tree_broadcast(void *context, const struct ranges *places, struct message *message)
{
    message_release(message);
    return 0;
}

static const struct daemon_tree_ops tree_ops = {.broadcast = tree_broadcast,
                                                .send = tree_send,
                                                .reply = tree_reply};

/* ---- The node ---- */

static void print(void *context, const char *text)
{
    buffer_printf(&calls, "%s\n", text);
}

static bool pmi_output(void *context, const struct job_pulled *output)
{
    buffer_printf(&calls, "output of %u.%u stream %u: %.*s\n", output->number, output->rank,
                  output->stream, (int)output->data_bytes, (const char *)output->data);
    return is_served;
}

static const char *starter_name(void *context, uint32_t place, char name[HOST_NAME_BYTES_MAX + 1])
{
    snprintf(name, HOST_NAME_BYTES_MAX + 1, "n%u", place);
    return name;
}

static const struct daemon_pmi_ops pmi_ops = {.output = pmi_output};
static const struct daemon_starter_ops starter_ops = {.name = starter_name};
static const struct daemon_ops ops = {.now_ns = lone_core_now_ns,
                                      .print = print,
                                      .pmi = &pmi_ops,
                                      .starter = &starter_ops};

/* ---- */

static struct daemon_core *core_at(uint32_t place)
{
    return lone_core_at(place, &ops, &tree_ops);
}

static void step(struct daemon_core *core, enum daemon_event_kind kind, uint32_t place,
                 struct message *message)
{
    struct daemon_event event = {.kind = kind, .place = place, .id = 1, .message = message};

    daemon_core_step(core, &event);
    message_release(message);
}

static void ask(struct daemon_core *core, uint32_t place, struct job_pull pull)
{
    struct buffer payload = {0};

    job_pull_encode(&pull, &payload);
    step(core, DAEMON_EVENT_REQUEST, place,
         job_request_message(JOB_MESSAGE_PULL, payload.data, payload.length_bytes));
    buffer_fini(&payload);
    ranges_fini(&pull.ranks);
}

static struct message *output_of(enum job_message kind, uint32_t number, uint32_t rank,
                                 uint8_t stream, size_t bytes)
{
    struct buffer payload = {0};
    struct message *message;

    wire_put_u32(&payload, number);
    wire_put_u32(&payload, rank);
    wire_put_u8(&payload, stream);
    wire_put_u64(&payload, 1);
    wire_put_u32(&payload, rank + 1);
    while (bytes-- > 0)
        wire_put_u8(&payload, 'x');
    message = job_request_message(kind, payload.data, payload.length_bytes);
    buffer_fini(&payload);
    return message;
}

static void print_from(struct daemon_core *core, uint32_t number, uint32_t rank, uint8_t stream,
                       size_t bytes)
{
    step(core, DAEMON_EVENT_RECEIVED, rank + 1,
         output_of(JOB_MESSAGE_OUTPUT, number, rank, stream, bytes));
}

static struct ranges one(uint32_t number)
{
    struct ranges ranges = {0};

    ranges_add(&ranges, number, number);
    return ranges;
}

static struct daemon_core *root(void)
{
    struct daemon_core *core = core_at(0);

    lone_core_job(core, (struct job_event){.kind = JOB_EVENT_COMPLETE});
    lone_core_run(core, UINT32_MAX);
    lone_core_run(core, UINT32_MAX);
    return core;
}

static void test_requests(void)
{
    struct daemon_core *core = root();

    print_from(core, 1, 0, 1, 5);
    heard("", "nobody has requested anything");
    ask(core, 3, (struct job_pull){.number = 3, .version = 1, .channels = 3});
    heard("3: -2\n", "a job that does not exist");
    ask(core, 3,
        (struct job_pull){.number = 1, .version = 1, .channels = 3, .ranks = one(LONE_CORE_NODES)});
    heard("3: -2\n", "a rank that does not exist");
    ask(core, 3, (struct job_pull){.number = 1, .version = 1, .channels = 3});
    ask(core, 2, (struct job_pull){.number = 1, .version = 1, .channels = 2, .ranks = one(3)});
    heard("3: 0\n2: 0\n", "two places");
    print_from(core, 1, 0, 1, 5);
    print_from(core, 1, 3, 1, 6);
    print_from(core, 1, 3, 2, 7);
    print_from(core, 2, 3, 2, 8);
    print_from(core, 1, 3, 2, 0);
    heard("to 3: 1.0 stream 1, 5 bytes\nto 3: 1.3 stream 1, 6 bytes\n"
          "to 3: 1.3 stream 2, 7 bytes\nto 2: 1.3 stream 2, 7 bytes\n",
          "each gets what it has requested");
    ask(core, 3, (struct job_pull){.number = 1, .version = 3, .channels = 0});
    ask(core, 3, (struct job_pull){.number = 1, .version = 2, .channels = 3});
    print_from(core, 1, 0, 1, 5);
    heard("3: 0\n3: 0\n", "an older request does not replace a later one");
    ask(core, 3, (struct job_pull){.number = 1, .version = 4, .channels = 1});
    step(core, DAEMON_EVENT_RECEIVED, 3, job_pull_gone_message(1));
    print_from(core, 1, 0, 1, 5);
    heard("3: 0\n", "a place without readers");
    daemon_core_pull_ended(core, 1);
    heard("to 2: 1.99 stream 0, 0 bytes\n", "the end of the job is sent to those that remain");
    ok(list_is_empty(&core->root->pullers), "and nothing is left of them");
    daemon_core_destroy(core);
}

static void test_window(void)
{
    struct daemon_core *core = root();
    struct ranges dead = one(3);

    ask(core, 2, (struct job_pull){.number = 1, .version = 1, .channels = 1});
    ask(core, 3, (struct job_pull){.number = 1, .version = 1, .channels = 1, .ranks = one(1)});
    print_from(core, 1, 0, 1, JOB_PULL_WINDOW - 1);
    heard("2: 0\n3: 0\nto 2: 1.0 stream 1, 4194303 bytes\n", "a window");
    print_from(core, 1, 0, 1, 2);
    print_from(core, 1, 0, 1, 2);
    heard("a tool on n2 reads the output of job 1 too slowly: it does not get all of it\n",
          "what does not fit is lost, which is reported once");
    print_from(core, 1, 1, 1, 1);
    heard("to 2: 1.1 stream 1, 1 bytes\nto 3: 1.1 stream 1, 1 bytes\n", "but only there");
    ask(core, 2, (struct job_pull){.kind = JOB_PULL_TAKEN, .number = 1, .bytes = 2});
    print_from(core, 1, 0, 1, 2);
    heard("2: 0\nto 2: 1.0 stream 1, 2 bytes\n", "until it has been taken");
    daemon_core_pull_lost(core, &dead);
    print_from(core, 1, 1, 1, 9);
    heard("to 2: 1.1 stream 1, 9 bytes\n",
          "a node that is lost gets nothing, and windows begin again");
    is_uint(core->root->pulled_bytes, 9, "what is under way to all is known");
    core->root->pulled_bytes += JOB_PULL_WINDOWS - 10;
    ask(core, 4, (struct job_pull){.number = 1, .version = 1, .channels = 1});
    print_from(core, 1, 0, 1, 2);
    heard("4: 0\na tool on n4 reads the output of job 1 too slowly: it does not get all of it\n",
          "and has a limit, whoever reads too slowly");
    core->root->pulled_bytes -= JOB_PULL_WINDOWS - 10;
    print_from(core, 1, 0, 1, 2);
    heard("to 2: 1.0 stream 1, 2 bytes\nto 4: 1.0 stream 1, 2 bytes\n", "below it all get theirs");
    ranges_fini(&dead);
    daemon_core_destroy(core);
}

static void test_node(void)
{
    struct daemon_core *core = core_at(2);

    step(core, DAEMON_EVENT_RECEIVED, 0, output_of(JOB_MESSAGE_PULLED, 7, 1, 2, 3));
    heard("output of 7.1 stream 2: xxx\n", "a node gives it to its server");
    is_served = false;
    step(core, DAEMON_EVENT_RECEIVED, 0, output_of(JOB_MESSAGE_PULLED, 7, 1, 2, 3));
    heard("output of 7.1 stream 2: xxx\nto 0: gone 7\n", "and reports it when there is none");
    step(core, DAEMON_EVENT_RECEIVED, 0, output_of(JOB_MESSAGE_PULLED, 7, 1, 3, 3));
    heard("", "a stream that does not exist is ignored");
    ask(core, 1, (struct job_pull){.number = 7});
    heard("1: -95\n", "only the root copies output");
    daemon_core_destroy(core);
}

int main(void)
{
    lone_core_open();
    test_requests();
    test_window();
    test_node();
    lone_core_close();
    buffer_fini(&calls);
    return done_testing();
}

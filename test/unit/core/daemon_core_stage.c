/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Staging in a daemon's core (launch/core/daemon_core_stage.c): at the root a job that is held until its files are on
 * the nodes, at a node the orders and their reports.  The test plays the tree, the node and a client.
 */
#include "config.h"

#include "launch/core/daemon_core_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launch/core/stage_root.h"
#include "test/support/lone_core.h"
#include "test/support/tap.h"

#define CLIENT 1u

static struct buffer calls;
static uint32_t generation; /* of the last order */

static void heard(const char *expected, const char *name)
{
    is_string(buffer_string(&calls), expected, "%s", name);
    buffer_clear(&calls);
}

/* ---- The tree ---- */

static int tree_broadcast(void *context, const struct ranges *places, struct message *message)
{
    static const char *const steps[] = {"OPEN", "PACK", "COMMIT", "REMOVE"};
    struct stage_order order;
    struct wire_reader reader;

    wire_reader_init(&reader, message->data + 1, message->length_bytes - 1);
    if (message->data[0] == JOB_MESSAGE_STAGE && stage_order_decode(&order, &reader) == 0) {
        buffer_printf(&calls, "%s of job %u to %u nodes\n", steps[order.step], order.job,
                      (unsigned int)(places != NULL ? ranges_count(places) : 0));
        generation = order.generation;
        stage_order_fini(&order);
    } else {
        buffer_printf(&calls, "message %u\n", message->data[0]);
    }
    message_release(message);
    return 0;
}

static void tree_contribute(void *context, const struct operation_name *key,
                            const struct ranges *places, struct message *message)
{
    struct stage_report report;
    struct wire_reader reader;

    wire_reader_init(&reader, message->data, message->length_bytes);
    if (stage_report_decode(&report, &reader) < 0)
        bail_out("a report that cannot be read");
    buffer_printf(&calls, "report %u of transfer %u from %u nodes: %s\n", key->generation,
                  key->owner & ~STAGE_OWNER_BIT, (unsigned int)ranges_count(places),
                  report.failures_count > 0 ? report.failures[0].text : "ok");
    stage_report_fini(&report);
    message_release(message);
}

static void tree_forget(void *context, uint32_t owner, const struct ranges *places)
{
    buffer_printf(&calls, "forget %u\n", owner & ~STAGE_OWNER_BIT);
}

static void tree_missing(void *context, struct ranges *ret_places)
{
}

static const struct daemon_tree_ops tree_ops = {.broadcast = tree_broadcast,
                                                .contribute = tree_contribute,
                                                .forget = tree_forget,
                                                .missing = tree_missing};

/* ---- The node, and the client ---- */

static void client_send(void *context, uint32_t client, uint8_t type, const void *data,
                        size_t bytes)
{
    struct control_answer control;
    struct stage_answer answer;
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    if (type != CONTROL_ANSWER || control_answer_decode(&control, &reader) < 0)
        return;
    wire_reader_init(&reader, control.data.data, control.data.length_bytes);
    if (control.status < 0)
        buffer_printf(&calls, "answer %u: %d\n", control.request, control.status);
    else if (stage_answer_decode(&answer, &reader) == 0)
        buffer_printf(&calls, "answer %u: outcome %u %.*s\n", control.request, answer.outcome,
                      (int)answer.text.length_bytes, (const char *)answer.text.data);
}

static void node_stage(void *context, struct message *message)
{
    buffer_printf(&calls, "the node gets %zu bytes\n", message->length_bytes);
}

static void on_timer(void *context, enum daemon_timer timer, uint32_t job, uint64_t deadline_ns)
{
}

static void on_print(void *context, const char *text)
{
}

static const struct daemon_client_ops client_ops = {.send = client_send,
                                                    .queued = lone_core_client_queued};
static const struct daemon_ops ops = {.now_ns = lone_core_now_ns,
                                      .timer = on_timer,
                                      .print = on_print,
                                      .stage = node_stage,
                                      .clients = &client_ops};

/* ---- The root ---- */

static void say_run(struct daemon_core *core, uint8_t stage)
{
    struct placement_rule rule = {.processes = LONE_CORE_NODES, .per = 1};
    struct buffer payload = {0};
    struct job_spec job;

    job_spec_init(&job);
    job.stage = stage;
    placement_add(&job.placement, &rule);
    job.apps = memory_allocate_zeroed(sizeof(*job.apps));
    job.apps_count = 1;
    job.apps[0].argv = memory_allocate_zeroed(2 * sizeof(char *));
    job.apps[0].argv[0] = memory_copy_string("bin/app");
    job.apps[0].set = memory_allocate_zeroed(sizeof(char *));
    control_run_encode(1, 0, &job, &payload);
    job_spec_fini(&job);
    lone_core_say(core, CLIENT, CONTROL_RUN, &payload);
    buffer_fini(&payload);
}

static void say_stage(struct daemon_core *core, uint32_t request, enum stage_step step,
                      uint32_t job, const char *body)
{
    struct stage_request message = {.step = (uint8_t)step, .job = job};
    struct control_request control = {.request = request, .kind = JOB_MESSAGE_STAGE};
    struct buffer data = {0}, payload = {0};

    message.body =
        (struct wire_bytes){.data = (const unsigned char *)body, .length_bytes = strlen(body)};
    stage_request_encode(&message, &data);
    control.data = (struct wire_bytes){.data = data.data, .length_bytes = data.length_bytes};
    control_request_encode(&control, &payload);
    buffer_fini(&data);
    lone_core_say(core, CLIENT, CONTROL_REQUEST, &payload);
    buffer_fini(&payload);
}

/* All nodes have reported. */
static void report_all(struct daemon_core *core, const char *failure)
{
    struct operation_name key = {.generation = generation, .kind = JOB_OPERATION_STAGE};
    struct stage_report report = {.failures = NULL};
    struct daemon_event event = {.kind = DAEMON_EVENT_RESULT, .key = &key};
    struct buffer payload = {0};

    ranges_add(&report.keepers, 1, LONE_CORE_NODES);
    if (failure != NULL)
        stage_report_fail(&report, 2, failure);
    stage_report_encode(&report, &payload);
    event.message = message_from_buffer(&payload);
    buffer_fini(&payload);
    daemon_core_step(core, &event);
    message_release(event.message);
    stage_report_fini(&report);
}

static struct daemon_core *root_with_client(void)
{
    struct daemon_core *core = lone_core_at(0, &ops, &tree_ops);

    lone_core_greet(core, CLIENT, 0);
    return core;
}

static void test_held(void)
{
    struct daemon_core *core = root_with_client();

    say_run(core, JOB_STAGE_FILES);
    say_stage(core, 1, STAGE_OPEN, 1, "manifest");
    heard("", "before the nodes are there, nothing is sent");
    daemon_core_step(core, &(struct daemon_event){.kind = DAEMON_EVENT_COMPLETE});
    heard("message 1\nOPEN of job 1 to 4 nodes\n", "then the files are, and the job is held");
    report_all(core, NULL);
    heard("answer 1: outcome 0 \n", "the client hears what is lacking");
    say_stage(core, 2, STAGE_COMMIT, 1, "");
    report_all(core, NULL);
    heard("COMMIT of job 1 to 4 nodes\nanswer 2: outcome 0 \nforget 1\nmessage 2\n",
          "when all nodes have the files, the job is launched");
    say_stage(core, 3, STAGE_OPEN, 1, "manifest");
    heard("answer 3: -2\n", "nothing is staged for a job that runs");
    daemon_core_destroy(core);
}

static void test_failure(void)
{
    struct daemon_core *core = root_with_client();
    struct control_end end = {.status = 125, .reason = "no files"};
    struct buffer payload = {0};

    daemon_core_step(core, &(struct daemon_event){.kind = DAEMON_EVENT_COMPLETE});
    say_run(core, JOB_STAGE_FILES);
    buffer_clear(&calls);
    say_stage(core, 1, STAGE_OPEN, 1, "manifest");
    report_all(core, "disk full");
    heard("OPEN of job 1 to 4 nodes\nanswer 1: outcome 2 n2: disk full\nforget 1\n",
          "a failure names its node");
    control_put_job(1, &payload);
    control_end_encode(&end, &payload);
    lone_core_say(core, CLIENT, CONTROL_END, &payload);
    buffer_fini(&payload);
    heard("REMOVE of job 1 to 0 nodes\n", "a job that is ended before its launch leaves no files");
    daemon_core_destroy(core);
}

/* ---- A node ---- */

static void give_order(struct daemon_core *core, enum stage_step step, uint32_t number)
{
    struct stage_order order = {.step = (uint8_t)step, .transfer = 9, .generation = number};
    struct daemon_event event = {.kind = DAEMON_EVENT_BROADCAST};
    struct buffer payload = {0};

    ranges_add(&order.places, 1, 3);
    stage_order_encode(&order, &payload);
    event.message = message_from_buffer(&payload);
    daemon_core_step(core, &event);
    message_release(event.message);
    stage_order_fini(&order);
    buffer_fini(&payload);
}

static void test_node(void)
{
    struct daemon_core *core = lone_core_at(2, &ops, &tree_ops);
    struct stage_report report = {.failures = NULL};
    struct daemon_event event = {.kind = DAEMON_EVENT_STAGE_REPORT, .id = 4};
    struct buffer payload = {0};

    give_order(core, STAGE_OPEN, 4);
    heard("the node gets 17 bytes\n", "an order is passed on");
    stage_report_encode(&report, &payload);
    event.data = payload.data;
    event.data_bytes = payload.length_bytes;
    daemon_core_step(core, &event);
    heard("report 4 of transfer 9 from 3 nodes: ok\n", "its report is contributed");
    daemon_core_step(core, &event);
    heard("", "once");
    give_order(core, STAGE_PACK, 5);
    give_order(core, STAGE_PACK, 6);
    give_order(core, STAGE_REMOVE, 0);
    buffer_clear(&calls);
    event = (struct daemon_event){
        .kind = DAEMON_EVENT_STAGE_REPORT, .status = -EPIPE, .text = "it has exited"};
    daemon_core_step(core, &event);
    heard("report 5 of transfer 9 from 3 nodes: it has exited\n"
          "report 6 of transfer 9 from 3 nodes: it has exited\n",
          "when its process dies all that are due fail");
    buffer_fini(&payload);
    daemon_core_destroy(core);
}

int main(void)
{
    lone_core_open();
    test_held();
    test_failure();
    test_node();
    lone_core_close();
    buffer_fini(&calls);
    return done_testing();
}

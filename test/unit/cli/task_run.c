/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client of --tasks (launch/cli/client/task_run.c): the test plays the workers, with the frames that they
 * write, and reads what is printed.
 */
#include "config.h"

#include "launch/cli/client/task_run.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/proto/task_frame.h"
#include "test/support/tap.h"

struct world {
    struct loop *loop;
    struct output_writer *writer;
    struct request_tasks tasks;
    struct task_run *run;
    struct buffer calls;
    int out[2];
};

static void on_feed(void *context, uint32_t worker, const void *data, size_t bytes)
{
    struct world *world = context;
    struct task_frame frame;
    struct task_order order;
    long length = 0;

    if (bytes == 0)
        buffer_printf(&world->calls, "%u ends ", worker);
    for (size_t at = 0; at < bytes; at += (size_t)length) {
        length = task_frame_next((const char *)data + at, bytes - at, &frame);
        if (length <= 0)
            bail_out("no frame");
        if (frame.kind == TASK_FRAME_RECALL) {
            buffer_printf(&world->calls, "recall %u ", worker);
        } else if (task_frame_get_order(&frame, &order) == 0) {
            buffer_printf(&world->calls, "%u:%u=%s ", worker, order.task, order.argv[0]);
            free(order.block);
        }
    }
}

static void on_failed(void *context, const char *text)
{
    buffer_printf(&((struct world *)context)->calls, "failed: %s ", text);
}

static void on_written(void *context, const struct unwritten_part *part)
{
}

static void on_moved(void *context)
{
    struct world *world = context;

    if (world->run != NULL)
        task_run_print(world->run);
    if (output_writer_queued(world->writer) == 0)
        loop_stop(world->loop);
}

static void on_write_failed(void *context, const struct error *error)
{
    bail_out("%s", error->text);
}

static void world_open(struct world *world, const char *list, int streams, uint32_t retries)
{
    static const struct task_run_ops ops = {.feed = on_feed, .failed = on_failed};
    static const struct output_writer_events events = {
        .written = on_written, .moved = on_moved, .failed = on_write_failed};
    static const struct output_label_style style = {.ranks = 1};
    static char source[] = "list";

    *world = (struct world){.loop = loop_create(NULL)};
    if (pipe2(world->out, O_CLOEXEC) < 0)
        bail_out("no pipe");
    (void)fcntl(world->out[0], F_SETFL, O_NONBLOCK);
    world->writer =
        output_writer_create(world->loop, world->out[1], world->out[1], &style, &events, world);
    task_list_init(&world->tasks.list);
    world->tasks.list.source = source;
    world->tasks.retries = retries;
    world->tasks.streams = streams;
    is_int(task_list_read(&world->tasks.list, list, strlen(list), NULL), 0, "the list is read");
    world->run = task_run_create(&world->tasks, &ops, world, NULL);
    task_run_open(world->run, world->writer);
}

static void world_close(struct world *world)
{
    task_run_destroy(world->run);
    world->run = NULL;
    output_writer_destroy(world->writer);
    loop_destroy(world->loop);
    task_list_fini(&world->tasks.list);
    buffer_fini(&world->calls);
    close(world->out[0]);
    close(world->out[1]);
}

static void heard(struct world *world, const char *expected, const char *name)
{
    is_string(buffer_string(&world->calls), expected, "%s", name);
    buffer_clear(&world->calls);
}

static void printed(struct world *world, const char *expected, const char *name)
{
    char text[4096];
    ssize_t got;

    if (output_writer_queued(world->writer) > 0)
        loop_run(world->loop);
    got = read(world->out[0], text, sizeof(text) - 1);
    text[got > 0 ? got : 0] = '\0';
    is_string(text, expected, "%s", name);
}

static void hello(struct world *world, uint32_t worker, uint32_t place)
{
    struct task_hello hello = {.place = place, .node = "n1"};
    struct buffer bytes = {0};

    hello.node[1] = (char)('0' + place);
    task_frame_put_hello(&hello, &bytes);
    task_run_output(world->run, worker, bytes.data, bytes.length_bytes);
    buffer_fini(&bytes);
}

static void put_output(uint32_t task, uint8_t stream, const char *text, struct buffer *bytes)
{
    const struct task_output output = {
        .task = task,
        .stream = stream,
        .data = {.data = (const unsigned char *)text, .length_bytes = strlen(text)}};

    task_frame_put_output(&output, bytes);
}

/* In two pieces, as pipes may cut it. */
static void report(struct world *world, uint32_t worker, uint32_t task, int wait_status,
                   struct buffer *bytes)
{
    const struct task_ended ended = {.task = task, .wait_status = wait_status};

    task_frame_put_ended(&ended, bytes);
    task_run_output(world->run, worker, bytes->data, 3);
    task_run_output(world->run, worker, bytes->data + 3, bytes->length_bytes - 3);
    buffer_fini(bytes);
}

static void ends(struct world *world, uint32_t worker, uint32_t task, int wait_status)
{
    struct buffer bytes = {0};

    report(world, worker, task, wait_status, &bytes);
}

static void says(struct world *world, uint32_t expected, const char *text, const char *name)
{
    char line[512];

    is_uint(task_run_status(world->run, line, sizeof(line)), expected, "%s: status", name);
    is_string(line, text, "%s: the line", name);
}

static void test_output(void)
{
    struct world world;
    struct buffer first = {0}, second = {0};

    world_open(&world, "a\nb\n", 0, 0);
    task_run_started(world.run, 2);
    hello(&world, 0, 1);
    hello(&world, 1, 2);
    heard(&world, "0:1=a 1:2=b ", "each worker gets a task");
    put_output(1, 1, "one\n", &first);
    put_output(1, 2, "er", &first);
    task_run_output(world.run, 0, first.data, first.length_bytes);
    buffer_clear(&first);
    printed(&world, "", "output of a task that runs is not printed");
    put_output(2, 1, "two\n", &second);
    report(&world, 1, 2, 0, &second);
    printed(&world, "[2] two\n", "when it ends it is");
    put_output(1, 2, "ror\n", &first);
    report(&world, 0, 1, 3 << 8, &first);
    printed(&world, "[1] one\n[1] error\n", "whole, by the number of the task");
    ok(task_run_is_printed(world.run), "all of it");
    heard(&world, "0 ends 1 ends ", "then the workers end");
    says(&world, 1, "1 of 2 tasks failed; the first: task 1 on n1 exited with status 3",
         "one that failed");
    world_close(&world);
}

static void test_retry(void)
{
    struct world world;
    struct buffer bytes = {0};

    world_open(&world, "a\n", 0, 1);
    task_run_started(world.run, 1);
    hello(&world, 0, 1);
    put_output(1, 1, "no\n", &bytes);
    report(&world, 0, 1, 1 << 8, &bytes);
    put_output(1, 1, "yes\n", &bytes);
    report(&world, 0, 1, 0, &bytes);
    heard(&world, "0:1=a 0:1=a 0 ends ", "a failed task is run again");
    printed(&world, "[1] yes\n", "and its last output printed");
    says(&world, 0, "", "success");
    world_close(&world);
}

static void test_loss(void)
{
    struct ranges places = {0};
    struct world world;
    struct buffer bytes = {0};

    world_open(&world, "a\nb\n", 0, 1);
    task_run_started(world.run, 2);
    hello(&world, 0, 1);
    hello(&world, 1, 2);
    put_output(1, 1, "lost\n", &bytes);
    task_run_output(world.run, 0, bytes.data, bytes.length_bytes);
    buffer_fini(&bytes);
    task_run_ended(world.run, 0);
    task_run_ended(world.run, 0);
    ends(&world, 1, 2, 0);
    heard(&world, "0:1=a 1:2=b 1:1=a ", "the task of a worker that has ended is another's");
    ends(&world, 0, 1, 0);
    printed(&world, "", "what that one still said does not count");
    ranges_add(&places, 2, 2);
    task_run_lost(world.run, &places);
    heard(&world, "1 ends ", "the last node is lost");
    says(&world, 1, "1 of 2 tasks failed; the first: task 1 on n2 exited with status 125",
         "with its task");
    ranges_fini(&places);
    world_close(&world);
}

static void test_stream(void)
{
    struct world world;

    world_open(&world, "", 1, 0);
    task_run_started(world.run, 1);
    hello(&world, 0, 1);
    task_run_list(world.run, "a\nb", 3);
    heard(&world, "0:1=a ", "a line that has arrived is run");
    ends(&world, 0, 1, 0);
    ok(!task_run_is_over(world.run), "more may come");
    task_run_list(world.run, "", 0);
    heard(&world, "0:2=b ", "the last needs no newline");
    ends(&world, 0, 2, 0);
    heard(&world, "0 ends ", "and that is the end");
    ok(task_run_is_over(world.run), "of the list");
    world_close(&world);
    world_open(&world, "", 1, 0);
    task_run_started(world.run, 1);
    hello(&world, 0, 1);
    task_run_list(world.run, "a\nb '\n", 6);
    heard(&world, "failed: list, line 2: no closing ' 0:1=a ", "a line that is wrong");
    task_run_stop(world.run);
    task_run_list(world.run, "c\n", 2);
    ends(&world, 0, 1, 15);
    heard(&world, "", "after the end no more are started");
    says(&world, 1, "1 of 1 tasks failed; the first: task 1 on n1 was killed by signal 15",
         "what was killed");
    world_close(&world);
}

static void test_left(void)
{
    struct world world;

    world_open(&world, "a\n{\"argv\":[\"b\"],\"after\":1}\nc\n", 0, 0);
    task_run_started(world.run, 1);
    hello(&world, 0, 1);
    ends(&world, 0, 1, 1 << 8);
    ends(&world, 0, 3, 0);
    says(
        &world, 2,
        "1 of 3 tasks failed; the first: task 1 on n1 exited with status 1; 1 of 3 tasks was not run",
        "what waits for a failure is not run");
    task_run_output(world.run, 0, "\0\0\0\0", 4);
    heard(
        &world,
        "0:1=a 0:3=c 0 ends failed: cannot decode what a worker reports; this is a bug in banyan ",
        "a worker that writes something else");
    world_close(&world);
}

int main(void)
{
    test_output();
    test_retry();
    test_loss();
    test_stream();
    test_left();
    task_run_destroy(NULL);
    return done_testing();
}

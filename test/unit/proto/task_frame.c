/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames between --tasks and its workers (launch/proto/task_frame_wire.c): round trips, and what is broken. */
#include "config.h"

#include "launch/proto/task_frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/tap.h"

/* The only frame in a buffer, which is also tried cut short. */
static struct task_frame frame_of(const struct buffer *bytes, enum task_frame_kind kind)
{
    struct task_frame frame = {.kind = TASK_FRAME_KIND_COUNT};
    int is_wrong = 0;

    for (size_t length = 0; length < bytes->length_bytes; length++)
        is_wrong |= task_frame_next(bytes->data, length, &frame) != 0;
    ok(!is_wrong, "kind %d: what is cut short is no frame yet", (int)kind);
    is_int(task_frame_next(bytes->data, bytes->length_bytes, &frame), (long)bytes->length_bytes,
           "kind %d: the whole is one", (int)kind);
    ok(frame.kind == kind, "of this kind");
    ok(bytes->data[bytes->length_bytes - 1] == '\n', "and a whole line to who counts lines");
    return frame;
}

static void test_order(void)
{
    char *argv[] = {(char *)"sh", (char *)"-c", (char *)"", NULL};
    char *set[] = {(char *)"A=b c", (char *)"D=", NULL};
    struct task_order order = {.task = 4711, .directory = "/x", .argv = argv, .set = set};
    struct task_order again;
    struct buffer bytes = {0};
    struct task_frame frame;

    task_frame_put_order(&order, &bytes);
    frame = frame_of(&bytes, TASK_FRAME_RUN);
    is_int(task_frame_get_order(&frame, &again), 0, "an order is read");
    is_uint(again.task, 4711, "its task");
    is_string(again.directory, "/x", "its directory");
    ok(strcmp(again.argv[0], "sh") == 0 && strcmp(again.argv[1], "-c") == 0 &&
           again.argv[2][0] == '\0' && again.argv[3] == NULL,
       "its words");
    ok(strcmp(again.set[0], "A=b c") == 0 && strcmp(again.set[1], "D=") == 0 &&
           again.set[2] == NULL,
       "its variables");
    free(again.block);
    while (frame.payload.length_bytes-- > 0)
        if (task_frame_get_order(&frame, &again) != -EBADMSG) {
            fail("an order of %zu bytes is broken", frame.payload.length_bytes);
            free(again.block);
        }
    buffer_clear(&bytes);
    order = (struct task_order){.task = 1, .argv = argv};
    task_frame_put_order(&order, &bytes);
    frame = frame_of(&bytes, TASK_FRAME_RUN);
    is_int(task_frame_get_order(&frame, &again), 0, "one without directory and variables");
    ok(again.directory == NULL && again.set[0] == NULL, "has none");
    free(again.block);
    buffer_fini(&bytes);
}

static void test_reports(void)
{
    const struct task_hello hello = {.place = 3, .node = "n3"};
    const struct task_output output = {
        .task = 5, .stream = 2, .data = {.data = (const unsigned char *)"a\nb", .length_bytes = 3}};
    const struct task_ended ended = {.task = 5,
                                     .wait_status = 0x300,
                                     .started_us = 1795692823044000,
                                     .run_us = 77,
                                     .output_bytes = 1ull << 40};
    struct task_hello hello_again;
    struct task_output output_again;
    struct task_ended ended_again;
    struct buffer bytes = {0};
    struct task_frame frame;

    task_frame_put_hello(&hello, &bytes);
    frame = frame_of(&bytes, TASK_FRAME_HELLO);
    is_int(task_frame_get_hello(&frame, &hello_again), 0, "a hello is read");
    ok(hello_again.place == 3 && strcmp(hello_again.node, "n3") == 0, "place and node");
    buffer_clear(&bytes);
    task_frame_put_output(&output, &bytes);
    frame = frame_of(&bytes, TASK_FRAME_OUTPUT);
    is_int(task_frame_get_output(&frame, &output_again), 0, "output is read");
    ok(output_again.task == 5 && output_again.stream == 2, "task and stream");
    is_bytes(output_again.data.data, output_again.data.length_bytes, "a\nb", 3, "its bytes");
    buffer_clear(&bytes);
    task_frame_put_ended(&ended, &bytes);
    frame = frame_of(&bytes, TASK_FRAME_ENDED);
    is_int(task_frame_get_ended(&frame, &ended_again), 0, "an end is read");
    ok(ended_again.task == 5 && ended_again.wait_status == 0x300 &&
           ended_again.started_us == ended.started_us && ended_again.run_us == 77 &&
           ended_again.output_bytes == ended.output_bytes,
       "all of it");
    frame.payload.length_bytes--;
    is_int(task_frame_get_ended(&frame, &ended_again), -EBADMSG, "not if it is cut short");
    buffer_fini(&bytes);
}

static void add_task(void *context, uint32_t task)
{
    buffer_printf(context, "%u ", task);
}

static void test_returned(void)
{
    const uint32_t tasks[] = {7, 1, 4000000000u};
    struct buffer bytes = {0}, seen = {0};
    struct task_frame frame;

    task_frame_put_returned(tasks, 3, &bytes);
    frame = frame_of(&bytes, TASK_FRAME_RETURNED);
    is_int(task_frame_each_returned(&frame, add_task, &seen), 0, "tasks that were given back");
    is_string(buffer_string(&seen), "7 1 4000000000 ", "are the same");
    frame.payload.length_bytes--;
    is_int(task_frame_each_returned(&frame, add_task, &seen), -EBADMSG, "not if cut short");
    buffer_clear(&bytes);
    task_frame_put_returned(NULL, 0, &bytes);
    frame = frame_of(&bytes, TASK_FRAME_RETURNED);
    is_int(task_frame_each_returned(&frame, add_task, &seen), 0, "none");
    buffer_clear(&bytes);
    task_frame_put_recall(&bytes);
    (void)frame_of(&bytes, TASK_FRAME_RECALL);
    buffer_fini(&bytes);
    buffer_fini(&seen);
}

static void test_broken(void)
{
    struct buffer bytes = {0};
    struct task_frame frame;

    task_frame_put_recall(&bytes);
    bytes.data[bytes.length_bytes - 1] = 'x';
    is_int(task_frame_next(bytes.data, bytes.length_bytes, &frame), -EBADMSG, "no newline");
    bytes.data[bytes.length_bytes - 1] = '\n';
    bytes.data[4] = TASK_FRAME_KIND_COUNT;
    is_int(task_frame_next(bytes.data, bytes.length_bytes, &frame), -EBADMSG, "no such kind");
    memset(bytes.data, 0xff, 4);
    is_int(task_frame_next(bytes.data, bytes.length_bytes, &frame), -EBADMSG, "too long");
    memset(bytes.data, 0, 4);
    is_int(task_frame_next(bytes.data, bytes.length_bytes, &frame), -EBADMSG, "too short");
    buffer_fini(&bytes);
}

int main(void)
{
    test_order();
    test_reports();
    test_returned();
    test_broken();
    return done_testing();
}

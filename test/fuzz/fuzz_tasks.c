/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What --tasks reads: input for each process and its ends on the way (launch/proto/feed.h), frames between the
 * client and its workers (launch/proto/task_frame.h), a list of tasks and a joblog (launch/cli/request/task_list.h);
 * and input for all processes (launch/proto/input_piece.h).
 * The first byte chooses.  What a frame holds is written again the same.
 */
#include "config.h"

#include "launch/cli/request/task_list.h"
#include "launch/proto/feed.h"
#include "launch/proto/input_piece.h"
#include "launch/proto/task_frame.h"
#include "test/fuzz/fuzz.h"

#include <assert.h>

static void read_feed(const uint8_t *data, size_t bytes)
{
    struct buffer again = {0};
    struct wire_reader reader;
    struct ranges places;
    struct feed_end end;
    struct feed feed;
    uint32_t job;

    wire_reader_init(&reader, data, bytes);
    if (feed_decode(&feed, &reader) == 0) {
        feed_encode(&feed, &again);
        assert(again.length_bytes == bytes && memcmp(again.data, data, bytes) == 0);
    }
    buffer_clear(&again);
    wire_reader_init(&reader, data, bytes);
    if (feed_end_decode(&end, &reader) == 0) {
        feed_end_encode(&end, &again);
        assert(again.length_bytes == bytes && memcmp(again.data, data, bytes) == 0);
    }
    wire_reader_init(&reader, data, bytes);
    if (feed_lost_decode(&job, &places, &reader) == 0)
        ranges_fini(&places);
    buffer_fini(&again);
}

static void read_piece(const uint8_t *data, size_t bytes)
{
    struct input_piece piece, again;
    struct wire_reader reader;
    struct message *message;

    wire_reader_init(&reader, data, bytes);
    if (input_piece_decode(&piece, &reader) < 0)
        return;
    message = input_piece_message(&piece);
    wire_reader_init(&reader, message->data + 1, message->length_bytes - 1);
    assert(input_piece_decode(&again, &reader) == 0);
    assert(again.job == piece.job && again.offset == piece.offset &&
           again.generation == piece.generation && again.is_end == piece.is_end);
    assert(ranges_contains_all(&again.places, &piece.places));
    assert(again.data.length_bytes == piece.data.length_bytes);
    message_release(message);
    input_piece_fini(&again);
    input_piece_fini(&piece);
}

static void put_piece(struct buffer *out)
{
    struct input_piece piece = {.job = 1,
                                .offset = 65536,
                                .generation = 2,
                                .data = {.data = (const unsigned char *)"x", .length_bytes = 1}};
    struct message *message;

    ranges_add(&piece.places, 1, 3);
    message = input_piece_message(&piece);
    buffer_append(out, message->data + 1, message->length_bytes - 1);
    message_release(message);
    ranges_fini(&piece.places);
}

static void take_task(void *context, uint32_t task)
{
    buffer_append(context, &task, sizeof(task));
}

static void write_again(const struct task_frame *frame, struct buffer *again)
{
    struct buffer tasks = {0};
    struct task_output output;
    struct task_ended ended;
    struct task_order order;
    struct task_hello hello;

    if (frame->kind == TASK_FRAME_RUN && task_frame_get_order(frame, &order) == 0) {
        task_frame_put_order(&order, again);
        free(order.block);
    } else if (frame->kind == TASK_FRAME_HELLO && task_frame_get_hello(frame, &hello) == 0) {
        task_frame_put_hello(&hello, again);
    } else if (frame->kind == TASK_FRAME_OUTPUT && task_frame_get_output(frame, &output) == 0) {
        task_frame_put_output(&output, again);
    } else if (frame->kind == TASK_FRAME_ENDED && task_frame_get_ended(frame, &ended) == 0) {
        task_frame_put_ended(&ended, again);
    } else if (frame->kind == TASK_FRAME_RETURNED &&
               task_frame_each_returned(frame, take_task, &tasks) == 0) {
        task_frame_put_returned((const uint32_t *)(const void *)tasks.data,
                                (uint32_t)(tasks.length_bytes / sizeof(uint32_t)), again);
    }
    buffer_fini(&tasks);
}

static void read_frames(const uint8_t *data, size_t bytes)
{
    struct task_frame frame;
    long length;

    while ((length = task_frame_next(data, bytes, &frame)) > 0) {
        struct buffer again = {0};

        write_again(&frame, &again);
        assert(again.length_bytes == 0 || (again.length_bytes == (size_t)length &&
                                           memcmp(again.data, data, (size_t)length) == 0));
        buffer_fini(&again);
        data += length;
        bytes -= (size_t)length;
    }
}

/* Cut at the second byte's place, as a pipe may. */
static void read_list(const uint8_t *data, size_t bytes, char *const *command)
{
    size_t cut = bytes > 0 ? data[0] % bytes : 0;
    struct task_list list;

    task_list_init(&list);
    list.source = "list";
    list.command = command;
    if (bytes > 0 && (cut == 0 || task_list_read(&list, data, cut, NULL) == 0) &&
        task_list_read(&list, data + cut, bytes - cut, NULL) == 0)
        (void)task_list_read(&list, "", 0, NULL);
    for (uint32_t i = 0; i < list.count; i++)
        for (uint32_t j = 0; j < list.items[i]->after_count; j++)
            assert(list.items[i]->after[j] < i);
    task_list_fini(&list);
}

static void read_joblog(const uint8_t *data, size_t bytes)
{
    struct buffer joblog = {0};
    struct task_list list;

    task_list_init(&list);
    buffer_append(&joblog, data, bytes);
    if (task_list_resume(&list, "log", &joblog, NULL) == 0) {
        list.source = "list";
        (void)task_list_read(&list, "true\nfalse\n", 11, NULL);
    }
    task_list_fini(&list);
    buffer_fini(&joblog);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    static char echo[] = "echo", argument[] = "a{}b{/.}{#}";
    static char *const command[] = {echo, argument, NULL};

    if (data_bytes == 0)
        return 0;
    switch (fuzz_choice(data[0], 6)) {
    case 0:
        read_feed(data + 1, data_bytes - 1);
        break;
    case 1:
        read_frames(data + 1, data_bytes - 1);
        break;
    case 2:
        read_list(data + 1, data_bytes - 1, NULL);
        break;
    case 3:
        read_list(data + 1, data_bytes - 1, command);
        break;
    case 5:
        read_piece(data + 1, data_bytes - 1);
        break;
    default:
        read_joblog(data + 1, data_bytes - 1);
    }
    return 0;
}

static void put_frames(struct buffer *out)
{
    static char word[] = "true", variable[] = "A=b";
    char *argv[] = {word, NULL};
    char *set[] = {variable, NULL};
    const struct task_order order = {.task = 1, .directory = "/", .argv = argv, .set = set};
    const struct task_hello hello = {.place = 1, .node = "n1"};
    const struct task_output output = {
        .task = 1, .stream = 1, .data = {.data = (const unsigned char *)"x", .length_bytes = 1}};
    const struct task_ended ended = {.task = 1};
    const uint32_t tasks[] = {1, 2};

    task_frame_put_order(&order, out);
    task_frame_put_recall(out);
    task_frame_put_hello(&hello, out);
    task_frame_put_output(&output, out);
    task_frame_put_ended(&ended, out);
    task_frame_put_returned(tasks, 2, out);
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    static const char *const texts[] = {
        "\2a 'b c' \"d\\\"e\" f\\ g # h\n\n{\"argv\":[\"x\"],\"after\":1,\"name\":\"n\"}\n"
        "{\"argv\":[\"y\"],\"slots\":2,\"env\":{\"A\":\"b\"},\"wdir\":\"/\",\"after\":[\"n\",1]}",
        "\3a/b.c\n\nd",
        "\4Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n"
        "1\tn1\t1.000\t0.100\t0\t0\t0\t0\ttrue\n2\tn1\t1.000\t0.100\t0\t0\t1\t0\tfalse\n"};
    const struct feed feed = {.job = 1, .rank = 2};
    struct buffer sample = {0};

    if (number > 5)
        return 0;
    if (number < 2 || number == 5)
        wire_put_u8(&sample, (uint8_t)number);
    if (number == 0)
        feed_encode(&feed, &sample);
    else if (number == 1)
        put_frames(&sample);
    else if (number == 5)
        put_piece(&sample);
    else
        buffer_append_string(&sample, texts[number - 2]);
    return fuzz_hand_over(&sample, buffer, buffer_bytes);
}

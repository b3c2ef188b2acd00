/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/task_frame.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH_BYTES 4

/* ---- frames ---- */

static size_t frame_begin(enum task_frame_kind kind, struct buffer *out)
{
    size_t at = out->length_bytes;

    wire_put_u32(out, 0);
    wire_put_u8(out, (uint8_t)kind);
    return at;
}

static void frame_end(size_t at, struct buffer *out)
{
    struct buffer length = {0};

    buffer_append(out, "\n", 1);
    assert(out->length_bytes - at <= TASK_FRAME_BYTES_MAX);
    wire_put_u32(&length, (uint32_t)(out->length_bytes - at - LENGTH_BYTES));
    memcpy(out->data + at, length.data, LENGTH_BYTES);
    buffer_fini(&length);
}

long task_frame_next(const void *data, size_t bytes, struct task_frame *ret_frame)
{
    struct wire_reader reader;
    uint32_t length;
    uint8_t kind;

    wire_reader_init(&reader, data, bytes);
    if (bytes < LENGTH_BYTES)
        return 0;
    length = wire_get_u32(&reader);
    if (length < 2 || length > TASK_FRAME_BYTES_MAX)
        return -EBADMSG;
    if (wire_left(&reader) < length)
        return 0;
    kind = wire_get_u8(&reader);
    if (kind >= TASK_FRAME_KIND_COUNT || reader.position[length - 2] != '\n')
        return -EBADMSG;
    ret_frame->kind = (enum task_frame_kind)kind;
    ret_frame->payload.data = reader.position;
    ret_frame->payload.length_bytes = length - 2;
    return (long)length + LENGTH_BYTES;
}

static struct wire_reader reader_of(const struct task_frame *frame)
{
    struct wire_reader reader;

    wire_reader_init(&reader, frame->payload.data, frame->payload.length_bytes);
    return reader;
}

/* ---- orders ---- */

/* Each with its NUL, so that a decoded list needs no copies but one. */
static void put_words(char *const *words, struct buffer *out)
{
    uint32_t count = 0;

    while (words != NULL && words[count] != NULL)
        count++;
    wire_put_u32(out, count);
    for (uint32_t i = 0; i < count; i++)
        buffer_append(out, words[i], strlen(words[i]) + 1);
}

void task_frame_put_order(const struct task_order *order, struct buffer *out)
{
    size_t at = frame_begin(TASK_FRAME_RUN, out);

    assert(order->argv != NULL && order->argv[0] != NULL);
    wire_put_u32(out, order->task);
    buffer_append(out, order->directory != NULL ? order->directory : "",
                  order->directory != NULL ? strlen(order->directory) + 1 : 1);
    put_words(order->argv, out);
    put_words(order->set, out);
    frame_end(at, out);
}

/* The string that begins there; "" fails the reader if it has no end. */
static char *get_word(struct wire_reader *reader, char *copy, const unsigned char *begin)
{
    size_t left = wire_left(reader);
    size_t length = strnlen((const char *)reader->position, left);
    char *word = copy + (reader->position - begin);

    if (left == 0 || length == left) {
        wire_fail(reader);
        return NULL;
    }
    reader->position += length + 1;
    return word;
}

/* *ret_words: where the next list begins. */
static char **get_words(struct wire_reader *reader, char *copy, const unsigned char *begin,
                        char **words, uint32_t *ret_count)
{
    uint32_t count = wire_get_u32(reader);

    *ret_count = 0;
    if (count > wire_left(reader)) /* each takes a byte or more */
        wire_fail(reader);
    for (uint32_t i = 0; i < count && wire_status(reader) == 0; i++)
        words[(*ret_count)++] = get_word(reader, copy, begin);
    words[*ret_count] = NULL;
    return words + *ret_count + 1;
}

/* One block: pointers, for which there is room for each byte that could be a word, counted before, and
 * the payload's bytes. */
int task_frame_get_order(const struct task_frame *frame, struct task_order *ret_order)
{
    struct wire_reader reader = reader_of(frame);
    size_t bytes = frame->payload.length_bytes;
    struct task_order order = {.task = wire_get_u32(&reader)};
    size_t pointers = 2;
    char **words;
    char *copy;
    uint32_t count;

    for (size_t i = 0; i < bytes; i++)
        pointers += frame->payload.data[i] == '\0';
    order.block = memory_allocate(pointers * sizeof(char *) + bytes + 1);
    words = order.block;
    copy = (char *)(words + pointers);
    memcpy(copy, frame->payload.data, bytes);
    order.directory = get_word(&reader, copy, frame->payload.data);
    order.argv = words;
    words = get_words(&reader, copy, frame->payload.data, words, &count);
    if (count == 0)
        wire_fail(&reader);
    order.set = words;
    (void)get_words(&reader, copy, frame->payload.data, words, &count);
    if (wire_finish(&reader) < 0) {
        free(order.block);
        return -EBADMSG;
    }
    if (order.directory[0] == '\0')
        order.directory = NULL;
    *ret_order = order;
    return 0;
}

void task_frame_put_recall(struct buffer *out)
{
    frame_end(frame_begin(TASK_FRAME_RECALL, out), out);
}

/* ---- what a worker says ---- */

void task_frame_put_hello(const struct task_hello *hello, struct buffer *out)
{
    size_t at = frame_begin(TASK_FRAME_HELLO, out);

    wire_put_u32(out, hello->place);
    wire_put_string(out, hello->node);
    frame_end(at, out);
}

int task_frame_get_hello(const struct task_frame *frame, struct task_hello *ret_hello)
{
    struct wire_reader reader = reader_of(frame);
    struct task_hello hello = {.place = wire_get_u32(&reader)};

    wire_get_string_into(&reader, hello.node, sizeof(hello.node));
    if (wire_finish(&reader) < 0)
        return -EBADMSG;
    *ret_hello = hello;
    return 0;
}

void task_frame_put_output(const struct task_output *output, struct buffer *out)
{
    size_t at = frame_begin(TASK_FRAME_OUTPUT, out);

    assert(output->stream == 1 || output->stream == 2);
    wire_put_u32(out, output->task);
    wire_put_u8(out, output->stream);
    buffer_append(out, output->data.data, output->data.length_bytes);
    frame_end(at, out);
}

int task_frame_get_output(const struct task_frame *frame, struct task_output *ret_output)
{
    struct wire_reader reader = reader_of(frame);
    struct task_output output = {.task = wire_get_u32(&reader), .stream = wire_get_u8(&reader)};

    if (wire_status(&reader) < 0 || output.stream < 1 || output.stream > 2)
        return -EBADMSG;
    output.data.data = reader.position;
    output.data.length_bytes = wire_left(&reader);
    *ret_output = output;
    return 0;
}

void task_frame_put_ended(const struct task_ended *ended, struct buffer *out)
{
    size_t at = frame_begin(TASK_FRAME_ENDED, out);

    wire_put_u32(out, ended->task);
    wire_put_u32(out, (uint32_t)ended->wait_status);
    wire_put_u64(out, ended->started_us);
    wire_put_u64(out, ended->run_us);
    wire_put_u64(out, ended->output_bytes);
    frame_end(at, out);
}

int task_frame_get_ended(const struct task_frame *frame, struct task_ended *ret_ended)
{
    struct wire_reader reader = reader_of(frame);
    struct task_ended ended = {.task = wire_get_u32(&reader)};

    ended.wait_status = (int32_t)wire_get_u32(&reader);
    ended.started_us = wire_get_u64(&reader);
    ended.run_us = wire_get_u64(&reader);
    ended.output_bytes = wire_get_u64(&reader);
    if (wire_finish(&reader) < 0)
        return -EBADMSG;
    *ret_ended = ended;
    return 0;
}

void task_frame_put_returned(const uint32_t *tasks, uint32_t count, struct buffer *out)
{
    size_t at = frame_begin(TASK_FRAME_RETURNED, out);

    wire_put_varint(out, count);
    for (uint32_t i = 0; i < count; i++)
        wire_put_u32(out, tasks[i]);
    frame_end(at, out);
}

int task_frame_each_returned(const struct task_frame *frame,
                             void (*function)(void *context, uint32_t task), void *context)
{
    struct wire_reader reader = reader_of(frame);
    uint64_t count = wire_get_varint(&reader);

    if (wire_status(&reader) < 0 || count != wire_left(&reader) / sizeof(uint32_t) ||
        wire_left(&reader) % sizeof(uint32_t) != 0)
        return -EBADMSG;
    while (count-- > 0)
        function(context, wire_get_u32(&reader));
    return wire_finish(&reader);
}

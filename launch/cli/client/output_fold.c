/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/output_fold.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/hash_map.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/time.h"

/* A line, without newline, of the ranks that have printed it. */
struct folded {
    struct list_link all;
    struct folded *next_equal; /* the next one with the same key, later in the list */
    uint64_t number;           /* in the order of the list, from 1 */
    uint64_t deadline_ns;
    struct output_fold_source source; /* the first rank's */
    uint64_t time_ns;
    struct ranges ranks;
    struct buffer key; /* job, stream and the line */
};

#define KEY_HEADER_BYTES (sizeof(uint32_t) + sizeof(uint8_t))

struct fold_stream {
    struct list_link unfinished; /* while it has a tail */
    struct output_fold_source source;
    uint64_t last_number;   /* of the line that its rank has joined last */
    struct buffer tail;     /* of its unfinished line */
    uint64_t tail_since_ns; /* of this machine's clock for timers */
    uint64_t tail_time_ns;  /* as output has it */
};

struct output_fold {
    struct loop *loop;
    struct loop_timer *timer;
    output_fold_function *line;
    void *context;
    struct hash_map *streams; /* struct fold_stream */
    struct hash_map *lines;   /* the first of the lines with that key */
    struct list all;          /* struct folded, in their order */
    struct list unfinished;   /* struct fold_stream, the oldest first */
    uint32_t all_count;
    uint64_t last_number;
    size_t bytes; /* of lines and tails */
};

static void fold_check(const struct output_fold *fold)
{
    assert((fold->all_count == 0) == list_is_empty(&fold->all));
    assert(fold->all_count <= OUTPUT_FOLD_LINES_MAX);
    assert(hash_map_count(fold->lines) <= fold->all_count);
    assert(fold->all_count > 0 || !list_is_empty(&fold->unfinished) || fold->bytes == 0);
}

/* ---- lines ---- */

/* Takes the first line off the list. */
static struct folded *line_take_first(struct output_fold *fold)
{
    struct folded *folded = list_entry(list_first(&fold->all), struct folded, all);
    const struct buffer *key = &folded->key;

    assert(fold->all_count > 0 && fold->bytes >= key->length_bytes - KEY_HEADER_BYTES);
    assert(hash_map_get(fold->lines, key->data, key->length_bytes) == folded);
    if (folded->next_equal != NULL)
        hash_map_put(fold->lines, key->data, key->length_bytes, folded->next_equal);
    else
        hash_map_remove(fold->lines, key->data, key->length_bytes);
    list_remove(&folded->all);
    fold->all_count--;
    fold->bytes -= key->length_bytes - KEY_HEADER_BYTES;
    return folded;
}

static void line_free(struct folded *folded)
{
    ranges_fini(&folded->ranks);
    buffer_fini(&folded->key);
    free(folded);
}

static void line_leave(struct output_fold *fold)
{
    struct folded *folded = line_take_first(fold);

    fold->line(fold->context, &folded->source, &folded->ranks, folded->time_ns,
               (const char *)folded->key.data + KEY_HEADER_BYTES,
               folded->key.length_bytes - KEY_HEADER_BYTES);
    line_free(folded);
}

/* Puts a line after all others; equal: the last one with the same key, or NULL.  Takes key. */
static struct folded *line_append(struct output_fold *fold, const struct fold_stream *stream,
                                  uint64_t time_ns, struct buffer *key, struct folded *equal)
{
    struct folded *folded = memory_allocate_zeroed(sizeof(*folded));

    *folded =
        (struct folded){.number = ++fold->last_number,
                        .deadline_ns = loop_now_ns() + OUTPUT_FOLD_WAIT_MS * (uint64_t)NS_PER_MS,
                        .source = stream->source,
                        .time_ns = time_ns};
    buffer_swap(&folded->key, key);
    if (equal != NULL)
        equal->next_equal = folded;
    else
        hash_map_put(fold->lines, folded->key.data, folded->key.length_bytes, folded);
    list_append(&fold->all, &folded->all);
    fold->all_count++;
    fold->bytes += folded->key.length_bytes - KEY_HEADER_BYTES;
    return folded;
}

/* The stream's next line: joins the first equal one after its last, or is a new one. */
static void line_add(struct output_fold *fold, struct fold_stream *stream, uint64_t time_ns,
                     const char *text, size_t text_bytes)
{
    struct folded *folded, *equal = NULL;
    struct buffer key = {0};

    while (fold->all_count == OUTPUT_FOLD_LINES_MAX ||
           (fold->all_count > 0 && fold->bytes + text_bytes > OUTPUT_FOLD_BYTES_MAX))
        line_leave(fold);
    buffer_append(&key, &stream->source.job, sizeof(stream->source.job));
    buffer_append(&key, &stream->source.stream, sizeof(stream->source.stream));
    buffer_append(&key, text, text_bytes);
    folded = hash_map_get(fold->lines, key.data, key.length_bytes);
    while (folded != NULL && folded->number <= stream->last_number) {
        equal = folded;
        folded = folded->next_equal;
    }
    if (folded == NULL)
        folded = line_append(fold, stream, time_ns, &key, equal);
    buffer_fini(&key);
    assert(folded->number > stream->last_number);
    ranges_add(&folded->ranks, stream->source.rank, stream->source.rank);
    stream->last_number = folded->number;
}

/* ---- unfinished lines ---- */

static void tail_end(struct output_fold *fold, struct fold_stream *stream)
{
    struct buffer tail = {0};

    if (stream->tail.length_bytes == 0)
        return;
    assert(fold->bytes >= stream->tail.length_bytes);
    buffer_swap(&tail, &stream->tail);
    list_remove(&stream->unfinished);
    fold->bytes -= tail.length_bytes;
    line_add(fold, stream, stream->tail_time_ns, (const char *)tail.data, tail.length_bytes);
    buffer_fini(&tail);
}

static void tail_append(struct output_fold *fold, struct fold_stream *stream, uint64_t time_ns,
                        const char *data, size_t data_bytes)
{
    if (data_bytes == 0)
        return;
    if (stream->tail.length_bytes == 0) {
        stream->tail_since_ns = loop_now_ns();
        list_append(&fold->unfinished, &stream->unfinished);
    }
    stream->tail_time_ns = time_ns;
    buffer_append(&stream->tail, data, data_bytes);
    fold->bytes += data_bytes;
    if (stream->tail.length_bytes >= OUTPUT_FOLD_LINE_BYTES)
        tail_end(fold, stream);
    while (fold->bytes > OUTPUT_FOLD_BYTES_MAX && !list_is_empty(&fold->unfinished))
        tail_end(fold, list_entry(list_first(&fold->unfinished), struct fold_stream, unfinished));
}

/* ---- time ---- */

static uint64_t tail_deadline_ns(const struct fold_stream *stream)
{
    return stream->tail_since_ns + OUTPUT_FOLD_WAIT_MS * (uint64_t)NS_PER_MS;
}

/* Of the first line and the oldest tail, the one that is due first. */
static void timer_set(struct output_fold *fold)
{
    const struct list_link *line = list_first(&fold->all);
    const struct list_link *tail = list_first(&fold->unfinished);
    uint64_t deadline_ns = UINT64_MAX;

    if (line != NULL)
        deadline_ns = list_entry(line, struct folded, all)->deadline_ns;
    if (tail != NULL) {
        uint64_t due_ns = tail_deadline_ns(list_entry(tail, struct fold_stream, unfinished));

        deadline_ns = due_ns < deadline_ns ? due_ns : deadline_ns;
    }
    if (deadline_ns == UINT64_MAX)
        loop_timer_cancel(fold->timer);
    else
        loop_timer_set(fold->timer, deadline_ns);
}

static void fold_wait_over(void *context)
{
    struct output_fold *fold = context;
    uint64_t now_ns = loop_now_ns();
    struct list_link *link;

    while ((link = list_first(&fold->unfinished)) != NULL) {
        struct fold_stream *stream = list_entry(link, struct fold_stream, unfinished);

        if (tail_deadline_ns(stream) > now_ns)
            break;
        tail_end(fold, stream);
    }
    while ((link = list_first(&fold->all)) != NULL &&
           list_entry(link, struct folded, all)->deadline_ns <= now_ns)
        line_leave(fold);
    timer_set(fold);
    fold_check(fold);
}

/* ---- the interface ---- */

struct output_fold *output_fold_create(struct loop *loop, output_fold_function *line, void *context)
{
    struct output_fold *fold = memory_allocate_zeroed(sizeof(*fold));

    assert(loop != NULL && line != NULL);
    fold->loop = loop;
    fold->line = line;
    fold->context = context;
    fold->streams = hash_map_create();
    fold->lines = hash_map_create();
    fold->timer = loop_timer_create(loop, fold_wait_over, fold);
    list_init(&fold->all);
    list_init(&fold->unfinished);
    return fold;
}

static struct fold_stream *stream_of(struct output_fold *fold,
                                     const struct output_fold_source *source)
{
    unsigned char key[2 * sizeof(uint32_t) + 1];
    struct fold_stream *stream;

    memcpy(key, &source->job, sizeof(uint32_t));
    memcpy(key + sizeof(uint32_t), &source->rank, sizeof(uint32_t));
    key[2 * sizeof(uint32_t)] = source->stream;
    stream = hash_map_get(fold->streams, key, sizeof(key));
    if (stream != NULL)
        return stream;
    stream = memory_allocate_zeroed(sizeof(*stream));
    stream->source = *source;
    list_link_init(&stream->unfinished);
    hash_map_put(fold->streams, key, sizeof(key), stream);
    return stream;
}

void output_fold_put(struct output_fold *fold, const struct output_fold_source *source,
                     uint64_t time_ns, const char *data, size_t data_bytes)
{
    struct fold_stream *stream = stream_of(fold, source);
    const char *newline;

    if (data_bytes == 0)
        tail_end(fold, stream);
    while (data_bytes > 0 && (newline = memchr(data, '\n', data_bytes)) != NULL) {
        size_t line_bytes = (size_t)(newline - data);

        if (stream->tail.length_bytes > 0) {
            stream->tail_time_ns = time_ns;
            buffer_append(&stream->tail, data, line_bytes);
            fold->bytes += line_bytes;
            tail_end(fold, stream);
        } else {
            line_add(fold, stream, time_ns, data, line_bytes);
        }
        data = newline + 1;
        data_bytes -= line_bytes + 1;
    }
    tail_append(fold, stream, time_ns, data, data_bytes);
    timer_set(fold);
    fold_check(fold);
}

void output_fold_release(struct output_fold *fold)
{
    struct list_link *link;

    while ((link = list_first(&fold->unfinished)) != NULL)
        tail_end(fold, list_entry(link, struct fold_stream, unfinished));
    while (!list_is_empty(&fold->all))
        line_leave(fold);
    timer_set(fold);
    fold_check(fold);
    assert(fold->bytes == 0);
}

void output_fold_drop(struct output_fold *fold)
{
    struct list_link *link;

    while ((link = list_first(&fold->unfinished)) != NULL) {
        struct fold_stream *stream = list_entry(link, struct fold_stream, unfinished);

        fold->bytes -= stream->tail.length_bytes;
        buffer_fini(&stream->tail);
        list_remove(link);
    }
    while (!list_is_empty(&fold->all))
        line_free(line_take_first(fold));
    timer_set(fold);
    fold_check(fold);
}

size_t output_fold_bytes(const struct output_fold *fold)
{
    return fold->bytes;
}

void output_fold_destroy(struct output_fold *fold)
{
    struct fold_stream *stream;
    size_t cursor = 0;

    if (fold == NULL)
        return;
    output_fold_drop(fold);
    while ((stream = hash_map_next(fold->streams, &cursor)) != NULL)
        free(stream);
    hash_map_destroy(fold->streams);
    hash_map_destroy(fold->lines);
    loop_timer_destroy(fold->timer);
    free(fold);
}

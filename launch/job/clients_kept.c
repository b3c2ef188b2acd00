/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/job/clients_kept.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"
#include "launch/proto/control.h"

#define HEADER_BYTES    21u          /* job, rank, stream, time, place: what follows is output */
#define PIECE_BYTES_MAX (16u * 1024) /* up to which output of one rank is joined */

struct kept_piece {
    struct list_link node;
    size_t bytes;
    unsigned char payload[];
};

struct clients_kept {
    struct list pieces;
    size_t bytes; /* of their payloads, and they themselves */
    uint64_t dropped_bytes;
};

static size_t piece_cost(const struct kept_piece *piece)
{
    return sizeof(*piece) + piece->bytes;
}

struct clients_kept *clients_kept_create(void)
{
    struct clients_kept *kept = memory_allocate_zeroed(sizeof(*kept));

    list_init(&kept->pieces);
    return kept;
}

static void drop_oldest(struct clients_kept *kept)
{
    struct kept_piece *piece = list_entry(list_first(&kept->pieces), struct kept_piece, node);

    assert(kept->bytes >= piece_cost(piece) && piece->bytes >= HEADER_BYTES);
    kept->bytes -= piece_cost(piece);
    kept->dropped_bytes += piece->bytes - HEADER_BYTES;
    list_remove(&piece->node);
    free(piece);
}

void clients_kept_destroy(struct clients_kept *kept)
{
    if (kept == NULL)
        return;
    while (!list_is_empty(&kept->pieces))
        drop_oldest(kept);
    free(kept);
}

/* The last piece, if it goes on with the same stream of the same rank, read at the same time.  A piece without output ends a line. */
static struct kept_piece *piece_to_join(const struct clients_kept *kept, const void *payload,
                                        size_t bytes)
{
    struct list_link *last = list_last(&kept->pieces);
    struct kept_piece *piece = last != NULL ? list_entry(last, struct kept_piece, node) : NULL;

    return piece != NULL && bytes > HEADER_BYTES && piece->bytes > HEADER_BYTES &&
                   piece->bytes + bytes <= PIECE_BYTES_MAX &&
                   memcmp(piece->payload, payload, HEADER_BYTES) == 0
               ? piece
               : NULL;
}

void clients_kept_add(struct clients_kept *kept, const void *payload, size_t bytes)
{
    struct kept_piece *piece = piece_to_join(kept, payload, bytes);
    size_t skip = piece != NULL ? HEADER_BYTES : 0;
    size_t before = piece != NULL ? piece->bytes : 0;

    assert(bytes >= HEADER_BYTES);
    if (piece != NULL) {
        list_remove(&piece->node);
        kept->bytes -= piece_cost(piece);
    }
    piece = memory_resize(piece, sizeof(*piece) + before + bytes - skip);
    memcpy(piece->payload + before, (const unsigned char *)payload + skip, bytes - skip);
    piece->bytes = before + bytes - skip;
    list_append(&kept->pieces, &piece->node);
    kept->bytes += piece_cost(piece);
    while (kept->bytes > CLIENTS_KEPT_BYTES_MAX)
        drop_oldest(kept);
}

void clients_kept_replay(const struct clients_kept *kept, uint32_t job, clients_kept_send *send,
                         void *context)
{
    struct buffer payload = {0};
    struct list_link *node, *spare;
    char text[96];

    if (kept->dropped_bytes > 0) {
        snprintf(text, sizeof(text), "the first %llu bytes that job %u wrote are not kept",
                 (unsigned long long)kept->dropped_bytes, job);
        control_put_job(job, &payload);
        control_text_encode(LOG_LEVEL_WARNING, text, &payload);
        send(context, CONTROL_TEXT, payload.data, payload.length_bytes);
        buffer_fini(&payload);
    }
    list_for_each(&kept->pieces, node, spare)
    {
        const struct kept_piece *piece = list_entry(node, struct kept_piece, node);

        send(context, CONTROL_OUTPUT, piece->payload, piece->bytes);
    }
}

/* ---- jobs that have ended ---- */

struct ended_job {
    uint32_t number;
    struct buffer end;
    struct clients_kept *kept; /* NULL: none, or dropped */
};

struct clients_ended {
    struct ended_job jobs[CLIENTS_ENDED_MAX]; /* a ring */
    uint32_t first;
    uint32_t count;
    size_t kept_bytes;
};

struct clients_ended *clients_ended_create(void)
{
    return memory_allocate_zeroed(sizeof(struct clients_ended));
}

static struct ended_job *ended_at(struct clients_ended *ended, uint32_t index)
{
    assert(index < ended->count);
    return &ended->jobs[(ended->first + index) % CLIENTS_ENDED_MAX];
}

static void drop_output(struct clients_ended *ended, struct ended_job *job)
{
    if (job->kept == NULL)
        return;
    assert(ended->kept_bytes >= job->kept->bytes);
    ended->kept_bytes -= job->kept->bytes;
    clients_kept_destroy(job->kept);
    job->kept = NULL;
}

static void drop_first(struct clients_ended *ended)
{
    struct ended_job *job = ended_at(ended, 0);

    drop_output(ended, job);
    buffer_fini(&job->end);
    ended->first = (ended->first + 1) % CLIENTS_ENDED_MAX;
    ended->count--;
}

void clients_ended_destroy(struct clients_ended *ended)
{
    while (ended->count > 0)
        drop_first(ended);
    assert(ended->kept_bytes == 0);
    free(ended);
}

void clients_ended_add(struct clients_ended *ended, uint32_t job, const struct buffer *end,
                       struct clients_kept *kept)
{
    struct ended_job *added;

    if (ended->count == CLIENTS_ENDED_MAX)
        drop_first(ended);
    ended->count++;
    added = ended_at(ended, ended->count - 1);
    *added = (struct ended_job){.number = job, .kept = kept};
    buffer_append(&added->end, end->data, end->length_bytes);
    ended->kept_bytes += kept != NULL ? kept->bytes : 0;
    for (uint32_t i = 0; ended->kept_bytes > CLIENTS_ENDED_BYTES_MAX; i++)
        drop_output(ended, ended_at(ended, i));
}

int clients_ended_replay(const struct clients_ended *ended, uint32_t job, clients_kept_send *send,
                         void *context)
{
    for (uint32_t i = 0; i < ended->count; i++) {
        const struct ended_job *found = &ended->jobs[(ended->first + i) % CLIENTS_ENDED_MAX];

        if (found->number != job)
            continue;
        if (found->kept != NULL)
            clients_kept_replay(found->kept, job, send, context);
        send(context, CONTROL_JOB_END, found->end.data, found->end.length_bytes);
        return 1;
    }
    return 0;
}

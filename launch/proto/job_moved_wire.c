/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/job_moved.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"
#include "launch/proto/job_spec.h"
#include "overlay/tree.h"

void job_moved_list_encode(const struct placement_move *moves, uint32_t count, struct buffer *out)
{
    assert(count <= JOB_MOVES_MAX);
    wire_put_varint(out, count);
    for (uint32_t i = 0; i < count; i++) {
        wire_put_varint(out, moves[i].from);
        wire_put_varint(out, moves[i].to);
    }
}

void job_moved_list_decode(struct job_moves *ret_moves, struct wire_reader *reader)
{
    uint64_t most = wire_left(reader) / 2 < JOB_MOVES_MAX ? wire_left(reader) / 2 : JOB_MOVES_MAX;
    uint32_t count = (uint32_t)wire_get_varint_max(reader, most);

    *ret_moves = (struct job_moves){.count = count};
    if (count == 0)
        return;
    ret_moves->items = memory_allocate_zeroed(count * sizeof(*ret_moves->items));
    for (uint32_t i = 0; i < count; i++) {
        ret_moves->items[i].from = (uint32_t)wire_get_varint_max(reader, TREE_PLACES_MAX);
        ret_moves->items[i].to = (uint32_t)wire_get_varint_max(reader, TREE_PLACES_MAX);
    }
}

void job_moved_fini(struct job_moved *message)
{
    ranges_fini(&message->places);
    free(message->moves.items);
    free(message->restarts);
    *message = (struct job_moved){.number = 0};
}

void job_moved_encode(const struct job_moved *message, enum job_message kind, struct buffer *out)
{
    assert(kind == JOB_MESSAGE_MOVED || kind == JOB_MESSAGE_RELAUNCH);
    assert(message->number > 0 && message->generation > 1);
    wire_put_u8(out, (uint8_t)kind);
    wire_put_u32(out, message->number);
    wire_put_u32(out, message->generation);
    ranges_encode(&message->places, out);
    job_moved_list_encode(message->moves.items, message->moves.count, out);
    wire_put_varint(out, message->restarts_count);
    for (uint32_t i = 0; i < message->restarts_count; i++)
        wire_put_varint(out, message->restarts[i]);
}

int job_moved_decode(struct job_moved *ret_message, struct wire_reader *reader)
{
    struct job_moved message = {.number = wire_get_u32(reader)};

    message.generation = wire_get_u32(reader);
    ranges_decode(reader, JOB_MOVES_MAX, &message.places);
    job_moved_list_decode(&message.moves, reader);
    message.restarts_count = (uint32_t)wire_get_varint_max(reader, wire_left(reader));
    if (message.restarts_count > 0)
        message.restarts = memory_allocate_zeroed(message.restarts_count * sizeof(uint32_t));
    for (uint32_t i = 0; i < message.restarts_count; i++)
        message.restarts[i] = (uint32_t)wire_get_varint_max(reader, JOB_RESTARTS_MAX);
    if (message.number == 0 || message.generation < 2 || message.moves.count == 0)
        wire_fail(reader);
    if (wire_status(reader) < 0) {
        job_moved_fini(&message);
        return -EBADMSG;
    }
    *ret_message = message;
    return 0;
}

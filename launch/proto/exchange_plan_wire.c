/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/exchange_plan.h"

#include <assert.h>
#include <errno.h>

#define MOVE_BYTES_MIN 4u

static void put_part(const struct exchange_plan_part *part, struct buffer *out)
{
    uint32_t step = 0;

    assert(part->steps <= EXCHANGE_PLAN_STEPS_MAX);
    wire_put_varint(out, part->steps);
    wire_put_varint(out, part->count);
    for (uint32_t i = 0; i < part->count; i++) {
        const struct exchange_plan_move *move = &part->moves[i];

        assert(move->step >= step && move->step < part->steps);
        wire_put_varint(out, move->step - step);
        wire_put_varint(out, 2 * (uint64_t)move->peer + move->is_send);
        wire_put_varint(out, move->first);
        wire_put_varint(out, move->blocks);
        step = move->step;
    }
}

static void get_part(struct wire_reader *reader, uint32_t places, uint32_t place,
                     struct exchange_plan_part *part)
{
    uint64_t step = 0;
    uint32_t count;

    part->steps = (uint32_t)wire_get_varint_max(reader, EXCHANGE_PLAN_STEPS_MAX);
    count = (uint32_t)wire_get_varint_max(reader, wire_left(reader) / MOVE_BYTES_MIN);
    for (uint32_t i = 0; i < count && wire_status(reader) == 0; i++) {
        struct exchange_plan_move move;
        uint64_t peer;

        step += wire_get_varint_max(reader, EXCHANGE_PLAN_STEPS_MAX);
        peer = wire_get_varint_max(reader, 2 * (uint64_t)places - 1);
        move = (struct exchange_plan_move){
            .step = (uint32_t)step, .peer = (uint32_t)(peer / 2), .is_send = peer % 2 == 1};
        move.first = (uint32_t)wire_get_varint_max(reader, places - 1);
        move.blocks = (uint32_t)wire_get_varint_max(reader, places);
        if (step >= part->steps || move.peer == place || move.blocks == 0)
            wire_fail(reader);
        else
            exchange_plan_part_add(part, &move);
    }
}

void exchange_plan_encode(const struct exchange_plan_part *parts, uint32_t places,
                          struct buffer *out)
{
    struct buffer part = {0};

    assert(places > 0 && places <= EXCHANGE_PLAN_PLACES_MAX);
    wire_put_varint(out, places);
    for (uint32_t i = 0; i < places; i++) {
        put_part(&parts[i], &part);
        wire_put_bytes(out, part.data, part.length_bytes);
        buffer_clear(&part);
    }
    buffer_fini(&part);
}

uint32_t exchange_plan_places(struct wire_bytes plan)
{
    struct wire_reader reader;
    uint32_t places;

    wire_reader_init(&reader, plan.data, plan.length_bytes);
    places = (uint32_t)wire_get_varint_max(&reader, EXCHANGE_PLAN_PLACES_MAX);
    return wire_status(&reader) < 0 ? 0 : places;
}

int exchange_plan_pick(struct wire_bytes plan, uint32_t places, uint32_t place,
                       struct exchange_plan_part *ret_part)
{
    struct exchange_plan_part part = {.count = 0};
    struct wire_bytes bytes = {.length_bytes = 0};
    struct wire_reader reader;

    assert(place < places);
    wire_reader_init(&reader, plan.data, plan.length_bytes);
    if (wire_get_varint_max(&reader, EXCHANGE_PLAN_PLACES_MAX) != places)
        return -EBADMSG;
    for (uint32_t i = 0; i <= place; i++)
        bytes = wire_get_bytes(&reader, EXCHANGE_PLAN_BYTES_MAX);
    if (wire_status(&reader) < 0)
        return -EBADMSG;
    wire_reader_init(&reader, bytes.data, bytes.length_bytes);
    get_part(&reader, places, place, &part);
    if (wire_finish(&reader) < 0) {
        exchange_plan_part_fini(&part);
        return -EBADMSG;
    }
    *ret_part = part;
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans of exchanges: launch/proto/exchange_plan.c and exchange_plan_wire.c. */
#include "config.h"

#include "launch/proto/exchange_plan.h"

#include <errno.h>

#include "test/support/tap.h"

#define PLACES 3u

static struct exchange_plan_part parts[PLACES];
static struct buffer encoded;

static void add(uint32_t place, uint32_t step, bool is_send, uint32_t peer, uint32_t first,
                uint32_t blocks)
{
    struct exchange_plan_move move = {
        .step = step, .is_send = is_send, .peer = peer, .first = first, .blocks = blocks};

    exchange_plan_part_add(&parts[place], &move);
    parts[place].steps = step + 1;
}

static void message(uint32_t step, uint32_t from, uint32_t to, uint32_t first, uint32_t blocks)
{
    add(from, step, true, to, first, blocks);
    add(to, step, false, from, first, blocks);
}

static int checked(uint32_t places)
{
    struct wire_bytes bytes;

    buffer_clear(&encoded);
    exchange_plan_encode(parts, PLACES, &encoded);
    bytes = (struct wire_bytes){encoded.data, encoded.length_bytes};
    return exchange_plan_check(bytes, places);
}

static void clear(void)
{
    for (uint32_t i = 0; i < PLACES; i++)
        exchange_plan_part_fini(&parts[i]);
}

/* To place 1, which has two steps more than others have, and from there. */
static void star(void)
{
    message(0, 0, 1, 0, 1);
    message(0, 2, 1, 2, 1);
    message(1, 1, 0, 1, 2);
    message(2, 1, 2, 0, 2);
}

static void test_blocks(void)
{
    struct exchange_plan_blocks set = {.words = {0}};
    struct exchange_plan_move most = {.first = 200, .blocks = 255},
                              one = {.first = 199, .blocks = 1};

    exchange_plan_blocks_add(&set, &most, 256);
    ok(exchange_plan_blocks_contain(&set, &most, 256), "they begin again at 0");
    ok(!exchange_plan_blocks_contain(&set, &one, 256), "all but one");
    ok(!exchange_plan_blocks_full(&set, 256), "not all");
    exchange_plan_blocks_add(&set, &one, 256);
    ok(exchange_plan_blocks_full(&set, 256), "all");
}

static void test_right(void)
{
    struct exchange_plan_part part;
    struct wire_bytes bytes;

    star();
    is_int(checked(PLACES), 0, "a star");
    is_int(checked(PLACES + 1), -ESTALE, "for another number of places");
    bytes = (struct wire_bytes){encoded.data, encoded.length_bytes};
    is_int(exchange_plan_pick(bytes, PLACES, 2, &part), 0, "one part of it");
    is_uint(part.count, 2, "has its moves");
    is_uint(part.steps, 3, "and steps");
    ok(part.moves[0].is_send && part.moves[0].step == 0 && part.moves[0].peer == 1 &&
           part.moves[0].first == 2 && part.moves[0].blocks == 1,
       "a send");
    ok(!part.moves[1].is_send && part.moves[1].step == 2 && part.moves[1].peer == 1 &&
           part.moves[1].first == 0 && part.moves[1].blocks == 2,
       "a receive");
    exchange_plan_part_fini(&part);
    for (size_t cut = 0; cut < encoded.length_bytes; cut++) {
        bytes.length_bytes = cut;
        if (exchange_plan_check(bytes, PLACES) == 0)
            break;
    }
    is_uint(bytes.length_bytes + 1, encoded.length_bytes, "no part of it is one");
    clear();
}

static void test_wrong(void)
{
    is_int(checked(PLACES), -EBADMSG, "none has what others have");
    star();
    add(2, 2, true, 0, 2, 1);
    is_int(checked(PLACES), -EBADMSG, "sent, and not received");
    clear();
    star();
    add(2, 2, false, 0, 2, 1);
    is_int(checked(PLACES), -EBADMSG, "received, and not sent");
    clear();
    star();
    add(0, 2, true, 2, 1, 1);
    add(2, 2, false, 0, 2, 1);
    is_int(checked(PLACES), -EBADMSG, "other blocks are received than are sent");
    clear();
    message(0, 0, 1, 0, 1);
    message(0, 1, 2, 0, 2);
    is_int(checked(PLACES), -EBADMSG, "sent in the step in which it comes");
    clear();
    message(0, 0, 1, 0, 1);
    message(0, 2, 1, 2, 1);
    message(1, 1, 0, 1, 2);
    is_int(checked(PLACES), -EBADMSG, "one does not get all");
    clear();
}

int main(void)
{
    test_blocks();
    test_right();
    test_wrong();
    buffer_fini(&encoded);
    return done_testing();
}

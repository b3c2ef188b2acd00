/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/exchange_plan.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/memory.h"

#define WORD_BITS 64u

void exchange_plan_part_add(struct exchange_plan_part *part, const struct exchange_plan_move *move)
{
    assert(move->blocks > 0 &&
           (part->count == 0 || part->moves[part->count - 1].step <= move->step));
    if (part->count == part->capacity) {
        part->capacity = part->capacity > 0 ? 2 * part->capacity : 16;
        part->moves = memory_resize(part->moves, part->capacity * sizeof(*part->moves));
    }
    part->moves[part->count++] = *move;
}

void exchange_plan_part_fini(struct exchange_plan_part *part)
{
    free(part->moves);
    *part = (struct exchange_plan_part){.count = 0};
}

/* ---- blocks ---- */

void exchange_plan_blocks_add(struct exchange_plan_blocks *set,
                              const struct exchange_plan_move *move, uint32_t places)
{
    assert(places <= EXCHANGE_PLAN_PLACES_MAX && move->first < places && move->blocks <= places);
    for (uint32_t i = 0, block = move->first; i < move->blocks; i++) {
        set->words[block / WORD_BITS] |= (uint64_t)1 << block % WORD_BITS;
        block = block + 1 < places ? block + 1 : 0;
    }
}

bool exchange_plan_blocks_contain(const struct exchange_plan_blocks *set,
                                  const struct exchange_plan_move *move, uint32_t places)
{
    assert(places <= EXCHANGE_PLAN_PLACES_MAX && move->first < places && move->blocks <= places);
    for (uint32_t i = 0, block = move->first; i < move->blocks; i++) {
        if ((set->words[block / WORD_BITS] >> block % WORD_BITS & 1) == 0)
            return false;
        block = block + 1 < places ? block + 1 : 0;
    }
    return true;
}

bool exchange_plan_blocks_full(const struct exchange_plan_blocks *set, uint32_t places)
{
    struct exchange_plan_move all = {.blocks = places};

    return exchange_plan_blocks_contain(set, &all, places);
}

/* ---- a check ---- */

struct check {
    struct exchange_plan_part *parts;
    struct exchange_plan_blocks *has;
    uint32_t *at; /* of each place: its first move of the step */
    uint32_t places;
    uint32_t steps;
};

static uint64_t hash_of(uint32_t from, uint32_t to, const struct exchange_plan_move *move)
{
    return hash_mix(hash_mix(((uint64_t)from << 32) | to) ^
                    (((uint64_t)move->first << 32) | move->blocks));
}

/* The sum over what is sent but for what is received: 0 if these are the same. */
static int check_sends(const struct check *check, uint32_t step)
{
    uint64_t sum = 0;

    for (uint32_t place = 0; place < check->places; place++) {
        const struct exchange_plan_part *part = &check->parts[place];

        for (uint32_t i = check->at[place]; i < part->count && part->moves[i].step == step; i++) {
            const struct exchange_plan_move *move = &part->moves[i];

            if (!move->is_send)
                sum -= hash_of(move->peer, place, move);
            else if (exchange_plan_blocks_contain(&check->has[place], move, check->places))
                sum += hash_of(place, move->peer, move);
            else
                return -EBADMSG;
        }
    }
    return sum == 0 ? 0 : -EBADMSG;
}

static void receive(struct check *check, uint32_t step)
{
    for (uint32_t place = 0; place < check->places; place++) {
        const struct exchange_plan_part *part = &check->parts[place];
        uint32_t at = check->at[place];

        for (; at < part->count && part->moves[at].step == step; at++)
            if (!part->moves[at].is_send)
                exchange_plan_blocks_add(&check->has[place], &part->moves[at], check->places);
        check->at[place] = at;
    }
}

static int check_steps(struct check *check)
{
    for (uint32_t i = 0; i < check->places; i++) {
        struct exchange_plan_move own = {.first = i, .blocks = 1};

        exchange_plan_blocks_add(&check->has[i], &own, check->places);
    }
    for (uint32_t step = 0; step < check->steps; step++) {
        if (check_sends(check, step) < 0)
            return -EBADMSG;
        receive(check, step);
    }
    for (uint32_t i = 0; i < check->places; i++) {
        assert(check->at[i] == check->parts[i].count);
        if (!exchange_plan_blocks_full(&check->has[i], check->places))
            return -EBADMSG;
    }
    return 0;
}

int exchange_plan_check(struct wire_bytes plan, uint32_t places)
{
    struct check check = {.places = places};
    uint32_t planned = exchange_plan_places(plan);
    int rc = 0;

    if (planned == 0 || planned != places)
        return planned == 0 ? -EBADMSG : -ESTALE;
    check.parts = memory_allocate_zeroed(places * sizeof(*check.parts));
    check.has = memory_allocate_zeroed(places * sizeof(*check.has));
    check.at = memory_allocate_zeroed(places * sizeof(*check.at));
    for (uint32_t i = 0; i < places && rc == 0; i++) {
        rc = exchange_plan_pick(plan, places, i, &check.parts[i]);
        if (check.parts[i].steps > check.steps)
            check.steps = check.parts[i].steps;
    }
    if (rc == 0)
        rc = check_steps(&check);
    for (uint32_t i = 0; i < places; i++)
        exchange_plan_part_fini(&check.parts[i]);
    free(check.parts);
    free(check.has);
    free(check.at);
    return rc;
}

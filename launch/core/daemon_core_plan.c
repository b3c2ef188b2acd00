/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of one place in an exchange by a plan (launch/proto/exchange_plan.h), which a measurement repeats
 * (daemon_core_bench.c): in each step it sends its blocks to other places, by the tree, and goes on to the next one
 * when what it receives in this one has arrived.  Each message says which step and repetition it belongs to; what comes
 * early is kept until its turn.  All meet between repetitions, so nothing is early by more than one.
 *
 * The blocks are real: after the first repetition their content is checked, after each that all are there.
 *
 * Cost, while a plan runs: its part, the blocks of all places, and what is early.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "launch/core/daemon_core_internal.h"
#include "launch/proto/bench.h"
#include "launch/proto/exchange_plan.h"

#define SET_BYTES_MAX ((size_t)EXCHANGE_PLAN_PLACES_MAX * sizeof(uint32_t))

struct plan_run {
    struct exchange_plan_part part;
    struct exchange_plan_blocks has;
    uint32_t number; /* of the measurement */
    uint32_t size_bytes;
    uint32_t *members; /* the places of the plan, as the instance numbers them */
    uint32_t places;
    uint32_t own; /* place in the plan */
    uint32_t round;
    uint32_t step;
    uint32_t at;  /* the first move of the step */
    uint32_t due; /* to be received in it */
    bool has_begun;
    uint8_t *has_come; /* of each move of the part: received in this repetition */
    uint8_t *blocks;   /* of all places, in their order */
    struct list early; /* struct early_move */
    uint32_t early_count;
};

/* A message of a step that is not yet, here. */
struct early_move {
    struct list_link node;
    uint32_t peer;
    struct bench_move move; /* its data follow */
};

static void early_free(struct plan_run *run, struct early_move *early)
{
    assert(run->early_count > 0);
    list_remove(&early->node);
    run->early_count--;
    free(early);
}

static void find_members(struct plan_run *run, const struct ranges *places, uint32_t place)
{
    uint32_t next = 0;

    assert(run->places * sizeof(*run->members) <= SET_BYTES_MAX);
    run->members = memory_allocate_zeroed(run->places * sizeof(*run->members));
    for (uint32_t i = 0; i < run->places && ranges_next(places, next, &next); i++) {
        if (next == place)
            run->own = i;
        run->members[i] = next++;
    }
}

struct plan_run *daemon_core_plan_create(const struct bench_order *order, uint32_t place)
{
    uint64_t places = ranges_count(&order->places);
    struct plan_run *run;

    assert(ranges_contains(&order->places, place));
    if (places > EXCHANGE_PLAN_PLACES_MAX)
        return NULL;
    run = memory_allocate_zeroed(sizeof(*run));
    list_init(&run->early);
    run->number = order->number;
    run->size_bytes = order->what.size_bytes;
    run->places = (uint32_t)places;
    find_members(run, &order->places, place);
    if (exchange_plan_pick(order->what.plan, run->places, run->own, &run->part) < 0) {
        daemon_core_plan_destroy(run);
        return NULL;
    }
    run->has_come = memory_allocate_zeroed(run->part.count + 1);
    run->blocks = memory_allocate_zeroed((size_t)run->places * run->size_bytes + 1);
    return run;
}

void daemon_core_plan_destroy(struct plan_run *run)
{
    if (run == NULL)
        return;
    while (!list_is_empty(&run->early))
        early_free(run, list_entry(list_first(&run->early), struct early_move, node));
    exchange_plan_part_fini(&run->part);
    free(run->members);
    free(run->has_come);
    free(run->blocks);
    free(run);
}

/* ---- blocks ---- */

/* What is in each block: nothing else in the same place of another, or of another measurement. */
static uint8_t content(const struct plan_run *run, uint32_t block, uint32_t byte)
{
    return (uint8_t)hash_mix(((uint64_t)run->number << 32 | block) + (uint64_t)byte / 8) +
           (uint8_t)byte;
}

static uint8_t *block_at(const struct plan_run *run, uint32_t block)
{
    assert(block < run->places);
    return run->blocks + (size_t)block * run->size_bytes;
}

/* Of the move's blocks, those up to the last place's; the others begin again at 0. */
static size_t head_bytes(const struct plan_run *run, const struct exchange_plan_move *move)
{
    uint32_t until_end = run->places - move->first;

    return (size_t)(move->blocks < until_end ? move->blocks : until_end) * run->size_bytes;
}

static size_t move_bytes(const struct plan_run *run, const struct exchange_plan_move *move)
{
    return (size_t)move->blocks * run->size_bytes;
}

static bool is_content_right(const struct plan_run *run)
{
    for (uint32_t block = 0; block < run->places; block++) {
        const uint8_t *data = block_at(run, block);

        for (uint32_t byte = 0; byte < run->size_bytes; byte++)
            if (data[byte] != content(run, block, byte))
                return false;
    }
    return true;
}

/* ---- steps ---- */

static void send_move(struct daemon_core *core, const struct plan_run *run,
                      const struct exchange_plan_move *move)
{
    struct bench_move head = {.number = run->number,
                              .round = run->round,
                              .step = run->step,
                              .first = move->first,
                              .blocks = move->blocks};
    size_t until_end = head_bytes(run, move);
    struct buffer out = {0};

    bench_move_encode(&head, &out);
    buffer_append(&out, block_at(run, move->first), until_end);
    buffer_append(&out, run->blocks, move_bytes(run, move) - until_end);
    core->tree->send(core->tree_context, run->members[move->peer], FRAME_BULK,
                     message_from_buffer(&out));
    buffer_fini(&out);
}

/* -EILSEQ: the step does not receive it. */
static int take(struct plan_run *run, uint32_t peer, const struct bench_move *came)
{
    const struct exchange_plan_part *part = &run->part;

    for (uint32_t i = run->at; i < part->count && part->moves[i].step == run->step; i++) {
        const struct exchange_plan_move *move = &part->moves[i];
        size_t until_end = head_bytes(run, move);

        if (move->is_send || move->peer != peer || move->first != came->first ||
            move->blocks != came->blocks || run->has_come[i])
            continue;
        if (came->data.length_bytes != move_bytes(run, move))
            return -EILSEQ;
        if (came->data.length_bytes > 0) {
            memcpy(block_at(run, move->first), came->data.data, until_end);
            memcpy(run->blocks, came->data.data + until_end, came->data.length_bytes - until_end);
        }
        exchange_plan_blocks_add(&run->has, move, run->places);
        run->has_come[i] = 1;
        assert(run->due > 0);
        run->due--;
        return 0;
    }
    return -EILSEQ;
}

static int take_early(struct plan_run *run)
{
    struct list_link *node, *spare;

    list_for_each(&run->early, node, spare)
    {
        struct early_move *early = list_entry(node, struct early_move, node);

        if (early->move.round != run->round || early->move.step != run->step)
            continue;
        if (take(run, early->peer, &early->move) < 0)
            return -EILSEQ;
        early_free(run, early);
    }
    return 0;
}

/* All is sent before anything of the step is taken: what had been there at its beginning. */
static int begin_step(struct daemon_core *core, struct plan_run *run)
{
    const struct exchange_plan_part *part = &run->part;

    assert(run->due == 0 && run->step < part->steps);
    while (run->at < part->count && part->moves[run->at].step < run->step)
        run->at++;
    for (uint32_t i = run->at; i < part->count && part->moves[i].step == run->step; i++) {
        const struct exchange_plan_move *move = &part->moves[i];

        if (!move->is_send)
            run->due++;
        else if (exchange_plan_blocks_contain(&run->has, move, run->places))
            send_move(core, run, move);
        else
            return -EILSEQ;
    }
    return take_early(run);
}

static int end_round(const struct plan_run *run)
{
    if (!exchange_plan_blocks_full(&run->has, run->places))
        return -EILSEQ;
    return run->round > 0 || is_content_right(run) ? 1 : -EILSEQ;
}

/* From the beginning of run->step on. */
static int go_on(struct daemon_core *core, struct plan_run *run)
{
    while (run->step < run->part.steps) {
        int rc = begin_step(core, run);

        if (rc < 0 || run->due > 0)
            return rc;
        run->step++;
    }
    return end_round(run);
}

int daemon_core_plan_begin(struct daemon_core *core, struct plan_run *run, uint32_t round)
{
    struct exchange_plan_move own = {.first = run->own, .blocks = 1};

    assert(run->due == 0 && round == run->round + run->has_begun);
    run->has_begun = true;
    run->round = round;
    run->step = run->at = 0;
    memset(run->has_come, 0, run->part.count);
    run->has = (struct exchange_plan_blocks){.words = {0}};
    exchange_plan_blocks_add(&run->has, &own, run->places);
    for (uint32_t byte = 0; byte < run->size_bytes && round == 0; byte++)
        block_at(run, run->own)[byte] = content(run, run->own, byte);
    return go_on(core, run);
}

static int keep(struct plan_run *run, uint32_t peer, const struct bench_move *came)
{
    struct early_move *early;

    if (run->early_count >= run->part.count)
        return -EILSEQ;
    early = memory_allocate_zeroed(sizeof(*early) + came->data.length_bytes);
    early->peer = peer;
    early->move = *came;
    early->move.data.data = (const unsigned char *)(early + 1);
    if (came->data.length_bytes > 0)
        memcpy(early + 1, came->data.data, came->data.length_bytes);
    list_append(&run->early, &early->node);
    run->early_count++;
    return 0;
}

static bool find_peer(const struct plan_run *run, uint32_t place, uint32_t *ret_peer)
{
    for (uint32_t i = 0; i < run->places; i++) {
        if (run->members[i] == place) {
            *ret_peer = i;
            return true;
        }
    }
    return false;
}

int daemon_core_plan_came(struct daemon_core *core, struct plan_run *run, uint32_t place,
                          const struct bench_move *move)
{
    uint32_t peer;
    int rc;

    assert(move->number == run->number);
    if (!find_peer(run, place, &peer))
        return -EILSEQ;
    if (!run->has_begun || move->round > run->round ||
        (move->round == run->round && move->step > run->step))
        return keep(run, peer, move);
    if (move->round < run->round || move->step < run->step)
        return -EILSEQ;
    rc = take(run, peer, move);
    if (rc < 0 || run->due > 0)
        return rc;
    run->step++;
    return go_on(core, run);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An exchange of much at one hop, place 1 of 7 with the parent 0 and the children 2 and 3, and frames that
 * come twice, too early, too late or of another attempt or round: what would end the operation too early,
 * or the daemon, is not taken, and what was sent or counted (overlay/operation.c) is not again.  And of the log: what an heir,
 * or who joins below one, need not hear again is not sent again.
 */
#include "config.h"

#include <string.h>

#include "overlay/stream_wire.h"
#include "test/support/core_bench.h"
#include "test/support/tap.h"

#define SET_ID      9
#define PIECE_BYTES 20000 /* of a member; more than goes inline */

static const struct operation_name key = {.set_id = SET_ID, .generation = 1, .owner = SET_ID};

/* first: of the set, so 1 is a member if it is 1. */
static void say_state(struct bench *bench, uint32_t from, uint32_t attempt,
                      enum overlay_part_state state, uint32_t first)
{
    struct range items[] = {{first, 4}};
    struct buffer size = {0};
    struct overlay_contribute contribute = {
        .key = key, .set = {.items = items, .count = 1}, .state = (uint8_t)state, .low = 1};
    struct frame frame;

    wire_put_varint(&size, PIECE_BYTES);
    if (state == OVERLAY_PART_SIZED || state == OVERLAY_PART_STORED)
        contribute.payload = (struct wire_bytes){size.data, size.length_bytes};
    overlay_encode_contribute(&contribute, attempt, &frame);
    bench_step_frame(bench, from, &frame);
    buffer_fini(&size);
}

static void say_go(struct bench *bench, uint32_t attempt, uint32_t round)
{
    struct stream_go go = {.name.key = key,
                           .algorithm = STREAM_MAIN_TREE,
                           .total_bytes = 4 * PIECE_BYTES,
                           .chunk_bytes = 4 * PIECE_BYTES};
    struct frame frame;

    stream_encode_go(&go, attempt, round, &frame);
    bench_step_frame(bench, 0, &frame);
}

static void say_done(struct bench *bench, uint32_t from, uint32_t attempt)
{
    struct frame frame;

    stream_encode_done(&key, attempt, &frame);
    bench_step_frame(bench, from, &frame);
}

static void say_over(struct bench *bench, uint32_t attempt)
{
    struct stream_over over = {.key = key, .stable = 1};
    struct frame frame;

    stream_encode_over(&over, attempt, &frame);
    bench_step_frame(bench, 0, &frame);
}

static void say_open(struct bench *bench, uint32_t from, uint32_t attempt, uint32_t round)
{
    struct stream_open open = {
        .name.key = key, .trees = STREAM_TREE_BOTH, .credit_bytes = 8 * PIECE_BYTES};
    struct frame frame;

    stream_encode_open(&open, attempt, round, &frame);
    bench_step_frame(bench, from, &frame);
}

static bool nobody_hears(const struct bench *bench)
{
    return bench_find(bench, OVERLAY_ACTION_SEND) == NULL &&
           bench_find(bench, OVERLAY_ACTION_CLOSE) == NULL;
}

static bool both_hear(const struct bench *bench, uint8_t type)
{
    return bench_sent(bench, 2, type) != NULL && bench_sent(bench, 3, type) != NULL;
}

static void open_quiet(struct bench *bench)
{
    bench_open(bench, 1, 7);
    bench_welcome(bench, 0, 1, 3, 0, 0);
    bench_adopt(bench, 2, 2, 2, 7);
    bench_adopt(bench, 3, 3, 3, 7);
}

/* Both children have said how much they have. */
static void open_middle(struct bench *bench, uint32_t first)
{
    open_quiet(bench);
    say_state(bench, 2, 0, OVERLAY_PART_SIZED, first);
    say_state(bench, 3, 0, OVERLAY_PART_SIZED, first);
}

static void call(struct bench *bench)
{
    static unsigned char data[PIECE_BYTES];
    struct range items[] = {{1, 4}};
    struct ranges set = {.items = items, .count = 1};
    struct message *payload = message_create(data, sizeof(data));

    bench_step(bench,
               (struct overlay_event){
                   .kind = OVERLAY_EVENT_CONTRIBUTE, .key = key, .set = &set, .payload = payload});
    message_release(payload);
}

/* ---- a relay ---- */

static void test_go(void)
{
    struct bench bench;

    open_quiet(&bench);
    say_state(&bench, 2, 0, OVERLAY_PART_SIZED, 2);
    say_go(&bench, 0, 0);
    ok(nobody_hears(&bench), "before all below have said what they have there is no GO");
    bench_close(&bench);
    open_middle(&bench, 2);
    ok(bench_sent(&bench, 0, OVERLAY_CONTRIBUTE) != NULL, "a relay says what is below");
    say_state(&bench, 3, 0, OVERLAY_PART_SIZED, 2);
    ok(nobody_hears(&bench), "what a child says again is not passed on again");
    say_go(&bench, 1, 0);
    ok(nobody_hears(&bench), "a GO of another attempt is not taken");
    say_go(&bench, 0, 0);
    ok(both_hear(&bench, OVERLAY_GO), "that of this attempt is");
    say_go(&bench, 0, 0);
    ok(nobody_hears(&bench), "the same again is not");
    say_go(&bench, 0, 1);
    ok(both_hear(&bench, OVERLAY_GO), "that of another round is");
    say_go(&bench, 0, 0);
    ok(nobody_hears(&bench), "that of the round before is not");
    bench_close(&bench);
}

static void say_broken(struct bench *bench, uint32_t from, uint32_t round)
{
    struct stream_name name = {.key = key};
    struct frame frame;

    stream_encode_broken(&name, 0, round, &frame);
    bench_step_frame(bench, from, &frame);
}

static void test_broken(void)
{
    struct bench bench;

    open_middle(&bench, 2);
    say_broken(&bench, 2, 0);
    ok(nobody_hears(&bench), "what does not go is not broken");
    say_go(&bench, 0, 0);
    say_state(&bench, 2, 0, OVERLAY_PART_DECIDED, 2);
    ok(nobody_hears(&bench), "while it goes a child's decision is not taken");
    say_broken(&bench, 2, 0);
    ok(bench_sent(&bench, 0, OVERLAY_BROKEN) != NULL, "that it is broken is passed on");
    say_broken(&bench, 3, 0);
    ok(nobody_hears(&bench), "once a round");
    say_go(&bench, 0, 1);
    say_broken(&bench, 2, 0);
    ok(nobody_hears(&bench), "and not of the round before");
    say_broken(&bench, 2, 1);
    ok(bench_sent(&bench, 0, OVERLAY_BROKEN) != NULL, "but of the next, too");
    bench_close(&bench);
}

static void test_done(void)
{
    struct bench bench;

    open_middle(&bench, 2);
    say_done(&bench, 2, 0);
    say_done(&bench, 3, 0);
    ok(nobody_hears(&bench), "nobody can have all before GO");
    say_go(&bench, 0, 0);
    say_done(&bench, 2, 0);
    say_done(&bench, 3, 1);
    ok(nobody_hears(&bench), "a DONE of another attempt does not count");
    say_done(&bench, 3, 0);
    ok(bench_sent(&bench, 0, OVERLAY_DONE) != NULL, "that of this attempt does");
    say_done(&bench, 3, 0);
    ok(nobody_hears(&bench), "the same again is not passed on again");
    bench_close(&bench);
}

static void test_over(void)
{
    struct bench bench;

    open_middle(&bench, 2);
    say_go(&bench, 0, 0);
    say_over(&bench, 1);
    ok(nobody_hears(&bench), "an OVER of another attempt is not taken");
    say_over(&bench, 0);
    ok(both_hear(&bench, OVERLAY_OVER), "that of this attempt is passed on");
    is_uint(overlay_kept_stream_bytes(bench.overlay), 0, "and nothing of the stream is kept");
    say_state(&bench, 2, 0, OVERLAY_PART_STORED, 2);
    ok(bench_sent(&bench, 2, OVERLAY_OVER) != NULL, "who still stores it is told");
    say_state(&bench, 3, 0, OVERLAY_PART_DECIDED, 2);
    say_state(&bench, 3, 0, OVERLAY_PART_HELD, 2);
    ok(nobody_hears(&bench), "a decision about what is over is not taken, and not asked for");
    say_go(&bench, 0, 0);
    ok(nobody_hears(&bench), "nor is a GO");
    bench_close(&bench);
}

/* ---- a member ---- */

static void test_over_before_done(void)
{
    struct bench bench;

    open_middle(&bench, 1);
    call(&bench);
    ok(bench_sent(&bench, 0, OVERLAY_CONTRIBUTE) != NULL, "a member has called, as all below it");
    say_over(&bench, 0);
    ok(nobody_hears(&bench), "what has not begun is not over");
    say_go(&bench, 0, 0);
    say_over(&bench, 0);
    ok(nobody_hears(&bench), "nor what the member itself has not got");
    ok(overlay_kept_stream_bytes(bench.overlay) > 0, "which goes on with its stream");
    bench_close(&bench);
}

static void test_old_round(void)
{
    struct bench bench;

    open_middle(&bench, 1);
    call(&bench);
    say_go(&bench, 0, 0);
    say_open(&bench, 2, 0, 0);
    ok(bench_sent(&bench, 2, OVERLAY_CHUNK) != NULL, "who opens its edge gets what there is");
    say_go(&bench, 0, 1);
    say_open(&bench, 2, 0, 0);
    ok(bench_sent(&bench, 2, OVERLAY_CHUNK) == NULL, "not so who opens it in the round before");
    say_open(&bench, 2, 0, 1);
    ok(bench_sent(&bench, 2, OVERLAY_CHUNK) != NULL, "but in this round, again");
    bench_close(&bench);
}

/* 5, which is no member, dies: another attempt, for which all say again what they have. */
static void test_old_attempt(void)
{
    struct overlay_entry entry = {.sequence = 1, .kind = OVERLAY_ENTRY_DEATH};
    struct ranges dead = {0};
    struct buffer text = {0};
    struct bench bench;
    struct frame frame;

    open_middle(&bench, 1);
    call(&bench);
    say_go(&bench, 0, 0);
    ranges_add(&dead, 5, 5);
    overlay_put_places(&dead, &text);
    entry.payload = (struct wire_bytes){text.data, text.length_bytes};
    overlay_encode_entry(&entry, &frame);
    bench_step_frame(&bench, 0, &frame);
    ranges_fini(&dead);
    buffer_fini(&text);
    is_uint(overlay_kept_stream_bytes(bench.overlay), 0,
            "of an attempt that is over nothing is kept");
    say_state(&bench, 2, 1, OVERLAY_PART_SIZED, 1);
    say_state(&bench, 3, 0, OVERLAY_PART_SIZED, 1);
    ok(nobody_hears(&bench), "what was said for it does not count");
    say_state(&bench, 3, 1, OVERLAY_PART_SIZED, 1);
    ok(bench_sent(&bench, 0, OVERLAY_CONTRIBUTE) != NULL, "what is said for the present one does");
    say_go(&bench, 1, 0);
    say_open(&bench, 2, 0, 0);
    ok(bench_sent(&bench, 2, OVERLAY_CHUNK) == NULL, "nobody gets bytes for having asked in it");
    say_open(&bench, 2, 1, 0);
    ok(bench_sent(&bench, 2, OVERLAY_CHUNK) != NULL, "who asks in the present one does");
    bench_close(&bench);
}

/* ---- the log ---- */

/* The first frame of its kind that the place is sent. */
static uint64_t welcome_base(const struct bench *bench, uint32_t place)
{
    struct overlay_welcome welcome;
    uint64_t base;

    if (bench_sent(bench, place, OVERLAY_WELCOME) == NULL)
        return UINT64_MAX;
    overlay_decode_welcome(bench_sent(bench, place, OVERLAY_WELCOME), &welcome);
    base = welcome.base;
    overlay_welcome_fini(&welcome);
    return base;
}

/* All of the range has the log up to 5, says the parent: so has who joins below. */
static void test_base(void)
{
    struct overlay_welcome welcome = {.range = {1, 3}, .base = 5, .head = 5, .lease.round = 1};
    struct bench bench;
    struct frame frame;

    bench_open(&bench, 1, 7);
    bench_step_up(&bench, 0);
    welcome.lease.echo_stamp_ns = bench.now_ns;
    overlay_encode_welcome(&welcome, &frame);
    bench_step_frame(&bench, 0, &frame);
    bench_adopt(&bench, 2, 2, 2, 7);
    is_uint(welcome_base(&bench, 2), 5, "who joins below begins with what all have");
    bench_close(&bench);
}

static uint32_t count_entries(const struct bench *bench, uint32_t place)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < bench->actions.count; i++)
        count += bench->actions.items[i].kind == OVERLAY_ACTION_SEND &&
                 bench->actions.items[i].place == place &&
                 bench->actions.items[i].frame.type == OVERLAY_ENTRY;
    return count;
}

static void broadcast(struct bench *bench)
{
    struct message *payload = message_create("x", 1);

    bench_step(bench, (struct overlay_event){.kind = OVERLAY_EVENT_BROADCAST, .payload = payload});
    message_release(payload);
}

/* Of three entries 2 has had two when 1, its parent, dies; 1 acknowledged none. */
static void test_heir(void)
{
    struct overlay_join join = {.version = OVERLAY_VERSION,
                                .places = 7,
                                .radix = 2,
                                .stamp_ns = 5 * MS,
                                .received = 2,
                                .scope = {1, 3}};
    struct bench bench;
    struct frame frame;

    bench_open(&bench, 0, 7);
    bench_adopt(&bench, 1, 1, 3, 7);
    bench_hear(&bench, 1);
    for (int i = 0; i < 3; i++)
        broadcast(&bench);
    is_uint(count_entries(&bench, 1), 1, "each entry is sent once");
    bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_DOWN, .place = 1});
    bench_log_deaths(&bench);
    bench_step_up(&bench, 2);
    join.addresses.count = 1;
    ranges_add(&join.arrived, 2, 3);
    overlay_encode_join(&join, &frame);
    overlay_join_fini(&join);
    bench_step_frame(&bench, 2, &frame);
    is_uint(count_entries(&bench, 2), 2, "an heir hears the third, and the death, and no other");
    bench_close(&bench);
}

int main(void)
{
    test_go();
    test_broken();
    test_done();
    test_over();
    test_over_before_done();
    test_old_round();
    test_old_attempt();
    test_base();
    test_heir();
    return done_testing();
}

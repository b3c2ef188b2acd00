/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who of a range that was cut off is looked for, and what its parent must know for that.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "test/support/core_bench.h"
#include "test/support/tap.h"

/* 1 dies.  Its heir, of which is known where it listens, does not come. */
static void lose_head(struct bench *bench)
{
    const struct addresses addresses = {.count = 1, .items = {{4, {2}}}};
    struct range items[] = {{1, 3}};
    struct ranges arrived = {.items = items, .count = 1};
    struct buffer heirs = {0};
    struct frame frame;

    bench_open(bench, 0, 7);
    bench_adopt(bench, 1, 1, 3, 7);
    overlay_encode_arrived(&arrived, &frame);
    bench_step_frame(bench, 1, &frame);
    overlay_put_heir(2, &addresses, &heirs);
    overlay_encode_heirs(1, &heirs, &frame);
    buffer_fini(&heirs);
    bench_step_frame(bench, 1, &frame);
    bench_step(bench, (struct overlay_event){
                          .kind = OVERLAY_EVENT_DOWN, .place = 1, .loss = ENDPOINT_LOSS_CLOSED});
}

/* Every attempt to reach the heir ends so; after how many ms is its death told?  0: not in a lease. */
static uint64_t lost_after(struct bench *bench, enum endpoint_loss loss)
{
    uint64_t begin_ns = bench->now_ns;

    while (bench->now_ns < begin_ns + 7900 * MS) {
        const struct overlay_action *connect = bench_find(bench, OVERLAY_ACTION_CONNECT);
        const struct overlay_action *dead;

        if (connect != NULL && connect->place == 2 && loss == ENDPOINT_LOSS_COUNT) {
            bench_step_up(bench, 2); /* it has a parent, and wants none */
            bench_step(bench, (struct overlay_event){.kind = OVERLAY_EVENT_DOWN,
                                                     .place = 2,
                                                     .loss = ENDPOINT_LOSS_CLOSED});
        } else if (connect != NULL) {
            bench_step(bench, (struct overlay_event){.kind = OVERLAY_EVENT_DOWN,
                                                     .place = connect->place,
                                                     .loss = loss});
        } else {
            bench_step(bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
        }
        dead = bench_find(bench, OVERLAY_ACTION_DEAD);
        if (dead != NULL && ranges_contains(&dead->places, 2))
            return (bench->now_ns - begin_ns) / MS;
        bench->now_ns += 10 * MS;
    }
    return 0;
}

static void test_heir(void)
{
    static const struct {
        enum endpoint_loss loss; /* COUNT: it takes the connection itself */
        uint64_t least_ms;
        uint64_t most_ms;
        const char *what;
    } cases[] = {
        {ENDPOINT_LOSS_CLOSED, 1000, 2500, "an heir that closes twice is dead"},
        {ENDPOINT_LOSS_REFUSED, 1000, 2500, "and one where nobody listens"},
        {ENDPOINT_LOSS_UNREACHABLE, 1000, 2500, "and one whose machine does not answer"},
        {ENDPOINT_LOSS_SILENT, 4000, 5000, "one that is silent has half a lease"},
        {ENDPOINT_LOSS_COUNT, 0, 0, "one that answers is not judged"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bench bench;
        uint64_t after_ms;

        lose_head(&bench);
        after_ms = lost_after(&bench, cases[i].loss);
        ok(after_ms >= cases[i].least_ms && after_ms <= cases[i].most_ms, "%s (%llu ms)",
           cases[i].what, (unsigned long long)after_ms);
        bench_close(&bench);
    }
}

/* The heir has a parent that is stopped.  When it comes at last it is just being looked for again: its
 * link is up, and what it asks is on its way. */
static void test_comes_late(void)
{
    struct bench bench;
    uint64_t begin_ns;
    bool is_lost = false;

    lose_head(&bench);
    begin_ns = bench.now_ns;
    for (uint32_t i = 0; bench.now_ns < begin_ns + 5500 * MS; i++) {
        const struct overlay_action *connect = bench_find(&bench, OVERLAY_ACTION_CONNECT);
        const struct overlay_action *dead = bench_find(&bench, OVERLAY_ACTION_DEAD);

        is_lost = is_lost || (dead != NULL && ranges_contains(&dead->places, 2));
        if (connect != NULL) {
            bench_step_up(&bench, 2);
            bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_DOWN,
                                                      .place = 2,
                                                      .loss = ENDPOINT_LOSS_CLOSED});
        } else if (bench.now_ns == begin_ns + 4500 * MS) {
            bench_step_up(&bench, 2);
        } else {
            bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
        }
        bench.now_ns += 10 * MS;
    }
    ok(!is_lost, "an heir whose link has just come up is not judged by its silence");
    bench_close(&bench);
}

/* 2 asks the root and is sent on to 1, which is lost before it has told of it. */
static void test_sent_on(void)
{
    const struct overlay_action *connect;
    struct bench bench;
    uint64_t begin_ns;

    bench_open(&bench, 0, 7);
    bench_adopt(&bench, 1, 1, 3, 7);
    bench_hear(&bench, 1);
    bench_adopt(&bench, 2, 2, 2, 7);
    ok(bench_sent(&bench, 2, OVERLAY_REDIRECT) != NULL, "who belongs below a child is sent there");
    bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_DOWN, .place = 2});
    bench_step(&bench, (struct overlay_event){
                           .kind = OVERLAY_EVENT_DOWN, .place = 1, .loss = ENDPOINT_LOSS_CLOSED});
    begin_ns = bench.now_ns;
    do {
        bench.now_ns += 10 * MS;
        bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
        connect = bench_find(&bench, OVERLAY_ACTION_CONNECT);
    } while (connect == NULL && bench.now_ns < begin_ns + 2000 * MS);
    ok(connect != NULL && connect->place == 2, "and looked for when that is lost (%llu ms)",
       (unsigned long long)((bench.now_ns - begin_ns) / MS));
    bench_close(&bench);
}

/* After how many ms is a place dead that is not known to be well? */
static uint64_t dead_after(struct bench *bench, uint64_t begin_ns, uint32_t place)
{
    while (bench->now_ns < begin_ns + 9000 * MS) {
        const struct overlay_action *dead = bench_find(bench, OVERLAY_ACTION_DEAD);

        if (dead != NULL && ranges_contains(&dead->places, place))
            break;
        bench->now_ns += 10 * MS;
        bench_step(bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
    }
    return (bench->now_ns - begin_ns) / MS;
}

/* 1, of 1-7, dies, and nothing is known of 2 and of 3 and 4 below it.  5 comes.  If 2 is stopped 3 and 4
 * do not notice before 5/8 of a lease. */
static void test_unknown(void)
{
    struct range items[] = {{1, 7}};
    struct ranges arrived = {.items = items, .count = 1};
    struct bench bench;
    struct frame frame;
    uint64_t begin_ns;
    uint64_t head_ms;
    uint64_t below_ms;

    bench_open(&bench, 0, 15);
    bench_adopt(&bench, 1, 1, 7, 15);
    overlay_encode_arrived(&arrived, &frame);
    bench_step_frame(&bench, 1, &frame);
    begin_ns = bench.now_ns;
    bench_step(&bench, (struct overlay_event){
                           .kind = OVERLAY_EVENT_DOWN, .place = 1, .loss = ENDPOINT_LOSS_CLOSED});
    bench.now_ns += 250 * MS; /* what is due is not due at a heartbeat */
    bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
    bench_adopt(&bench, 5, 5, 7, 15);
    head_ms = dead_after(&bench, begin_ns, 2);
    below_ms = dead_after(&bench, begin_ns, 3);
    ok(head_ms >= 4000 && head_ms < 4100,
       "an heir of whom nothing is known has half a lease (%llu ms)", (unsigned long long)head_ms);
    ok(below_ms >= 7000 && below_ms < 7100, "those below it have the time to leave it (%llu ms)",
       (unsigned long long)below_ms);
    bench_close(&bench);
}

/* ---- what the parent is told ---- */

/* Those of whom a HEIRS to the parent says where they listen. */
static void is_reported(const struct bench *bench, const char *places, const char *what)
{
    const struct frame *frame = bench_sent(bench, 1, OVERLAY_HEIRS);
    char text[64] = "";
    struct wire_reader reader;
    struct overlay_heir heir;

    for (uint32_t left = frame != NULL ? overlay_open_heirs(frame->payload, &reader) : 0; left > 0;
         left--) {
        overlay_get_heir(&reader, &heir);
        snprintf(text + strlen(text), sizeof(text) - strlen(text), " %u", heir.place);
    }
    is_string(text, places, "%s", what);
}

static void tell_heirs(struct bench *bench, uint32_t from, uint32_t place)
{
    const struct addresses addresses = {.count = 1, .items = {{4, {(uint8_t)place}}}};
    struct buffer heirs = {0};
    struct frame frame;

    overlay_put_heir(place, &addresses, &heirs);
    overlay_encode_heirs(1, &heirs, &frame);
    buffer_fini(&heirs);
    bench_step_frame(bench, from, &frame);
}

/* 2 heads 2-8 of 31; its children are 3, of 3-5, and 6, of 6-8. */
static void open_middle(struct bench *bench)
{
    bench_open(bench, 2, 31);
    bench_welcome(bench, 1, 2, 8, 0, 0);
}

static void child_is_whole(struct bench *bench, uint32_t place)
{
    struct range items[] = {{place, place + 2}};
    struct ranges arrived = {.items = items, .count = 1};
    struct frame frame;

    overlay_encode_arrived(&arrived, &frame);
    bench_step_frame(bench, place, &frame);
}

static void test_told_when_whole(void)
{
    struct bench bench;

    open_middle(&bench);
    bench_adopt(&bench, 3, 3, 5, 31);
    is_reported(&bench, "", "who joins is not told of at once, as others follow");
    tell_heirs(&bench, 3, 4);
    child_is_whole(&bench, 3);
    bench_adopt(&bench, 6, 6, 8, 31);
    child_is_whole(&bench, 6);
    ok(bench_sent(&bench, 1, OVERLAY_ARRIVED) != NULL, "the parent hears that all have arrived");
    is_reported(&bench, " 3 6 4", "and where they listen, the children first");
    bench_close(&bench);
}

static void test_told_soon(void)
{
    struct bench bench;

    open_middle(&bench);
    bench_adopt(&bench, 3, 3, 5, 31);
    bench.now_ns += 40 * MS;
    bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
    tell_heirs(&bench, 3, 4);
    is_reported(&bench, "", "while some are missing a sixteenth of a heartbeat passes");
    bench.now_ns += 23 * MS;
    bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
    is_reported(&bench, " 3 4", "before the parent is told, of all changes together");
    bench.now_ns += 100 * MS;
    bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
    is_reported(&bench, "", "once");
    bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_DOWN, .place = 1});
    bench_welcome(&bench, 0, 1, 8, 0, 0);
    ok(bench_sent(&bench, 0, OVERLAY_HEIRS) != NULL, "a new parent is told at once");
    bench_close(&bench);
}

int main(void)
{
    test_told_when_whole();
    test_told_soon();
    test_heir();
    test_comes_late();
    test_sent_on();
    test_unknown();
    return done_testing();
}

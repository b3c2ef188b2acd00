/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A place that seeks a parent, and its present and its next parent: none of them may take the others
 * for dead because one is stopped or has not answered yet.
 */
#include "config.h"

#include "test/support/core_bench.h"
#include "test/support/tap.h"

/* It is up, but does not speak: there is no need to wait for it to start. */
static void test_nearest_is_stopped(void)
{
    const struct overlay_action *connect;
    struct bench bench;

    bench_open(&bench, 3, 15);
    bench_step(&bench, (struct overlay_event){
                           .kind = OVERLAY_EVENT_DOWN, .place = 2, .loss = ENDPOINT_LOSS_SILENT});
    connect = bench_find(&bench, OVERLAY_ACTION_CONNECT);
    ok(connect != NULL && connect->place == 1,
       "if the nearest is stopped the next is asked at once");
    bench_close(&bench);
}

/* Below 2, which is below 1, whose way to the root has been broken for as long as an orphan seeks. */
static void lose_cut_off_parent(struct bench *bench)
{
    struct overlay_lease wave = {.round = 1, .cut_ns = 4000 * MS + 1};
    struct frame frame;

    *bench = (struct bench){.overlay = bench_make_core(3, 15), .now_ns = 6000 * MS};
    bench_step(bench, (struct overlay_event){.kind = OVERLAY_EVENT_START});
    bench_welcome(bench, 2, 3, 3, 0, 0);
    wave.echo_stamp_ns = bench->now_ns;
    overlay_encode_lease(&wave, &frame);
    bench_step_frame(bench, 2, &frame);
    bench_step(bench, (struct overlay_event){
                          .kind = OVERLAY_EVENT_DOWN, .place = 2, .loss = ENDPOINT_LOSS_CLOSED});
}

/* Of those above one is stopped and one is well; the time of seeking is over. */
static void test_orphan_asks_all(void)
{
    const struct overlay_action *connect;
    struct bench bench;
    uint64_t begin_ns;

    lose_cut_off_parent(&bench);
    connect = bench_find(&bench, OVERLAY_ACTION_CONNECT);
    ok(connect != NULL && connect->place == 1,
       "an orphan that is late connects to one who is stopped");
    begin_ns = bench.now_ns;
    do {
        bench.now_ns += 10 * MS;
        bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
        connect = bench_find(&bench, OVERLAY_ACTION_CONNECT);
    } while (connect == NULL && bench_find(&bench, OVERLAY_ACTION_ENDED) == NULL &&
             bench.now_ns < begin_ns + 9000 * MS);
    ok(connect != NULL && connect->place == 0,
       "it does not end before it has asked the next (%llu ms)",
       (unsigned long long)((bench.now_ns - begin_ns) / MS));
    bench_close(&bench);
}

/* Who seeks a parent, at somebody who is stopped, is looked for from above. */
static void test_orphan_is_sought(void)
{
    struct overlay_redirect redirect = {.place = 2, .whole = true};
    struct bench bench;
    struct frame frame;

    bench_open(&bench, 3, 7);
    bench_welcome(&bench, 1, 3, 3, 0, 0);
    bench_step_up(&bench, 0);
    ok(bench_closed(&bench, 0), "who has a parent closes what those above it connect");
    bench_step(&bench, (struct overlay_event){
                           .kind = OVERLAY_EVENT_DOWN, .place = 1, .loss = ENDPOINT_LOSS_CLOSED});
    bench_step_up(&bench, 0);
    overlay_encode_redirect(&redirect, &frame);
    bench_step_frame(&bench, 0, &frame);
    ok(bench_find(&bench, OVERLAY_ACTION_CONNECT)->place == 2, "an orphan is sent to another");
    bench_step_up(&bench, 0);
    ok(bench_closed(&bench, 2) && bench_sent(&bench, 0, OVERLAY_JOIN) != NULL,
       "if somebody above connects meanwhile it is asked, and the other left");
    overlay_encode_redirect(&redirect, &frame);
    bench_step_frame(&bench, 0, &frame);
    bench_step_up(&bench, 2);
    ok(bench_sent(&bench, 2, OVERLAY_JOIN) != NULL, "which may send it back there");
    bench_step_up(&bench, 0);
    ok(bench_closed(&bench, 2) && bench_sent(&bench, 0, OVERLAY_JOIN) != NULL,
       "who has been asked and does not answer is left, too");
    bench_step_up(&bench, 0);
    ok(!bench_closed(&bench, 0) && bench_sent(&bench, 0, OVERLAY_JOIN) != NULL,
       "who has been asked is asked again by a new link");
    bench_close(&bench);
}

/* A guest asks another place just when WELCOME is sent to it. */
static void test_unheard(void)
{
    const struct overlay_action *connect;
    struct bench bench;
    struct frame frame;
    uint64_t begin_ns;

    bench_open(&bench, 0, 3);
    bench_adopt(&bench, 1, 1, 1, 3);
    bench_step(&bench, (struct overlay_event){
                           .kind = OVERLAY_EVENT_DOWN, .place = 1, .loss = ENDPOINT_LOSS_CLOSED});
    bench_log_deaths(&bench);
    ok(bench_find(&bench, OVERLAY_ACTION_DEAD) == NULL,
       "who closes before it has taken WELCOME is not dead");
    begin_ns = bench.now_ns;
    do {
        bench.now_ns += 10 * MS;
        bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
        connect = bench_find(&bench, OVERLAY_ACTION_CONNECT);
    } while (connect == NULL && bench.now_ns < begin_ns + 4000 * MS);
    ok(connect != NULL && connect->place == 1, "it is looked for (%llu ms)",
       (unsigned long long)((bench.now_ns - begin_ns) / MS));
    bench_step(&bench, (struct overlay_event){
                           .kind = OVERLAY_EVENT_DOWN, .place = 1, .loss = ENDPOINT_LOSS_UNKNOWN});
    bench_step_up(&bench, 1);
    bench_make_join(1, 1, 1, 3, &frame);
    bench_step_frame(&bench, 1, &frame);
    ok(bench_sent(&bench, 1, OVERLAY_WELCOME) != NULL, "and welcome again");
    bench_hear(&bench, 1);
    bench_step(&bench, (struct overlay_event){
                           .kind = OVERLAY_EVENT_DOWN, .place = 1, .loss = ENDPOINT_LOSS_CLOSED});
    bench_log_deaths(&bench);
    ok(bench_find(&bench, OVERLAY_ACTION_DEAD) != NULL, "who has taken it is");
    bench_close(&bench);
}

/* 1 is stopped for so long that its child leaves it, but for its parent, too. */
static void test_left_while_stalled(void)
{
    static const struct {
        uint64_t stall_ms;
        uint64_t later_ms;
        enum overlay_action_kind kind;
        const char *what;
    } cases[] = {
        {2500, 0, OVERLAY_ACTION_SEND, "who loses a child in a short stall reports it"},
        {6000, 0, OVERLAY_ACTION_ENDED, "who is left in a long one ends"},
        {6000, 1100, OVERLAY_ACTION_SEND, "and reports who leaves it a heartbeat later"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bench bench;

        bench_open(&bench, 1, 7);
        bench_welcome(&bench, 0, 1, 3, 0, 0);
        bench_adopt(&bench, 2, 2, 2, 7);
        bench_hear(&bench, 2);
        bench.now_ns += cases[i].stall_ms * MS;
        bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
        bench_hear(&bench, 2); /* it said so before it left */
        for (uint64_t later_ms = 0; later_ms < cases[i].later_ms; later_ms += 100) {
            bench.now_ns += 100 * MS;
            bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
        }
        bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_DOWN,
                                                  .place = 2,
                                                  .loss = ENDPOINT_LOSS_CLOSED});
        ok(bench_find(&bench, cases[i].kind) != NULL &&
               (bench_sent(&bench, 0, OVERLAY_LOST) != NULL) ==
                   (cases[i].kind == OVERLAY_ACTION_SEND),
           "%s", cases[i].what);
        bench_close(&bench);
    }
}

/* 2 is a leaf, and has had nothing to do for long when 1 dies: it inherits 3, which is lost. */
static void test_first_child(void)
{
    struct overlay_entry entry = {.sequence = 1, .kind = OVERLAY_ENTRY_DEATH};
    struct overlay_welcome welcome = {.range = {1, 3}, .head = 1, .closed = 1};
    struct ranges dead = {0};
    struct buffer text = {0};
    struct bench bench;
    struct frame frame;

    ranges_add(&dead, 1, 1);
    overlay_put_places(&dead, &text);
    ranges_fini(&dead);
    bench_open(&bench, 2, 7);
    bench_welcome(&bench, 1, 2, 2, 0, 0);
    bench.now_ns += 4600 * MS;
    bench_step(&bench, (struct overlay_event){
                           .kind = OVERLAY_EVENT_DOWN, .place = 1, .loss = ENDPOINT_LOSS_CLOSED});
    bench_step_up(&bench, 0);
    welcome.lease.echo_stamp_ns = bench.now_ns;
    overlay_encode_welcome(&welcome, &frame);
    bench_step_frame(&bench, 0, &frame);
    entry.payload = (struct wire_bytes){text.data, text.length_bytes};
    overlay_encode_entry(&entry, &frame);
    bench_step_frame(&bench, 0, &frame);
    buffer_fini(&text);
    bench_adopt(&bench, 3, 3, 3, 7);
    bench_hear(&bench, 3);
    bench_step(&bench, (struct overlay_event){
                           .kind = OVERLAY_EVENT_DOWN, .place = 3, .loss = ENDPOINT_LOSS_CLOSED});
    ok(bench_sent(&bench, 0, OVERLAY_LOST) != NULL, "who gets a first child has not stalled");
    bench_close(&bench);
}

int main(void)
{
    test_nearest_is_stopped();
    test_orphan_asks_all();
    test_orphan_is_sought();
    test_unheard();
    test_left_while_stalled();
    test_first_child();
    return done_testing();
}

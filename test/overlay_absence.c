/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who of a range that was cut off is looked for, and what its parent must know for that.
 */
#include "config.h"

#include "test/core_bench.h"
#include "test/tap.h"

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
                          .kind = OVERLAY_EVENT_DOWN, .place = 1, .loss = NODE_LOSS_CLOSED});
}

/* Every attempt to reach the heir ends so; after how many ms is its death told?  0: not in a lease. */
static uint64_t lost_after(struct bench *bench, enum node_loss loss)
{
    uint64_t begin_ns = bench->now_ns;

    while (bench->now_ns < begin_ns + 7900 * MS) {
        const struct overlay_action *connect = bench_find(bench, OVERLAY_ACTION_CONNECT);
        const struct overlay_action *dead;

        if (connect != NULL && connect->place == 2 && loss == NODE_LOSS_COUNT) {
            bench_step_up(bench, 2); /* it has a parent, and wants none */
            bench_step(bench, (struct overlay_event){.kind = OVERLAY_EVENT_DOWN,
                                                     .place = 2,
                                                     .loss = NODE_LOSS_CLOSED});
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
        enum node_loss loss; /* COUNT: it takes the connection itself */
        uint64_t least_ms;
        uint64_t most_ms;
        const char *what;
    } cases[] = {
        {NODE_LOSS_CLOSED, 1000, 2500, "an heir that refuses twice is dead"},
        {NODE_LOSS_UNREACHABLE, 1000, 2500, "and one whose machine does not answer"},
        {NODE_LOSS_SILENT, 4000, 5000, "one that is silent has half a lease"},
        {NODE_LOSS_COUNT, 0, 0, "one that answers is not judged"},
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

int main(void)
{
    test_heir();
    return done_testing();
}

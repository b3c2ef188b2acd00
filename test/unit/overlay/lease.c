/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How often waves are sent.
 */
#include "config.h"

#include "overlay/core.h"
#include "test/support/core_bench.h"
#include "test/support/tap.h"

/* How many waves the root sends in a minute in which its child answers. */
static uint32_t waves_of(struct bench *bench)
{
    uint32_t waves = 0;

    for (uint32_t i = 0; i < 120; i++) {
        bench->now_ns += 500 * MS;
        bench_step(bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
        waves += bench_sent(bench, 1, OVERLAY_LEASE) != NULL;
        bench_hear(bench, 1);
    }
    return waves;
}

static void test_calm(void)
{
    struct bench bench;

    bench_open(&bench, 0, 3);
    bench_adopt(&bench, 1, 1, 1, 3);
    bench_adopt(&bench, 2, 2, 2, 3);
    bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_DOWN, .place = 2});
    bench_log_deaths(&bench);
    is_uint(waves_of(&bench), 60, "with a short lease a heartbeat a second");
    bench_close(&bench);
    bench_open_default(&bench, 0, 3);
    bench_adopt(&bench, 1, 1, 1, 3);
    is_uint(waves_of(&bench), 60, "so with a long one while a place is missing");
    bench_adopt(&bench, 2, 2, 2, 3);
    bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_DOWN, .place = 2});
    bench_log_deaths(&bench);
    is_uint(waves_of(&bench), 15, "when all have joined every fourth is enough");
    ok(!bench_closed(&bench, 1), "for who answers");
    bench_close(&bench);
}

int main(void)
{
    test_calm();
    return done_testing();
}

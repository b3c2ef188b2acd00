/* SPDX-License-Identifier: BSD-3-Clause */
/* How many links beside the tree one place has, and who of the two closes them: one core. */
#include "config.h"

#include "base/address_wire.h"
#include "overlay/overlay.h"
#include "overlay/overlay_wire.h"
#include "overlay/stream_wire.h"
#include "overlay/tree.h"
#include "test/support/core_bench.h"
#include "test/support/tap.h"

#define PLACES 64
#define UPPER  63 /* whom all others ask */
#define LOWER  1  /* who would ask all others */

static uint32_t parent_of(uint32_t place)
{
    struct tree tree = {.places = PLACES, .radix = 2};

    return tree_parent(&tree, place);
}

static void open_joined(struct bench *bench, uint32_t place)
{
    bench_open(bench, place, PLACES);
    bench_welcome(bench, parent_of(place), place, place, MS, 0);
}

/* A message along the tree to the bench's place. */
static void routed(struct bench *bench, uint8_t type, uint32_t source, uint32_t place)
{
    struct addresses addresses = {.count = 1, .items = {{4, {(uint8_t)source}}}};
    struct overlay_data data = {.source = source, .destination = place};
    struct buffer packed = {0};
    struct frame frame;

    if (type == OVERLAY_ASK)
        address_wire_put(&addresses, &packed);
    data.payload = (struct wire_bytes){packed.data, packed.length_bytes};
    overlay_encode_data(type, FRAME_COLLECTIVE, &data, &frame);
    bench_step_frame(bench, parent_of(place), &frame);
    buffer_fini(&packed);
}

/* Who has been told, or 0. */
static uint32_t answered(const struct bench *bench, uint32_t place)
{
    const struct frame *frame = bench_sent(bench, parent_of(place), OVERLAY_ANSWER);
    struct overlay_data data;

    if (frame == NULL || overlay_decode_data(frame, &data) < 0)
        return 0;
    return data.destination;
}

/* The parent goes on to be heard. */
static void pass_seconds(struct bench *bench, uint32_t place, uint32_t seconds)
{
    for (uint32_t i = 0; i < seconds; i++) {
        struct overlay_lease wave = {.round = 2 + i};
        struct frame frame;

        bench->now_ns += 1000 * MS;
        wave.echo_stamp_ns = bench->now_ns;
        overlay_encode_lease(&wave, &frame);
        bench_step_frame(bench, parent_of(place), &frame);
        bench_step(bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
    }
}

/* Some place below UPPER, not its parent, asks it for a link; that is made. */
static bool asks(struct bench *bench, uint32_t place)
{
    bench->now_ns += MS;
    routed(bench, OVERLAY_ASK, place, UPPER);
    return bench_find(bench, OVERLAY_ACTION_CONNECT) != NULL;
}

static void test_upper_end(void)
{
    struct bench bench;
    uint32_t place = 1;

    open_joined(&bench, UPPER);
    for (uint32_t i = 0; i < ENDPOINT_LATERALS_IDLE_MAX; i++, place++) {
        ok(asks(&bench, place) && answered(&bench, UPPER) == 0, "%u gets a link", place);
        bench_step_up(&bench, place);
    }
    for (uint32_t i = 0; i < ENDPOINT_LATERALS_ASKED_MAX; i++, place++) {
        ok(asks(&bench, place), "%u gets one beyond the limit", place);
        is_uint(answered(&bench, UPPER), 1 + i,
                "and %u, without use for longest, is to close its own", 1 + i);
        bench_step_up(&bench, place);
    }
    ok(!asks(&bench, place), "while none has closed, the next gets none");
    is_uint(overlay_lateral_links(bench.overlay),
            ENDPOINT_LATERALS_IDLE_MAX + ENDPOINT_LATERALS_ASKED_MAX, "so many there are at most");
    pass_seconds(&bench, UPPER, 60);
    is_uint(overlay_lateral_links(bench.overlay),
            ENDPOINT_LATERALS_IDLE_MAX + ENDPOINT_LATERALS_ASKED_MAX,
            "the upper end closes none itself");
    bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_DOWN, .place = 1});
    ok(asks(&bench, place), "but when one is closed");
    bench_close(&bench);
}

static void connects(struct bench *bench, uint32_t place)
{
    struct frame frame;

    bench->now_ns += MS;
    bench_step_up(bench, place);
    stream_encode_lateral(&frame);
    bench_step_frame(bench, place, &frame);
}

static void test_lower_end(void)
{
    struct bench bench;

    open_joined(&bench, LOWER);
    for (uint32_t place = 40; place < 40 + ENDPOINT_LATERALS_USED_MAX; place++)
        connects(&bench, place);
    is_uint(overlay_lateral_links(bench.overlay), ENDPOINT_LATERALS_USED_MAX,
            "so many links are taken");
    connects(&bench, 60);
    ok(bench_closed(&bench, 40), "for one more the oldest without use gives way");
    routed(&bench, OVERLAY_ANSWER, 45, LOWER);
    ok(bench_closed(&bench, 45), "who is asked closes a link that it does not use");
    is_uint(overlay_lateral_links(bench.overlay), ENDPOINT_LATERALS_USED_MAX - 1, "and no other");
    pass_seconds(&bench, LOWER, 9);
    is_uint(overlay_lateral_links(bench.overlay), ENDPOINT_LATERALS_USED_MAX - 1,
            "by time neither");
    pass_seconds(&bench, LOWER, 2);
    is_uint(overlay_lateral_links(bench.overlay), 0, "until those of no series are 10 s old");
    ok(!overlay_is_ended(bench.overlay), "the place itself goes on");
    bench_close(&bench);
}

int main(void)
{
    test_upper_end();
    test_lower_end();
    return done_testing();
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/support/core_bench.h"

#include "overlay/tree.h"

static void merge_concatenate(struct buffer *merged, const void *other, size_t other_bytes)
{
    buffer_append(merged, other, other_bytes);
}

static endpoint_merge_function *const merges[] = {merge_concatenate};

static struct overlay *make_core(uint32_t place, uint32_t places, uint64_t lease_ns)
{
    struct tree tree = {.places = places, .radix = 2};
    struct endpoint_ancestor ancestors[TREE_DEPTH_MAX];
    struct endpoint_config config = {.place = place,
                                     .places = places,
                                     .radix = 2,
                                     .incarnation = 1,
                                     .inline_bytes = 8 * 1024,
                                     .lease_ns = lease_ns,
                                     .own = {.count = 1, .items = {{4, {(uint8_t)place}}}},
                                     .ancestors = ancestors,
                                     .merges = merges,
                                     .merges_count = 1};

    for (uint32_t above = place; above != 0; config.ancestors_count++) {
        above = tree_parent(&tree, above);
        ancestors[config.ancestors_count] = (struct endpoint_ancestor){
            .place = above, .addresses = {.count = 1, .items = {{4, {(uint8_t)above}}}}};
    }
    return overlay_create(&config);
}

struct overlay *bench_make_core(uint32_t place, uint32_t places)
{
    return make_core(place, places, 8000 * MS);
}

void bench_step(struct bench *bench, struct overlay_event event)
{
    overlay_actions_fini(&bench->actions);
    event.now_ns = bench->now_ns;
    overlay_step(bench->overlay, &event, &bench->actions);
}

void bench_step_frame(struct bench *bench, uint32_t from, struct frame *frame)
{
    bench_step(bench,
               (struct overlay_event){.kind = OVERLAY_EVENT_FRAME, .place = from, .frame = frame});
    message_release(frame->payload);
    frame->payload = NULL;
}

void bench_step_up(struct bench *bench, uint32_t place)
{
    bench_step(bench,
               (struct overlay_event){.kind = OVERLAY_EVENT_UP, .place = place, .incarnation = 1});
}

void bench_open(struct bench *bench, uint32_t place, uint32_t places)
{
    *bench = (struct bench){.overlay = bench_make_core(place, places), .now_ns = 1000 * MS};
    bench_step(bench, (struct overlay_event){.kind = OVERLAY_EVENT_START});
}

void bench_open_default(struct bench *bench, uint32_t place, uint32_t places)
{
    *bench = (struct bench){.overlay = make_core(place, places, 0), .now_ns = 1000 * MS};
    bench_step(bench, (struct overlay_event){.kind = OVERLAY_EVENT_START});
}

void bench_open_root_of_three(struct bench *bench)
{
    bench_open(bench, 0, 3);
    bench_adopt(bench, 1, 1, 1, 3);
    bench_adopt(bench, 2, 2, 2, 3);
}

void bench_close(struct bench *bench)
{
    overlay_actions_fini(&bench->actions);
    overlay_destroy(bench->overlay);
}

const struct overlay_action *bench_find(const struct bench *bench, enum overlay_action_kind kind)
{
    for (uint32_t i = 0; i < bench->actions.count; i++) {
        if (bench->actions.items[i].kind == kind)
            return &bench->actions.items[i];
    }
    return NULL;
}

const struct frame *bench_sent(const struct bench *bench, uint32_t place, uint8_t type)
{
    for (uint32_t i = 0; i < bench->actions.count; i++) {
        const struct overlay_action *action = &bench->actions.items[i];

        if (action->kind == OVERLAY_ACTION_SEND && action->place == place &&
            action->frame.type == type)
            return &action->frame;
    }
    return NULL;
}

bool bench_closed(const struct bench *bench, uint32_t place)
{
    for (uint32_t i = 0; i < bench->actions.count; i++) {
        if (bench->actions.items[i].kind == OVERLAY_ACTION_CLOSE &&
            bench->actions.items[i].place == place)
            return true;
    }
    return false;
}

void bench_make_join(uint32_t place, uint32_t first, uint32_t last, uint32_t places,
                     struct frame *ret_frame)
{
    struct overlay_join join = {.version = OVERLAY_VERSION,
                                .places = places,
                                .radix = 2,
                                .stamp_ns = 5 * MS,
                                .scope = {first, last}};

    join.addresses.count = 1;
    ranges_add(&join.arrived, place, place);
    overlay_encode_join(&join, ret_frame);
    overlay_join_fini(&join);
}

void bench_adopt(struct bench *bench, uint32_t place, uint32_t first, uint32_t last,
                 uint32_t places)
{
    struct frame frame;

    bench_step_up(bench, place);
    bench_make_join(place, first, last, places, &frame);
    bench_step_frame(bench, place, &frame);
}

void bench_hear(struct bench *bench, uint32_t place)
{
    struct frame frame;

    overlay_encode_lease_echo(&(struct overlay_lease_echo){.stamp_ns = bench->now_ns}, &frame);
    bench_step_frame(bench, place, &frame);
}

void bench_welcome(struct bench *bench, uint32_t parent, uint32_t first, uint32_t last,
                   uint64_t hold_ns, uint64_t age_ns)
{
    struct overlay_welcome message = {.range = {first, last},
                                      .lease = {.round = 1, .age_ns = age_ns}};
    struct frame frame;

    bench_step_up(bench, parent);
    message.lease.echo_stamp_ns = bench->now_ns;
    message.lease.echo_hold_ns = hold_ns;
    bench->now_ns += hold_ns;
    overlay_encode_welcome(&message, &frame);
    bench_step_frame(bench, parent, &frame);
}

void bench_log_deaths(struct bench *bench)
{
    bench->now_ns += 2 * MS;
    bench_step(bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/support/lone.h"

#include "base/wire.h"
#include "overlay/overlay_wire.h"

static void merge_concatenate(struct buffer *merged, const void *other, size_t other_bytes)
{
    buffer_append(merged, other, other_bytes);
}

static endpoint_merge_function *const merges[] = {merge_concatenate};

void lone_create(struct lone *lone, const struct tree *tree, uint32_t place)
{
    struct endpoint_ancestor ancestors[TREE_DEPTH_MAX];
    struct endpoint_config config = {.place = place,
                                     .places = tree->places,
                                     .radix = tree->radix,
                                     .incarnation = 1,
                                     .own = {.count = 1, .items = {{8, {1, 2, 3, 4, 5, 6, 7, 8}}}},
                                     .ancestors = ancestors,
                                     .merges = merges,
                                     .merges_count = 1};

    for (uint32_t above = place; above != 0; config.ancestors_count++) {
        above = tree_parent(tree, above);
        ancestors[config.ancestors_count] =
            (struct endpoint_ancestor){.place = above, .addresses = config.own};
    }
    *lone = (struct lone){.overlay = overlay_create(&config), .now_ns = 1000 * LONE_MS};
}

void lone_destroy(struct lone *lone)
{
    overlay_actions_fini(&lone->actions);
    overlay_destroy(lone->overlay);
    lone->overlay = NULL;
}

void lone_step(struct lone *lone, struct overlay_event event)
{
    overlay_actions_fini(&lone->actions);
    event.now_ns = lone->now_ns;
    overlay_step(lone->overlay, &event, &lone->actions);
}

void lone_frame(struct lone *lone, uint32_t from, struct frame *frame)
{
    lone_step(lone,
              (struct overlay_event){.kind = OVERLAY_EVENT_FRAME, .place = from, .frame = frame});
    message_release(frame->payload);
    frame->payload = NULL;
}

void lone_up(struct lone *lone, uint32_t place)
{
    lone_step(lone,
              (struct overlay_event){.kind = OVERLAY_EVENT_UP, .place = place, .incarnation = 1});
}

void lone_join(struct lone *lone, const struct tree *tree, uint32_t place)
{
    struct overlay_welcome welcome = {.range = tree_scope(tree, place), .lease = {.round = 1}};
    struct frame frame;
    uint32_t parent = tree_parent(tree, place);

    if (place == 0)
        return;
    lone_up(lone, parent);
    welcome.lease.echo_stamp_ns = lone->now_ns;
    overlay_encode_welcome(&welcome, &frame);
    lone_frame(lone, parent, &frame);
}

void lone_adopt(struct lone *lone, const struct tree *tree, uint32_t child, struct range range)
{
    struct overlay_join join = {.version = OVERLAY_VERSION,
                                .places = tree->places,
                                .radix = tree->radix,
                                .scope = range,
                                .addresses = {.count = 1, .items = {{8, {1, 2, 3, 4}}}}};
    struct frame frame;

    ranges_add(&join.arrived, range.first, range.last);
    overlay_encode_join(&join, &frame);
    overlay_join_fini(&join);
    lone_up(lone, child);
    lone_frame(lone, child, &frame);
}

uint32_t lone_adopt_all(struct lone *lone, const struct tree *tree, uint32_t place)
{
    struct tree_cursor cursor = {{0}};
    struct range range;
    uint32_t head, count = 0;

    while (tree_next_child(tree, place, &cursor, &range, &head)) {
        lone_adopt(lone, tree, head, range);
        count++;
    }
    return count;
}

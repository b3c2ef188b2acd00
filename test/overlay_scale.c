/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What must not grow with how much there is beside it: an acknowledgement with how much is kept for
 * others.  Counted, not timed.
 */
#include "config.h"

#include <stdlib.h>

#include "overlay/overlay_wire.h"
#include "test/lone.h"
#include "test/tap.h"

#define PLACES 1000
#define RADIX  16

static const struct tree tree = {.places = PLACES, .radix = RADIX};

/* ---- acknowledgements ---- */

#define ENTRIES 5000

static void broadcast(struct lone *root)
{
    struct message *payload = message_create("x", 1);

    lone_step(root, (struct overlay_event){.kind = OVERLAY_EVENT_BROADCAST, .payload = payload});
    message_release(payload);
}

static void ack(struct lone *root, uint32_t child, uint64_t sequence)
{
    struct frame frame;

    overlay_encode_ack(sequence, &frame);
    lone_frame(root, child, &frame);
}

/* The first child is far behind; all others acknowledge at once. */
static void test_acks(void)
{
    struct tree_cursor cursor = {{0}};
    uint32_t heads[TREE_RADIX_MAX];
    uint32_t children = 0;
    struct range range;
    struct lone root;
    uint64_t before, few, many;

    lone_create(&root, &tree, 0);
    lone_step(&root, (struct overlay_event){.kind = OVERLAY_EVENT_START});
    lone_adopt_all(&root, &tree, 0);
    while (tree_next_child(&tree, 0, &cursor, &range, &heads[children]))
        children++;
    few = 0;
    for (uint64_t sequence = 1; sequence <= ENTRIES; sequence++) {
        broadcast(&root);
        before = overlay_looked_at_entries(root.overlay);
        for (uint32_t i = 1; i < children; i++)
            ack(&root, heads[i], sequence);
        many = overlay_looked_at_entries(root.overlay) - before;
        if (sequence == 1)
            few = many;
    }
    is_uint(overlay_kept_entries(root.overlay), ENTRIES, "%u entries are kept for one child",
            ENTRIES);
    is_uint(many, few, "the others' acknowledgements look at as many of them as at first: %llu",
            (unsigned long long)few);
    ack(&root, heads[0], ENTRIES / 2);
    is_uint(overlay_kept_entries(root.overlay), ENTRIES - ENTRIES / 2,
            "it has acknowledged half: the others are kept");
    ack(&root, heads[0], ENTRIES);
    is_uint(overlay_kept_entries(root.overlay), 0, "and all: nothing is kept");
    lone_destroy(&root);
}

int main(void)
{
    test_acks();
    return done_testing();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a core weighs: O(radix + open operations + its own part of sets), not O(places).  The same
 * places (a leaf, a head with all its children, the root) are made in a tree of 1,000 and in one of
 * 100,000, joined, and given exchanges to relay; what they then hold is counted by the allocator.
 * The larger tree may cost what its depth and its longer numbers cost, no more.
 *
 * And sets of many ranges: after an exchange among every second place each place but where it meets
 * holds what lies in its own range, and the next exchange names the set and does not tell it.
 */
#include "config.h"

#include "overlay/overlay.h"

#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/wire.h"
#include "overlay/overlay_wire.h"
#include "overlay/tree.h"
#include "test/support/lone.h"
#include "test/support/tap.h"

#define MS         1000000ull
#define RADIX      16
#define COPIES     500
#define OPERATIONS 8

/* What may be held: of a core alone, for each link, for each ancestor that it knows addresses of,
 * for each part of each open operation. */
#define CORE_BYTES     1600
#define CHILD_BYTES    320
#define ANCESTOR_BYTES 16
#define PART_BYTES     64

/* Opens exchanges among all places: each child but the last contributes to each. */
static void open_operations(struct lone *lone, const struct tree *tree, uint32_t place,
                            uint32_t children)
{
    struct overlay_contribute contribute = {.state = OVERLAY_PART_COLLECTED, .low = 1};

    ranges_add(&contribute.set, 0, tree->places - 1);
    for (uint32_t number = 1; number <= OPERATIONS; number++) {
        struct tree_cursor cursor = {{0}};
        struct range range;
        uint32_t head;

        contribute.key = (struct operation_name){.set_id = 1000 + number, .generation = 1};
        for (uint32_t i = 0;
             i + 1 < children && tree_next_child(tree, place, &cursor, &range, &head); i++) {
            struct frame frame;

            overlay_encode_contribute(&contribute, 0, &frame);
            lone_frame(lone, head, &frame);
        }
    }
    ranges_fini(&contribute.set);
}

static size_t held(void)
{
    return mallinfo2().uordblks;
}

struct weight {
    uint32_t children;
    size_t idle;  /* joined, nothing open */
    size_t busy;  /* with OPERATIONS open */
    size_t bound; /* of busy */
};

static struct weight weigh(uint32_t places, uint32_t place)
{
    static struct lone benches[COPIES];
    struct tree tree = {.places = places, .radix = RADIX};
    struct weight weight = {0};
    size_t before = held();

    for (int i = 0; i < COPIES; i++) {
        lone_create(&benches[i], &tree, place);
        lone_step(&benches[i], (struct overlay_event){.kind = OVERLAY_EVENT_START});
        lone_join(&benches[i], &tree, place);
        weight.children = lone_adopt_all(&benches[i], &tree, place);
        overlay_actions_fini(&benches[i].actions);
    }
    weight.idle = (held() - before) / COPIES;
    for (int i = 0; i < COPIES; i++) {
        open_operations(&benches[i], &tree, place, weight.children);
        overlay_actions_fini(&benches[i].actions);
    }
    weight.busy = (held() - before) / COPIES;
    for (int i = 0; i < COPIES; i++)
        overlay_destroy(benches[i].overlay);
    weight.bound = CORE_BYTES + (size_t)weight.children * CHILD_BYTES +
                   (size_t)tree_depth(&tree) * ANCESTOR_BYTES +
                   (size_t)OPERATIONS * (weight.children + 4) * PART_BYTES;
    return weight;
}

static void compare(const char *what, uint32_t few, uint32_t few_place, uint32_t many,
                    uint32_t many_place)
{
    struct weight small = weigh(few, few_place);
    struct weight large = weigh(many, many_place);

    is_uint(small.children, large.children, "%s has %u children in both", what, small.children);
    ok(large.idle <= small.idle + 256, "%s: %zu bytes of %u places, %zu of %u", what, small.idle,
       few, large.idle, many);
    ok(large.busy <= small.busy + 256, "%s with %u exchanges open: %zu bytes, and %zu", what,
       OPERATIONS, small.busy, large.busy);
    ok(large.busy <= large.bound, "%s: that is within %zu", what, large.bound);
}

/* ---- places that are still to come ---- */

static void grow_to_the_limit(struct lone *lone, uint32_t parent, uint32_t places)
{
    struct overlay_entry entry = {.sequence = 1, .kind = OVERLAY_ENTRY_GROW};
    struct buffer payload = {0};
    struct ranges places_set = {0};
    struct frame frame;

    ranges_add(&places_set, places, TREE_PLACES_MAX - 1);
    overlay_put_places(&places_set, &payload);
    ranges_fini(&places_set);
    entry.payload = (struct wire_bytes){payload.data, payload.length_bytes};
    overlay_encode_entry(&entry, &frame);
    lone_frame(lone, parent, &frame);
    overlay_actions_fini(&lone->actions);
    buffer_fini(&payload);
}

static void test_population(void)
{
    static struct lone benches[COPIES];
    struct tree tree = {.places = 1000, .radix = RADIX};
    uint32_t place = 999;
    size_t before = held();
    size_t joined;

    for (int i = 0; i < COPIES; i++) {
        lone_create(&benches[i], &tree, place);
        lone_step(&benches[i], (struct overlay_event){.kind = OVERLAY_EVENT_START});
        lone_join(&benches[i], &tree, place);
        overlay_actions_fini(&benches[i].actions);
    }
    joined = (held() - before) / COPIES;
    for (int i = 0; i < COPIES; i++)
        grow_to_the_limit(&benches[i], tree_parent(&tree, place), tree.places);
    is_uint(overlay_population(benches[0].overlay), TREE_PLACES_MAX, "a leaf learns of 16 million");
    ok((held() - before) / COPIES <= joined + 16,
       "they cost it nothing: %zu bytes before, %zu then", joined, (held() - before) / COPIES);
    for (int i = 0; i < COPIES; i++)
        overlay_destroy(benches[i].overlay);
}

/* ---- sets of many ranges ---- */

static void every_second(uint32_t places, struct ranges *set)
{
    for (uint32_t place = 1; place < places; place += 2)
        ranges_add(set, place, place);
}

static const struct frame *sent_contribute(const struct lone *lone)
{
    for (uint32_t i = 0; i < lone->actions.count; i++) {
        if (lone->actions.items[i].kind == OVERLAY_ACTION_SEND &&
            lone->actions.items[i].frame.type == OVERLAY_CONTRIBUTE)
            return &lone->actions.items[i].frame;
    }
    return NULL;
}

/* All below contribute, and the place itself if it is a member; the parent releases.  Returns the
 * bytes of what the place has contributed. */
static size_t exchange(struct lone *lone, const struct tree *tree, uint32_t place,
                       const struct ranges *set, uint32_t generation)
{
    struct operation_name key = {.set_id = 7, .generation = generation};
    struct overlay_contribute contribute = {.key = key, .state = OVERLAY_PART_COLLECTED};
    struct overlay_release release = {.key = key, .stable = generation};
    struct tree_cursor cursor = {{0}};
    const struct frame *sent;
    struct range range;
    struct frame frame;
    size_t bytes;
    uint32_t head;

    contribute.low = generation;
    if (generation == 1)
        contribute.set = *set;
    if (ranges_contains(set, place))
        lone_step(lone,
                  (struct overlay_event){.kind = OVERLAY_EVENT_CONTRIBUTE, .key = key, .set = set});
    while (tree_next_child(tree, place, &cursor, &range, &head)) {
        if (!ranges_overlap(set, range.first, range.last))
            continue;
        overlay_encode_contribute(&contribute, 0, &frame);
        lone_frame(lone, head, &frame);
    }
    sent = sent_contribute(lone);
    bytes = sent != NULL ? sent->payload->length_bytes : 0;
    overlay_encode_release(&release, 0, &frame);
    lone_frame(lone, tree_parent(tree, place), &frame);
    overlay_actions_fini(&lone->actions);
    return bytes;
}

/* What the set costs a place, twice: at rest after the first exchange, and after the second. */
static void check_slice(uint32_t places, uint32_t place)
{
    struct tree tree = {.places = places, .radix = RADIX};
    struct range scope = tree_scope(&tree, place);
    struct ranges set = {0};
    struct lone lone;
    size_t before, kept[2], bytes[2], slice_bytes, bound;

    every_second(places, &set);
    slice_bytes = sizeof(struct range) * (2 + ranges_count_within(&set, scope.first, scope.last));
    lone_create(&lone, &tree, place);
    lone_step(&lone, (struct overlay_event){.kind = OVERLAY_EVENT_START});
    lone_join(&lone, &tree, place);
    lone_adopt_all(&lone, &tree, place);
    overlay_actions_fini(&lone.actions);
    before = held();
    for (uint32_t generation = 1; generation <= 2; generation++) {
        bytes[generation - 1] = exchange(&lone, &tree, place, &set, generation);
        kept[generation - 1] = held() - before;
    }
    bound = 2 * slice_bytes + 2048; /* arrays grow by doubling; what malloc keeps counts as held */
    ok(kept[0] <= bound && kept[1] <= bound,
       "%u of %u holds %zu and %zu bytes of a set of %u ranges; its slice has %zu", place, places,
       kept[0], kept[1], set.count, slice_bytes);
    ok(bytes[0] > set.count && bytes[1] < 64,
       "its first contribution has %zu bytes, its second %zu", bytes[0], bytes[1]);
    overlay_destroy(lone.overlay);
    ranges_fini(&set);
}

/* From the last leaf up: members and such as only relay. */
static void check_slices(uint32_t places)
{
    struct tree tree = {.places = places, .radix = RADIX};

    for (uint32_t place = places - 1; place != 0; place = tree_parent(&tree, place))
        check_slice(places, place);
}

/* What malloc keeps of each thread's freed blocks counts as held: it must not. */
static void without_cache(char **argv)
{
    if (getenv("GLIBC_TUNABLES") != NULL)
        return;
    setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0", 1);
    execv("/proc/self/exe", argv);
}

int main(int argc, char **argv)
{
    (void)argc;
    without_cache(argv);
    struct tree few = {.places = 1000, .radix = RADIX};
    struct tree many = {.places = 100000, .radix = RADIX};

    compare("the root", few.places, 0, many.places, 0);
    compare("its first child", few.places, 1, many.places, 1);
    compare("a leaf", few.places, few.places - 1, many.places, many.places - 1);
    check_slices(few.places);
    check_slices(many.places);
    test_population();
    return done_testing();
}

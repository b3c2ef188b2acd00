/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes whose processes are on another node (alloc/placement_map_move.c), by hand and in random maps. */
#include "config.h"

#include "alloc/placement_map.h"
#include "test/support/place_case.h"
#include "test/support/tap.h"

#include <errno.h>
#include <stdlib.h>

#include "base/random.h"

#define CASES 3000

static uint32_t node_of(const struct placement_map *map, uint32_t rank)
{
    uint32_t node, index;

    placement_map_find(map, rank, &node, &index);
    return node;
}

/* Places as text; the caller's to free. */
static char *places_of(const struct placement_map *map)
{
    struct ranges places = {0};
    struct buffer text = {0};

    placement_map_places(map, &places);
    ranges_print(&places, &text);
    ranges_fini(&places);
    (void)buffer_string(&text);
    return buffer_take(&text, NULL);
}

static void places_are(const struct placement_map *map, const char *expected, const char *what)
{
    char *places = places_of(map);

    is_string(places, expected, "%s", what);
    free(places);
}

/* Two of five nodes have no process. */
static void test_by_hand(void)
{
    struct placement placement = {.rules_count = 0};
    struct allocation nodes;
    struct placement_map map;
    struct placement_move moves[] = {{.from = 1, .to = 4}, {.from = 0, .to = 3}};

    allocation_init(&nodes);
    allocation_generate(&nodes, "n", 5, 2);
    placement_add(&placement, &(struct placement_rule){.processes = 6});
    is_int(placement_map_make(&map, &placement, &nodes, NULL), 0, "six processes of three nodes");
    ok(placement_map_is_contiguous(&map), "which follow each other");
    is_int(placement_map_move(&map, 3, 4), -EINVAL, "a node without processes cannot be moved");
    is_int(placement_map_move(&map, 0, 1), -EINVAL, "nor one to a node that has some");
    is_int(placement_map_move(&map, 0, 5), -EINVAL, "nor to one that there is not");
    is_int(placement_map_move(&map, 5, 0), -EINVAL, "nor from one");
    is_int(placement_map_move(&map, 1, 1), -EINVAL, "nor to itself");
    is_int(placement_map_move(&map, 1, 3), 0, "but to another");
    places_are(&map, "1,3-4", "it has the place of the other");
    ok(!placement_map_is_contiguous(&map), "the ranks do not follow each other");
    is_uint(placement_map_count(&map, 1), 0, "none are where they were");
    is_uint(placement_map_count(&map, 3), 2, "but there");
    is_uint(placement_map_rank(&map, 3, 1), 3, "with their numbers");
    is_uint(node_of(&map, 2), 3, "they are found there");
    is_uint(node_of(&map, 4), 2, "and the others where they are");
    is_int(placement_map_move(&map, 3, 4), 0, "they go on to a third node");
    places_are(&map, "1,3,5", "which has the place now");
    is_uint(node_of(&map, 3), 4, "and the ranks");
    is_uint(map.moves_count, 1, "both are one move");
    is_int(placement_map_move_all(&map, moves, 2), 0, "all moves at once");
    places_are(&map, "3-5", "are what there is");
    is_int(placement_map_move_all(&map, moves, 0), 0, "none");
    places_are(&map, "1-3", "is the map that was made");
    moves[1].to = 4;
    is_int(placement_map_move_all(&map, moves, 2), -EINVAL, "two to one node");
    is_uint(map.moves_count, 0, "are no moves");
    placement_map_fini(&map);
    placement_fini(&placement);
    allocation_fini(&nodes);
}

/* Each rank is where it was, or has moved with its node, and is the same one there. */
static int is_moved(const struct placement_map *map, const struct placement_map *before,
                    uint32_t from, uint32_t to)
{
    for (uint32_t rank = 0; rank < map->processes; rank++) {
        uint32_t node, index, old, old_index;

        placement_map_find(before, rank, &old, &old_index);
        placement_map_find(map, rank, &node, &index);
        if (node != (old == from ? to : old) || index != old_index ||
            placement_map_rank(map, node, index) != rank)
            return 0;
    }
    return placement_map_count(map, from) == 0 &&
           placement_map_count(map, to) == placement_map_count(before, from);
}

/* 1 if something was moved, -1 if that is wrong. */
static int move_one(const struct placement_map *before, struct placement_map *map,
                    struct random_state *random)
{
    uint32_t from = (uint32_t)random_below(random, map->nodes);
    uint32_t to = (uint32_t)random_below(random, map->nodes);
    int may = placement_map_count(map, from) > 0 && placement_map_count(map, to) == 0;

    if ((placement_map_move(map, from, to) == 0) != may)
        return -1;
    return !may ? 0 : is_moved(map, before, from, to) ? 1 : -1;
}

static void test_random(void)
{
    struct random_state random;
    uint32_t moved = 0, wrong = 0;

    random_init(&random, 7);
    for (uint32_t i = 0; i < CASES; i++) {
        struct place_case c;
        struct placement_map before, map;

        place_case_make(&c, &random);
        if (placement_map_make(&before, &c.placement, &c.allocation, NULL) == 0) {
            if (placement_map_make(&map, &c.placement, &c.allocation, NULL) == 0) {
                int result = move_one(&before, &map, &random);

                moved += result > 0;
                wrong += result < 0;
                placement_map_fini(&map);
            }
            placement_map_fini(&before);
        }
        place_case_fini(&c);
    }
    is_uint(wrong, 0, "in random maps all ranks of a node move together");
    ok(moved > 100, "in many of them");
    diag("%u of %u maps had a node moved", moved, (unsigned int)CASES);
}

int main(void)
{
    test_by_hand();
    test_random();
    return done_testing();
}

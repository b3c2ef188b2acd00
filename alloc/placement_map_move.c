/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nodes of a map whose processes are on another node: the numbers of ranks and their order on the node stay as they
 * were, so that a map is the same with another index for that node.  O(moves) for each question, and a map has hardly
 * any.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "alloc/placement_map.h"
#include "alloc/placement_map_internal.h"
#include "base/memory.h"

uint32_t placement_map_origin(const struct placement_map *map, uint32_t node)
{
    for (uint32_t i = 0; i < map->moves_count; i++)
        if (map->moves[i].to == node)
            return map->moves[i].from;
    for (uint32_t i = 0; i < map->moves_count; i++)
        if (map->moves[i].from == node)
            return PLACEMENT_NOWHERE;
    return node;
}

uint32_t placement_map_moved(const struct placement_map *map, uint32_t node)
{
    for (uint32_t i = 0; i < map->moves_count; i++)
        if (map->moves[i].from == node)
            return map->moves[i].to;
    return node;
}

int placement_map_move(struct placement_map *map, uint32_t node, uint32_t to)
{
    uint32_t from = placement_map_origin(map, node);

    if (node >= map->nodes || to >= map->nodes || node == to ||
        placement_map_count(map, node) == 0 || placement_map_count(map, to) > 0)
        return -EINVAL;
    assert(from != PLACEMENT_NOWHERE);
    for (uint32_t i = 0; i < map->moves_count; i++) {
        if (map->moves[i].from == from) {
            map->moves[i].to = to;
            return 0;
        }
    }
    map->moves = memory_resize(map->moves, (map->moves_count + 1) * sizeof(*map->moves));
    map->moves[map->moves_count++] = (struct placement_move){.from = from, .to = to};
    return 0;
}

int placement_map_move_all(struct placement_map *map, const struct placement_move *moves,
                           uint32_t count)
{
    assert(count == 0 || moves != NULL);
    map->moves_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        int rc = placement_map_move(map, moves[i].from, moves[i].to);

        if (rc < 0) {
            map->moves_count = 0;
            return rc;
        }
    }
    return 0;
}

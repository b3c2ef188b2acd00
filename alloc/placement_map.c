/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The map as a whole, and the numbers: which rank is where.
 */
#include "config.h"

#include "alloc/placement_map.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/placement_map_internal.h"

/* ---- Making ---- */

/* Ranks of a list sorted by node and rank: each node's begin where its run says.  O(nodes +
 * processes). */
static uint32_t *sort_list(const struct placement_app *app, uint32_t nodes)
{
    const struct placement_list *list = app->rule->list;
    uint32_t *by_node = memory_allocate(app->processes * sizeof(*by_node));
    uint32_t *next = memory_allocate_zeroed(nodes * sizeof(*next));

    assert(app->processes == list->count);
    for (uint32_t i = 0; i < app->runs_count; i++) {
        const struct placement_run *run = &app->runs[i];

        for (uint32_t j = 0; j < run->nodes; j++)
            next[run->first + j] = (uint32_t)run->before + j * run->count;
    }
    for (uint32_t i = 0; i < app->processes; i++)
        by_node[next[list->nodes[i]]++] = i;
    free(next);
    return by_node;
}

static int make_apps(struct placement_map *map, struct free_runs *runs,
                     const struct allocation *allocation, struct error *error)
{
    const struct placement *placement = map->placement;

    for (uint32_t i = 0; i < placement->rules_count; i++) {
        struct placement_app *app = &map->apps[i];
        int rc;

        app->rule = &placement->rules[i];
        app->first_rank = map->processes;
        rc = placement_map_deal_app(app, map, runs, allocation, error);
        if (rc < 0)
            return rc;
        if (app->rule->policy == PLACEMENT_BY_LIST)
            app->by_node = sort_list(app, map->nodes);
        if (app->processes > PLACEMENT_PROCESSES_MAX - map->processes)
            return error_set(error, -E2BIG, "the applications have more than %u processes together",
                             PLACEMENT_PROCESSES_MAX);
        map->processes += app->processes;
    }
    return 0;
}

int placement_map_make(struct placement_map *ret_map, const struct placement *placement,
                       const struct allocation *allocation, struct error *error)
{
    struct placement_map map = {.placement = placement,
                                .apps_count = placement->rules_count,
                                .nodes = allocation_nodes(allocation),
                                .has_topology = placement_wants_topology(placement) != 0};
    struct free_runs runs = {0};
    int rc;

    if (placement->rules_count == 0)
        return error_set(error, -EINVAL, "there is no application to place");
    for (uint32_t i = 0; i < placement->rules_count; i++)
        map.in_threads |= placement_rule_wants_threads(&placement->rules[i]) != 0;
    map.apps = memory_allocate_zeroed(map.apps_count * sizeof(*map.apps));
    rc = placement_map_make_free_runs(&runs, &map, allocation, error);
    if (rc == 0)
        rc = make_apps(&map, &runs, allocation, error);
    free(runs.items);
    if (rc < 0)
        placement_map_fini(&map);
    else
        *ret_map = map;
    return rc;
}

void placement_map_fini(struct placement_map *map)
{
    for (uint32_t i = 0; i < map->apps_count; i++) {
        free(map->apps[i].runs);
        free(map->apps[i].by_node);
    }
    free(map->apps);
    free(map->moves);
    *map = (struct placement_map){0};
}

void placement_map_resolve(const struct placement_map *map, struct placement *placement)
{
    assert(placement->rules_count == map->apps_count);
    for (uint32_t i = 0; i < map->apps_count; i++)
        placement->rules[i].processes = map->apps[i].processes;
}

/* ---- Runs ---- */

/* The last run whose first node is not above, or NULL. */
static const struct placement_run *run_at_or_below(const struct placement_app *app, uint32_t node)
{
    uint32_t low = 0, high = app->runs_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (app->runs[middle].first <= node)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? &app->runs[low - 1] : NULL;
}

const struct placement_run *placement_map_app_run(const struct placement_app *app, uint32_t node)
{
    const struct placement_run *run = run_at_or_below(app, node);

    return run != NULL && node - run->first < run->nodes ? run : NULL;
}

uint32_t placement_map_count_app(const struct placement_map *map, uint32_t app, uint32_t node)
{
    const struct placement_run *run =
        placement_map_app_run(&map->apps[app], placement_map_origin(map, node));

    assert(app < map->apps_count);
    return run != NULL ? run->count : 0;
}

uint32_t placement_map_count(const struct placement_map *map, uint32_t node)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < map->apps_count; i++)
        count += placement_map_count_app(map, i, node);
    return count;
}

/* ---- Ranks that are numbered in turns ---- */

/* Of a node, in the turns before one. */
static uint64_t numbered_before(const struct placement_run *run, uint32_t turn)
{
    return lesser_u64(run->count, (uint64_t)run->width * turn);
}

/* Of all nodes, in the turns before one. */
static uint64_t all_before(const struct placement_app *app, uint32_t turn)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < app->runs_count; i++)
        sum += app->runs[i].nodes * numbered_before(&app->runs[i], turn);
    return sum;
}

/* Of a node, in one turn. */
static uint64_t numbered_in(const struct placement_run *run, uint32_t turn)
{
    return numbered_before(run, turn + 1) - numbered_before(run, turn);
}

static uint64_t rank_in_turns(const struct placement_app *app, const struct placement_run *own,
                              uint32_t node, uint32_t index)
{
    uint32_t turn = index / own->width;
    uint64_t rank = all_before(app, turn) + index % own->width;

    assert(own->width > 0 && index < own->count);
    for (const struct placement_run *run = app->runs; run < own; run++)
        rank += run->nodes * numbered_in(run, turn);
    return rank + (node - own->first) * numbered_in(own, turn);
}

/* The last turn that begins at or before a rank. */
static uint32_t turn_of(const struct placement_app *app, uint64_t rank)
{
    uint32_t low = 0, high = app->processes;

    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;

        if (all_before(app, middle) <= rank)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static void find_in_turns(const struct placement_app *app, uint64_t rank, uint32_t *ret_node,
                          uint32_t *ret_index)
{
    uint32_t turn = turn_of(app, rank);
    uint64_t left = rank - all_before(app, turn);

    assert(rank < app->processes);
    for (const struct placement_run *run = app->runs;; run++) {
        uint64_t each = numbered_in(run, turn);

        assert(run < app->runs + app->runs_count);
        if (left < run->nodes * each) {
            *ret_node = run->first + (uint32_t)(left / each);
            *ret_index = run->width * turn + (uint32_t)(left % each);
            return;
        }
        left -= run->nodes * each;
    }
}

/* ---- Ranks that are numbered node by node ---- */

static uint64_t position_of(const struct placement_run *run, uint32_t node, uint32_t index)
{
    return run->before + (uint64_t)(node - run->first) * run->count + index;
}

static void find_in_order(const struct placement_app *app, uint64_t rank, uint32_t *ret_node,
                          uint32_t *ret_index)
{
    uint32_t low = 0, high = app->runs_count - 1;
    const struct placement_run *run;

    assert(app->runs_count > 0 && rank < app->processes);
    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;

        if (app->runs[middle].before <= rank)
            low = middle;
        else
            high = middle - 1;
    }
    run = &app->runs[low];
    *ret_node = run->first + (uint32_t)((rank - run->before) / run->count);
    *ret_index = (uint32_t)((rank - run->before) % run->count);
}

/* ---- Ranks that a list gives ---- */

static void find_in_list(const struct placement_app *app, uint32_t rank, uint32_t *ret_node,
                         uint32_t *ret_index)
{
    uint32_t node = app->rule->list->nodes[rank];
    const struct placement_run *run = placement_map_app_run(app, node);
    const uint32_t *own = &app->by_node[position_of(run, node, 0)];
    uint32_t low = 0, high = run->count - 1;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (own[middle] < rank)
            low = middle + 1;
        else
            high = middle;
    }
    assert(own[low] == rank);
    *ret_node = node;
    *ret_index = low;
}

/* ---- All ranks ---- */

static uint32_t rank_within(const struct placement_app *app, const struct placement_run *run,
                            uint32_t node, uint32_t index)
{
    if (app->by_node != NULL)
        return app->by_node[position_of(run, node, index)];
    if (run->width == PLACEMENT_WIDTH_ALL)
        return (uint32_t)position_of(run, node, index);
    return (uint32_t)rank_in_turns(app, run, node, index);
}

uint32_t placement_map_rank(const struct placement_map *map, uint32_t node, uint32_t local_index)
{
    node = placement_map_origin(map, node);
    for (uint32_t i = 0; i < map->apps_count; i++) {
        const struct placement_app *app = &map->apps[i];
        const struct placement_run *run = placement_map_app_run(app, node);
        uint32_t count = run != NULL ? run->count : 0;

        if (local_index < count)
            return app->first_rank + rank_within(app, run, node, local_index);
        local_index -= count;
    }
    assert(!"a local index below the node's count");
    return 0;
}

bool placement_map_is_contiguous(const struct placement_map *map)
{
    const struct placement_app *app = &map->apps[0];

    return map->apps_count == 1 && app->by_node == NULL && map->moves_count == 0 &&
           (app->runs_count == 0 || app->runs[0].width == PLACEMENT_WIDTH_ALL);
}

uint32_t placement_map_app(const struct placement_map *map, uint32_t rank)
{
    uint32_t low = 0, high = map->apps_count > 0 ? map->apps_count - 1 : 0;

    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;

        if (map->apps[middle].first_rank <= rank)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

void placement_map_find(const struct placement_map *map, uint32_t rank, uint32_t *ret_node,
                        uint32_t *ret_local_index)
{
    uint32_t number = placement_map_app(map, rank);
    const struct placement_app *app = &map->apps[number];
    uint32_t index;

    assert(rank < map->processes);
    assert(rank >= app->first_rank && rank - app->first_rank < app->processes);
    rank -= app->first_rank;
    if (app->by_node != NULL)
        find_in_list(app, rank, ret_node, &index);
    else if (app->runs[0].width == PLACEMENT_WIDTH_ALL)
        find_in_order(app, rank, ret_node, &index);
    else
        find_in_turns(app, rank, ret_node, &index);
    *ret_node = placement_map_moved(map, *ret_node);
    for (uint32_t i = 0; i < number; i++)
        index += placement_map_count_app(map, i, *ret_node);
    *ret_local_index = index;
}

void placement_map_places(const struct placement_map *map, struct ranges *ret_places)
{
    ranges_clear(ret_places);
    for (uint32_t i = 0; i < map->apps_count; i++) {
        for (uint32_t j = 0; j < map->apps[i].runs_count; j++) {
            const struct placement_run *run = &map->apps[i].runs[j];

            ranges_add(ret_places, run->first + 1, run->first + run->nodes);
        }
    }
    for (uint32_t i = 0; i < map->moves_count; i++) {
        ranges_remove(ret_places, map->moves[i].from + 1, map->moves[i].from + 1);
        ranges_add(ret_places, map->moves[i].to + 1, map->moves[i].to + 1);
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "overlay/series.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_map.h"
#include "overlay/limits.h"
#include "overlay/stream.h"

/* ---- records ---- */

static int keys_match(const struct operation_name *a, const struct operation_name *b)
{
    return a->set_id == b->set_id && a->owner == b->owner && a->kind == b->kind &&
           a->merge == b->merge && a->target == b->target;
}

struct series *series_find(const struct overlay *overlay, const struct operation_name *key)
{
    struct series *series = NULL;

    if (overlay->collective.by_set != NULL)
        series = hash_map_get_u64(overlay->collective.by_set, key->set_id);
    while (series != NULL && !keys_match(&series->key, key))
        series = series->twin;
    return series;
}

struct range series_covering(const struct overlay *overlay, const struct operation_name *key,
                             const struct ranges *set)
{
    struct tree tree = overlay_tree(overlay);

    if (key->target == ENDPOINT_TARGET_ROOT)
        return tree_covering(&tree, 0, ranges_max(set));
    return tree_covering(&tree, ranges_min(set), ranges_max(set));
}

/* ---- invariants ---- */

void series_check_all(const struct overlay *overlay)
{
    const struct collective *collective = &overlay->collective;

    assert((collective->by_set == NULL) == (collective->by_owner == NULL));
    assert(collective->by_set != NULL || list_is_empty(&collective->open));
    assert(collective->dead_ranges == 0 || collective->dead_ranges == overlay->dead.count);
    assert(collective->calls <= OVERLAY_CALLS_MAX);
    assert(collective->forgotten_count == 0 || collective->forgotten != NULL);
    assert(collective->forgotten_next <= collective->forgotten_count);
}

void series_check(const struct overlay *overlay, const struct series *series)
{
    assert(series->undecided <= series->count);
    assert((series->count == 0) == (series->operations == NULL));
    assert(!ranges_is_empty(&series->set) && series->within.first <= series->within.last);
    assert(series->covering.first <= overlay->place && overlay->place <= series->covering.last);
    assert(series->key.generation == 0 && series->key.target < ENDPOINT_TARGET_COUNT);
    assert(series->key.merge < overlay->merges_count);
    assert(series->narrow_ns == 0 || series->key.target == ENDPOINT_TARGET_ALL);
}

/* ---- the dead ---- */

/* Prefix sums over the ranges of the dead, so that queries do not get slower with their number. */
static void index_dead(struct overlay *overlay)
{
    struct collective *collective = &overlay->collective;
    uint64_t before = 0;

    collective->dead_ranges = overlay->dead.count;
    collective->dead_before = memory_resize(
        collective->dead_before, (overlay->dead.count + 1) * sizeof(*collective->dead_before));
    for (uint32_t i = 0; i < overlay->dead.count; i++) {
        collective->dead_before[i] = before;
        before += (uint64_t)overlay->dead.items[i].last - overlay->dead.items[i].first + 1;
    }
}

/* The number of dead places below a number. */
static uint64_t dead_below(const struct overlay *overlay, uint64_t number)
{
    const struct ranges *dead = &overlay->dead;
    uint32_t low = 0;
    uint32_t high = dead->count;
    uint64_t into;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (dead->items[middle].first < number)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return 0;
    into = (number < (uint64_t)dead->items[low - 1].last + 1
                ? number
                : (uint64_t)dead->items[low - 1].last + 1) -
           dead->items[low - 1].first;
    return overlay->collective.dead_before[low - 1] + into;
}

/* The attempt of all operations that cover it: a recovered root restarts them, too. */
static uint32_t attempt_within(struct overlay *overlay, struct range range)
{
    if (ranges_is_empty(&overlay->dead))
        return overlay->recoveries;
    if (overlay->collective.dead_ranges == 0)
        index_dead(overlay);
    return overlay->recoveries + (uint32_t)(dead_below(overlay, (uint64_t)range.last + 1) -
                                            dead_below(overlay, range.first));
}

void series_look_at_dead(struct overlay *overlay, struct series *series)
{
    uint32_t attempt = attempt_within(overlay, series->covering);

    assert(attempt >= series->attempt); /* I1 of doc/protocol.rst */
    series->attempt = attempt;
    series->has_dead = ranges_overlap_set(&series->set, &overlay->dead);
}

/* ---- series ---- */

void series_count_open(struct overlay *overlay, struct series *series, int change)
{
    bool was_open = series->undecided > 0;
    bool is_open;

    assert(change > 0 || series->undecided > 0);
    series->undecided = (uint32_t)((int64_t)series->undecided + change);
    is_open = series->undecided > 0;
    if (is_open == was_open)
        return;
    list_remove(&series->node);
    list_prepend(is_open ? &overlay->collective.open : &overlay->collective.at_rest, &series->node);
}

struct series *series_create(struct overlay *overlay, const struct operation_name *key,
                             const struct ranges *set, struct range within)
{
    struct series *series = memory_allocate_zeroed(sizeof(*series));

    assert(series_find(overlay, key) == NULL);
    series->key = *key;
    series->key.generation = 0;
    series->stable = key->generation - GENERATIONS_BEFORE;
    series->called_to = series->stable;
    series_set_init(overlay, series, set, within);
    series->covering = series_covering(overlay, key, set);
    series->attempt = attempt_within(overlay, series->covering);
    if (overlay->collective.by_set == NULL) {
        overlay->collective.by_set = hash_map_create();
        overlay->collective.by_owner = hash_map_create();
    }
    series->twin = hash_map_put_u64(overlay->collective.by_set, key->set_id, series);
    series->sibling = hash_map_put_u64(overlay->collective.by_owner, key->owner, series);
    list_prepend(&overlay->collective.at_rest, &series->node);
    return series;
}

struct operation *series_operation(const struct series *series, uint32_t generation)
{
    struct operation *operation = series->operations;

    while (operation != NULL && operation->generation != generation)
        operation = operation->next;
    return operation;
}

void series_drop_stable(struct overlay *overlay, struct series *series)
{
    struct operation **link = &series->operations;

    while (*link != NULL && generation_before((*link)->generation, series->stable)) {
        struct operation *operation = *link;

        assert(!operation->called || operation_is_decided(operation)); /* I4: held by our own low */
        *link = operation->next;
        operation_destroy(overlay, series, operation);
    }
}

/* Removes it from the chain of its set. */
static void unlink_twin(struct overlay *overlay, const struct series *series)
{
    struct series *first = hash_map_get_u64(overlay->collective.by_set, series->key.set_id);
    struct series *twin = first;

    if (first != series) {
        while (twin->twin != series)
            twin = twin->twin;
        twin->twin = series->twin;
    } else if (series->twin != NULL) {
        (void)hash_map_put_u64(overlay->collective.by_set, series->key.set_id, series->twin);
    } else {
        (void)hash_map_remove_u64(overlay->collective.by_set, series->key.set_id);
    }
}

void series_destroy(struct overlay *overlay, struct series *series)
{
    unlink_twin(overlay, series);
    while (series->operations != NULL) {
        struct operation *operation = series->operations;

        series->operations = operation->next;
        operation_destroy(overlay, series, operation);
    }
    list_remove(&series->node);
    ranges_fini(&series->set);
    free(series);
}

/* ---- queries of the tree ---- */

bool series_is_member(const struct overlay *overlay, const struct series *series)
{
    return ranges_contains(&series->set, overlay->place);
}

bool series_meets_here(const struct overlay *overlay, const struct series *series)
{
    struct tree tree = overlay_tree(overlay);

    return tree_head(&tree, series->covering) == overlay->place;
}

/* A living member in the range. */
static bool has_living(const struct overlay *overlay, const struct series *series,
                       struct range range)
{
    uint32_t place = range.first;

    while (ranges_next(&series->set, place, &place) && place <= range.last) {
        if (!ranges_contains(&overlay->dead, place))
            return true;
        if (!ranges_first_gap(&overlay->dead, place, range.last, &place))
            return false;
    }
    return false;
}

bool series_expects(const struct overlay *overlay, const struct series *series,
                    const struct child *child)
{
    return child->head != TREE_NO_PLACE && has_living(overlay, series, child->range);
}

/* Lowest generation of the series that has not ended here. */
uint32_t series_low(const struct overlay *overlay, const struct series *series)
{
    assert(series_is_member(overlay, series));
    for (const struct operation *operation = series->operations; operation != NULL;
         operation = operation->next) {
        if (operation->called && !operation_is_decided(operation))
            return operation->generation;
    }
    return series->called_to + 1;
}

/* ---- life ---- */

void series_init(struct overlay *overlay)
{
    list_init(&overlay->collective.open);
    list_init(&overlay->collective.at_rest);
}

static void destroy_all(struct overlay *overlay, struct list *list)
{
    while (!list_is_empty(list))
        series_destroy(overlay, list_entry(list_first(list), struct series, node));
}

void series_fini(struct overlay *overlay)
{
    destroy_all(overlay, &overlay->collective.open);
    destroy_all(overlay, &overlay->collective.at_rest);
    hash_map_destroy(overlay->collective.by_set);
    hash_map_destroy(overlay->collective.by_owner);
    hash_map_destroy(overlay->collective.forgetting);
    free(overlay->collective.dead_before);
    free(overlay->collective.forgotten);
}

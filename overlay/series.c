/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "overlay/series.h"

#include <stdlib.h>
#include <string.h>

#include "overlay/stream.h"

#define FORGOTTEN_MAX 256

/* ---- records ---- */

static int keys_match(const struct node_key *a, const struct node_key *b)
{
    return a->set_id == b->set_id && a->kind == b->kind && a->merge == b->merge &&
           a->target == b->target;
}

struct series *series_find(const struct overlay *overlay, const struct node_key *key)
{
    struct series *series = overlay->collective.first;

    while (series != NULL && !keys_match(&series->key, key))
        series = series->next;
    return series;
}

struct range series_covering(const struct overlay *overlay, const struct node_key *key,
                             const struct ranges *set)
{
    struct tree tree = overlay_tree(overlay);

    if (key->target == NODE_TARGET_ROOT)
        return tree_covering(&tree, 0, ranges_max(set));
    return tree_covering(&tree, ranges_min(set), ranges_max(set));
}

struct series *series_create(struct overlay *overlay, const struct node_key *key,
                             const struct ranges *set, struct range within)
{
    struct series *series = memory_allocate_zeroed(sizeof(*series));

    series->key = *key;
    series->key.generation = 0;
    series_set_init(overlay, series, set, within);
    series->covering = series_covering(overlay, key, set);
    series->next = overlay->collective.first;
    overlay->collective.first = series;
    return series;
}

struct operation *series_operation(const struct series *series, uint32_t generation)
{
    struct operation *operation = series->operations;

    while (operation != NULL && operation->generation != generation)
        operation = operation->next;
    return operation;
}

void part_clear(struct part *part)
{
    message_release(part->frame);
    *part = (struct part){.state = OVERLAY_PART_NONE};
}

struct part *operation_part(struct overlay *overlay, struct operation *operation, uint32_t index)
{
    uint32_t count = overlay->children_count;

    if (operation->parts_count < count) {
        operation->parts = memory_resize(operation->parts, count * sizeof(*operation->parts));
        memset(&operation->parts[operation->parts_count], 0,
               (count - operation->parts_count) * sizeof(*operation->parts));
        operation->parts_count = count;
    }
    return &operation->parts[index];
}

struct node_key operation_key(const struct series *series, const struct operation *operation)
{
    struct node_key key = series->key;

    key.generation = operation->generation;
    return key;
}

void operation_destroy(struct overlay *overlay, struct operation *operation)
{
    overlay->collective.calls -= operation->called && !operation->delivered;
    large_reset(overlay, operation);
    stream_destroy(overlay, operation->stream);
    for (uint32_t i = 0; i < operation->parts_count; i++)
        part_clear(&operation->parts[i]);
    free(operation->parts);
    message_release(operation->own);
    message_release(operation->result);
    ranges_fini(&operation->lost);
    free(operation);
}

void series_drop_stable(struct overlay *overlay, struct series *series)
{
    struct operation **link = &series->operations;

    while (*link != NULL && (*link)->generation < series->stable) {
        struct operation *operation = *link;

        if (operation->called && !operation->delivered) { /* cannot be: our own low holds it */
            link = &operation->next;
            continue;
        }
        *link = operation->next;
        operation_destroy(overlay, operation);
    }
}

static void series_destroy(struct overlay *overlay, struct series *series)
{
    while (series->operations != NULL) {
        struct operation *operation = series->operations;

        series->operations = operation->next;
        operation_destroy(overlay, operation);
    }
    ranges_fini(&series->set);
    free(series);
}

/* ---- what the tree says ---- */

uint32_t series_attempt(const struct overlay *overlay, const struct series *series)
{
    return (uint32_t)ranges_count_within(&overlay->dead, series->covering.first,
                                         series->covering.last);
}

bool series_is_member(const struct overlay *overlay, const struct series *series)
{
    return ranges_contains(&series->set, overlay->place);
}

bool series_meets_here(const struct overlay *overlay, const struct series *series)
{
    struct tree tree = overlay_tree(overlay);

    return tree_head(&tree, series->covering) == overlay->place;
}

bool operation_is_hopeless(const struct overlay *overlay, const struct series *series,
                           const struct operation *operation)
{
    return operation->cancelled || series_has_dead(overlay, series);
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
    if (!series_is_member(overlay, series))
        return UINT32_MAX;
    for (const struct operation *operation = series->operations; operation != NULL;
         operation = operation->next) {
        if (operation->called && !operation->delivered)
            return operation->generation;
    }
    return series->called_to + 1;
}

/* ---- forgetting ---- */

bool series_is_forgotten(const struct overlay *overlay, uint64_t set_id)
{
    for (uint32_t i = 0; i < overlay->collective.forgotten_count; i++) {
        if (overlay->collective.forgotten[i] == set_id)
            return true;
    }
    return false;
}

static void remember_forgotten(struct overlay *overlay, uint64_t set_id)
{
    struct collective *collective = &overlay->collective;

    if (series_is_forgotten(overlay, set_id))
        return;
    if (collective->forgotten == NULL)
        collective->forgotten = memory_allocate_zeroed(FORGOTTEN_MAX * sizeof(uint64_t));
    collective->forgotten[collective->forgotten_next] = set_id;
    collective->forgotten_next = (collective->forgotten_next + 1) % FORGOTTEN_MAX;
    if (collective->forgotten_count < FORGOTTEN_MAX)
        collective->forgotten_count++;
}

void collective_forget(struct overlay *overlay, uint64_t set_id)
{
    struct series **link = &overlay->collective.first;

    while (*link != NULL) {
        struct series *series = *link;

        if (series->key.set_id == set_id) {
            *link = series->next;
            series_destroy(overlay, series);
        } else {
            link = &series->next;
        }
    }
    remember_forgotten(overlay, set_id);
}

void collective_fini(struct overlay *overlay)
{
    while (overlay->collective.first != NULL) {
        struct series *series = overlay->collective.first;

        overlay->collective.first = series->next;
        series_destroy(overlay, series);
    }
    free(overlay->collective.forgotten);
    overlay->collective.forgotten = NULL;
}

uint32_t overlay_kept_operations(const struct overlay *overlay)
{
    uint32_t count = 0;

    for (const struct series *series = overlay->collective.first; series != NULL;
         series = series->next) {
        for (const struct operation *operation = series->operations; operation != NULL;
             operation = operation->next)
            count++;
    }
    return count;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/ranges.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void ranges_init(struct ranges *set)
{
    *set = (struct ranges){0};
}

void ranges_fini(struct ranges *set)
{
    free(set->items);
    ranges_init(set);
}

void ranges_clear(struct ranges *set)
{
    set->count = 0;
}

static void ranges_reserve(struct ranges *set, uint32_t count)
{
    uint32_t capacity = set->capacity > 0 ? set->capacity : 4;

    assert(count <= UINT32_MAX / 2);
    if (count <= set->capacity)
        return;
    while (capacity < count)
        capacity *= 2;
    set->items = memory_resize(set->items, capacity * sizeof(*set->items));
    set->capacity = capacity;
}

void ranges_copy(struct ranges *target, const struct ranges *source)
{
    if (target == source)
        return;
    ranges_clear(target);
    ranges_reserve(target, source->count);
    if (source->count > 0)
        memcpy(target->items, source->items, source->count * sizeof(*source->items));
    target->count = source->count;
}

void ranges_move(struct ranges *target, struct ranges *source)
{
    if (target == source)
        return;
    free(target->items);
    *target = *source;
    ranges_init(source);
}

/* Index of the first range that ends at or after number. */
static uint32_t ranges_search(const struct ranges *set, uint32_t number)
{
    uint32_t low = 0;
    uint32_t high = set->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (set->items[middle].last < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Index after the last range that begins at or before number. */
static uint32_t ranges_search_end(const struct ranges *set, uint32_t number)
{
    uint32_t index = ranges_search(set, number);

    return index < set->count && set->items[index].first <= number ? index + 1 : index;
}

/* Puts pieces in the place of items [from, to). */
static void ranges_splice(struct ranges *set, uint32_t from, uint32_t to,
                          const struct range *pieces, uint32_t pieces_count)
{
    uint32_t tail = set->count - to;

    ranges_reserve(set, from + pieces_count + tail);
    if (tail > 0)
        memmove(&set->items[from + pieces_count], &set->items[to], tail * sizeof(*set->items));
    if (pieces_count > 0)
        memcpy(&set->items[from], pieces, pieces_count * sizeof(*pieces));
    set->count = from + pieces_count + tail;
}

void ranges_add(struct ranges *set, uint32_t first, uint32_t last)
{
    struct range merged = {.first = first, .last = last};
    /* Neighbours that only touch are merged too. */
    uint32_t from = ranges_search(set, first > 0 ? first - 1 : first);
    uint32_t to = ranges_search_end(set, last < UINT32_MAX ? last + 1 : last);

    assert(first <= last);
    if (from < to && set->items[from].first < first)
        merged.first = set->items[from].first;
    if (from < to && set->items[to - 1].last > last)
        merged.last = set->items[to - 1].last;
    ranges_splice(set, from, to, &merged, 1);
}

void ranges_remove(struct ranges *set, uint32_t first, uint32_t last)
{
    struct range kept[2];
    uint32_t kept_count = 0;
    uint32_t from = ranges_search(set, first);
    uint32_t to = ranges_search_end(set, last);

    assert(first <= last);
    if (from >= to)
        return;
    if (set->items[from].first < first)
        kept[kept_count++] = (struct range){.first = set->items[from].first, .last = first - 1};
    if (set->items[to - 1].last > last)
        kept[kept_count++] = (struct range){.first = last + 1, .last = set->items[to - 1].last};
    ranges_splice(set, from, to, kept, kept_count);
}

/* Appends a range that does not begin before the last one does. */
static void ranges_push(struct ranges *set, uint32_t first, uint32_t last)
{
    struct range *tail = set->count > 0 ? &set->items[set->count - 1] : NULL;

    if (tail != NULL && (tail->last == UINT32_MAX || first <= tail->last + 1)) {
        if (last > tail->last)
            tail->last = last;
        return;
    }
    ranges_reserve(set, set->count + 1);
    set->items[set->count++] = (struct range){.first = first, .last = last};
}

void ranges_add_all(struct ranges *set, const struct ranges *other)
{
    struct ranges merged = {0};
    uint32_t i = 0;
    uint32_t j = 0;

    if (other->count <= 1) {
        if (other->count == 1)
            ranges_add(set, other->items[0].first, other->items[0].last);
        return;
    }
    ranges_reserve(&merged, set->count);
    while (i < set->count || j < other->count) {
        int from_set =
            j == other->count || (i < set->count && set->items[i].first <= other->items[j].first);
        const struct range *next = from_set ? &set->items[i++] : &other->items[j++];

        ranges_push(&merged, next->first, next->last);
    }
    ranges_move(set, &merged);
}

void ranges_remove_all(struct ranges *set, const struct ranges *other)
{
    struct ranges kept = {0};
    uint32_t j = 0;

    for (uint32_t i = 0; i < set->count; i++) {
        uint64_t first = set->items[i].first; /* 64 bits: it may step past the last number */
        uint32_t last = set->items[i].last;

        while (j < other->count && other->items[j].last < first)
            j++;
        for (uint32_t k = j; k < other->count && other->items[k].first <= last; k++) {
            if (other->items[k].first > first)
                ranges_push(&kept, (uint32_t)first, other->items[k].first - 1);
            first = (uint64_t)other->items[k].last + 1;
        }
        if (first <= last)
            ranges_push(&kept, (uint32_t)first, last);
    }
    ranges_move(set, &kept);
}

void ranges_clip(struct ranges *set, uint32_t first, uint32_t last)
{
    assert(first <= last);
    if (first > 0)
        ranges_remove(set, 0, first - 1);
    if (last < UINT32_MAX)
        ranges_remove(set, last + 1, UINT32_MAX);
}

void ranges_intersect(const struct ranges *a, const struct ranges *b, struct ranges *ret_set)
{
    uint32_t i = 0;
    uint32_t j = 0;

    assert(ret_set != a && ret_set != b);
    ranges_clear(ret_set);
    while (i < a->count && j < b->count) {
        struct range x = a->items[i];
        struct range y = b->items[j];
        uint32_t first = x.first > y.first ? x.first : y.first;
        uint32_t last = x.last < y.last ? x.last : y.last;

        if (first <= last)
            ranges_push(ret_set, first, last);
        if (x.last == last)
            i++;
        else
            j++;
    }
}

bool ranges_is_empty(const struct ranges *set)
{
    return set->count == 0;
}

bool ranges_contains(const struct ranges *set, uint32_t number)
{
    return ranges_overlap(set, number, number);
}

bool ranges_contains_all(const struct ranges *set, const struct ranges *other)
{
    for (uint32_t j = 0; j < other->count; j++) {
        uint32_t i = ranges_search(set, other->items[j].first);

        if (i == set->count || set->items[i].first > other->items[j].first ||
            set->items[i].last < other->items[j].last)
            return false;
    }
    return true;
}

bool ranges_overlap(const struct ranges *set, uint32_t first, uint32_t last)
{
    uint32_t i = ranges_search(set, first);

    assert(first <= last);
    return i < set->count && set->items[i].first <= last;
}

bool ranges_overlap_set(const struct ranges *a, const struct ranges *b)
{
    const struct ranges *few = a->count < b->count ? a : b;
    const struct ranges *many = few == a ? b : a;

    for (uint32_t i = 0; i < few->count; i++) {
        if (ranges_overlap(many, few->items[i].first, few->items[i].last))
            return true;
    }
    return false;
}

bool ranges_equal(const struct ranges *a, const struct ranges *b)
{
    return a->count == b->count &&
           (a->count == 0 || memcmp(a->items, b->items, a->count * sizeof(*a->items)) == 0);
}

uint64_t ranges_count(const struct ranges *set)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < set->count; i++)
        count += (uint64_t)set->items[i].last - set->items[i].first + 1;
    return count;
}

uint64_t ranges_count_within(const struct ranges *set, uint32_t first, uint32_t last)
{
    uint64_t count = 0;

    for (uint32_t i = ranges_search(set, first); i < set->count && set->items[i].first <= last;
         i++) {
        uint32_t low = set->items[i].first > first ? set->items[i].first : first;
        uint32_t high = set->items[i].last < last ? set->items[i].last : last;

        count += (uint64_t)high - low + 1;
    }
    return count;
}

bool ranges_first_gap(const struct ranges *set, uint32_t first, uint32_t last, uint32_t *ret_number)
{
    uint32_t i = ranges_search(set, first);

    if (i < set->count && set->items[i].first <= first) {
        if (set->items[i].last >= last)
            return false;
        first = set->items[i].last + 1;
    }
    if (first > last)
        return false;
    *ret_number = first;
    return true;
}

bool ranges_next(const struct ranges *set, uint32_t from, uint32_t *ret_number)
{
    uint32_t i = ranges_search(set, from);

    if (i == set->count)
        return false;
    *ret_number = set->items[i].first > from ? set->items[i].first : from;
    return true;
}

uint32_t ranges_min(const struct ranges *set)
{
    assert(set->count > 0);
    return set->items[0].first;
}

uint32_t ranges_max(const struct ranges *set)
{
    assert(set->count > 0);
    return set->items[set->count - 1].last;
}

/* Each range as its distance from the smallest first it could have, and its length - 1. */
void ranges_encode(const struct ranges *set, struct buffer *out)
{
    uint64_t lowest = 0;

    wire_put_varint(out, set->count);
    for (uint32_t i = 0; i < set->count; i++) {
        wire_put_varint(out, set->items[i].first - lowest);
        wire_put_varint(out, set->items[i].last - set->items[i].first);
        lowest = (uint64_t)set->items[i].last + 2;
    }
}

void ranges_decode(struct wire_reader *reader, uint32_t ranges_maximum, struct ranges *ret_set)
{
    uint32_t count = (uint32_t)wire_get_varint_max(reader, ranges_maximum);
    struct ranges decoded = {0};
    uint64_t lowest = 0;

    for (uint32_t i = 0; i < count && wire_status(reader) == 0; i++) {
        uint64_t first = lowest + wire_get_varint_max(reader, UINT32_MAX);
        uint64_t last = first + wire_get_varint_max(reader, UINT32_MAX);

        if (last > UINT32_MAX)
            wire_fail(reader);
        else
            ranges_push(&decoded, (uint32_t)first, (uint32_t)last);
        lowest = last + 2;
    }
    if (wire_status(reader) == 0)
        ranges_move(ret_set, &decoded);
    ranges_fini(&decoded);
}

void ranges_print(const struct ranges *set, struct buffer *out)
{
    for (uint32_t i = 0; i < set->count; i++) {
        const struct range *item = &set->items[i];

        buffer_printf(out, "%s%u", i > 0 ? "," : "", item->first);
        if (item->last > item->first)
            buffer_printf(out, "-%u", item->last);
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/name_index.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_map.h"

struct long_run {
    struct host_run run; /* its texts are copies, one block */
    uint32_t host;
};

/* The runs of one prefix, in the order of their first numbers. */
struct prefix_runs {
    uint32_t *runs;  /* indexes */
    uint64_t *reach; /* the highest number of the runs up to there */
    uint32_t count;
    uint32_t capacity;
    uint8_t suffix_bytes; /* of all of them */
    uint8_t is_mixed;     /* ... or they differ */
};

/* A name of two runs begins with both prefixes, and the longer one goes on with a digit where the
 * shorter one's number begins. */
struct name_index {
    struct hash_map *names;       /* to host + 1 */
    struct hash_map *by_prefix;   /* to struct prefix_runs */
    struct hash_map *digit_stems; /* what stands before each digit of the prefixes; to anything */
    struct long_run *runs;
    uint32_t runs_count;
    uint32_t runs_capacity;
};

struct name_index *name_index_create(void)
{
    struct name_index *index = memory_allocate_zeroed(sizeof(*index));

    index->names = hash_map_create();
    index->by_prefix = hash_map_create();
    index->digit_stems = hash_map_create();
    return index;
}

void name_index_destroy(struct name_index *index)
{
    size_t cursor = 0;
    struct prefix_runs *list;

    if (index == NULL)
        return;
    while ((list = hash_map_next(index->by_prefix, &cursor)) != NULL) {
        free(list->runs);
        free(list->reach);
        free(list);
    }
    for (uint32_t i = 0; i < index->runs_count; i++)
        free((char *)index->runs[i].run.prefix);
    free(index->runs);
    hash_map_destroy(index->names);
    hash_map_destroy(index->by_prefix);
    hash_map_destroy(index->digit_stems);
    free(index);
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* How many of the runs begin at or before a number. */
static uint32_t runs_up_to(const struct name_index *index, const struct prefix_runs *list,
                           uint64_t number)
{
    uint32_t low = 0, high = list->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (index->runs[list->runs[middle]].run.first <= number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The host of a name whose number begins at `at`, or -1.  Where the number ends the suffixes say, which
 * may begin with digits. */
static int64_t find_in_prefix(const struct name_index *index, const struct prefix_runs *list,
                              const char *name, size_t name_bytes, size_t at)
{
    uint64_t number = 0;
    uint32_t offset;

    while (at < name_bytes && is_digit(name[at]) && number < UINT64_MAX / 16) {
        number = 10 * number + (uint64_t)(name[at++] - '0');
        if (!list->is_mixed && name_bytes - at != list->suffix_bytes)
            continue;
        for (uint32_t i = runs_up_to(index, list, number); i > 0 && list->reach[i - 1] >= number;
             i--) {
            const struct long_run *found = &index->runs[list->runs[i - 1]];

            if (hostlist_run_find(&found->run, name, name_bytes, &offset))
                return (int64_t)found->host + offset;
        }
    }
    return -1;
}

int64_t name_index_find(const struct name_index *index, const char *name, size_t name_bytes)
{
    void *value = hash_map_get(index->names, name, name_bytes);
    int64_t host = -1;

    if (value != NULL)
        return (int64_t)(uintptr_t)value - 1;
    for (size_t i = 0; host < 0 && index->runs_count > 0 && i < name_bytes; i++) {
        const struct prefix_runs *list =
            is_digit(name[i]) ? hash_map_get(index->by_prefix, name, i) : NULL;

        if (list != NULL)
            host = find_in_prefix(index, list, name, name_bytes, i);
    }
    return host;
}

/* Puts the run of an index where it belongs.  O(1) if it has the highest numbers, else a move of the
 * runs after it. */
static void prefix_runs_add(struct name_index *index, struct prefix_runs *list, uint32_t number)
{
    const struct host_run *run = &index->runs[number].run;
    uint64_t last = run->first + run->count - 1;
    uint32_t at = runs_up_to(index, list, run->first);

    assert(number < index->runs_count && run->count > 0);
    if (list->count == list->capacity) {
        list->capacity = list->capacity > 0 ? 2 * list->capacity : 4;
        list->runs = memory_resize(list->runs, list->capacity * sizeof(*list->runs));
        list->reach = memory_resize(list->reach, list->capacity * sizeof(*list->reach));
    }
    memmove(&list->runs[at + 1], &list->runs[at], (list->count - at) * sizeof(*list->runs));
    memmove(&list->reach[at + 1], &list->reach[at], (list->count - at) * sizeof(*list->reach));
    list->runs[at] = number;
    list->reach[at] = at > 0 && list->reach[at - 1] > last ? list->reach[at - 1] : last;
    list->is_mixed |= list->count > 0 && list->suffix_bytes != run->suffix_bytes;
    list->suffix_bytes = run->suffix_bytes;
    list->count++;
    for (uint32_t i = at + 1; i < list->count && list->reach[i] < last; i++)
        list->reach[i] = last;
}

static void long_run_add(struct name_index *index, const struct host_run *run, uint32_t host)
{
    char *texts = memory_allocate((size_t)run->prefix_bytes + run->suffix_bytes);
    struct prefix_runs *list = hash_map_get(index->by_prefix, run->prefix, run->prefix_bytes);
    struct long_run *made;

    memcpy(texts, run->prefix, run->prefix_bytes);
    memcpy(texts + run->prefix_bytes, run->suffix, run->suffix_bytes);
    if (index->runs_count == index->runs_capacity) {
        index->runs_capacity = index->runs_capacity > 0 ? 2 * index->runs_capacity : 8;
        index->runs = memory_resize(index->runs, index->runs_capacity * sizeof(*index->runs));
    }
    made = &index->runs[index->runs_count++];
    *made = (struct long_run){.run = *run, .host = host};
    made->run.prefix = texts;
    made->run.suffix = texts + run->prefix_bytes;
    if (list == NULL) {
        list = memory_allocate_zeroed(sizeof(*list));
        hash_map_put(index->by_prefix, texts, run->prefix_bytes, list);
    }
    prefix_runs_add(index, list, index->runs_count - 1);
    for (size_t i = 0; i < run->prefix_bytes; i++) {
        if (is_digit(texts[i]))
            hash_map_put(index->digit_stems, texts, i, texts);
    }
}

void name_index_add(struct name_index *index, const struct host_run *run, uint32_t host)
{
    char name[HOST_NAME_BYTES_MAX + 1];

    assert(run->count > 0);
    if (run->count >= NAME_INDEX_RUN_MIN) {
        long_run_add(index, run, host);
        return;
    }
    for (uint32_t i = 0; i < run->count; i++) {
        size_t name_bytes = hostlist_run_name(run, i, name);

        hash_map_put(index->names, name, name_bytes, (void *)((uintptr_t)host + i + 1));
    }
}

static uint8_t lesser_bytes(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

static bool all_digits(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (!is_digit(text[i]))
            return false;
    }
    return true;
}

/* In a name of both runs, whose texts agree as far as both reach, the inner run's number lies in
 * that of the outer one, and so does what the inner texts have more: that must be digits. */
static bool number_may_lie_in(const struct host_run *inner, const struct host_run *outer)
{
    assert(inner->suffix_bytes >= outer->suffix_bytes);
    assert(inner->prefix_bytes >= outer->prefix_bytes);
    return all_digits(inner->prefix + outer->prefix_bytes,
                      (size_t)inner->prefix_bytes - outer->prefix_bytes) &&
           all_digits(inner->suffix, (size_t)inner->suffix_bytes - outer->suffix_bytes);
}

/* 1 if runs of the same texts have a number in common that both write alike: with other widths
 * only numbers that need no padding are. */
static bool numbers_share(const struct host_run *a, const struct host_run *b)
{
    uint64_t a_last = a->first + a->count - 1;
    uint64_t b_last = b->first + b->count - 1;
    uint64_t first = a->first > b->first ? a->first : b->first;
    uint64_t last = a_last < b_last ? a_last : b_last;
    struct host_run number = {.first = last, .count = 1, .width = 1};

    if (first > last)
        return false;
    return a->width == b->width ||
           hostlist_run_name_bytes(&number) >= (a->width > b->width ? a->width : b->width);
}

/* 0 if surely no name is in both. */
static bool runs_may_share(const struct host_run *a, const struct host_run *b)
{
    uint8_t prefix = lesser_bytes(a->prefix_bytes, b->prefix_bytes);
    uint8_t suffix = lesser_bytes(a->suffix_bytes, b->suffix_bytes);

    if (memcmp(a->prefix, b->prefix, prefix) != 0 ||
        memcmp(a->suffix + a->suffix_bytes - suffix, b->suffix + b->suffix_bytes - suffix,
               suffix) != 0)
        return false;
    if (a->prefix_bytes == b->prefix_bytes && a->suffix_bytes == b->suffix_bytes)
        return numbers_share(a, b);
    if (a->prefix_bytes == prefix && a->suffix_bytes == suffix)
        return number_may_lie_in(b, a);
    if (b->prefix_bytes == prefix && b->suffix_bytes == suffix)
        return number_may_lie_in(a, b);
    return true;
}

/* Runs of the same texts share a name only where their numbers overlap; of others all are asked. */
static bool prefix_may_hold(const struct name_index *index, const struct prefix_runs *list,
                            const struct host_run *run, int is_same_prefix)
{
    int by_number = is_same_prefix && !list->is_mixed && list->suffix_bytes == run->suffix_bytes;
    uint32_t i = by_number ? runs_up_to(index, list, run->first + run->count - 1) : list->count;

    for (; i > 0 && (!by_number || list->reach[i - 1] >= run->first); i--) {
        if (runs_may_share(&index->runs[list->runs[i - 1]].run, run))
            return true;
    }
    return false;
}

static bool long_runs_may_hold(const struct name_index *index, const struct host_run *run)
{
    if (hash_map_get(index->digit_stems, run->prefix, run->prefix_bytes) != NULL)
        return true;
    for (size_t i = 0; i <= run->prefix_bytes; i++) {
        int begins = i == run->prefix_bytes || is_digit(run->prefix[i]);
        const struct prefix_runs *list =
            begins ? hash_map_get(index->by_prefix, run->prefix, i) : NULL;

        if (list != NULL && prefix_may_hold(index, list, run, i == run->prefix_bytes))
            return true;
    }
    return false;
}

bool name_index_may_hold(const struct name_index *index, const struct host_run *run)
{
    size_t cursor = 0;
    const void *name;
    size_t name_bytes;
    uint32_t offset;

    if (long_runs_may_hold(index, run))
        return true;
    if (hash_map_count(index->names) > run->count)
        return true; /* looking up the run's names is cheaper */
    while (hash_map_next_entry(index->names, &cursor, &name, &name_bytes) != NULL) {
        if (hostlist_run_find(run, name, name_bytes, &offset))
            return true;
    }
    return false;
}

struct name_index *name_index_of(const struct hostlist *list)
{
    struct name_index *index = name_index_create();
    uint32_t first = 0;

    for (uint32_t i = 0; i < hostlist_runs(list); i++) {
        struct host_run run = hostlist_run(list, i);

        name_index_add(index, &run, first);
        first += run.count;
    }
    assert(first == hostlist_count(list));
    return index;
}

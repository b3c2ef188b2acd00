/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/name_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

struct long_run {
    struct host_run run; /* its texts are copies, one block */
    uint32_t host;
};

struct name_index {
    struct map *names; /* to host + 1 */
    struct long_run *runs;
    uint32_t runs_count;
    uint32_t runs_capacity;
};

struct name_index *name_index_create(void)
{
    struct name_index *index = memory_allocate_zeroed(sizeof(*index));

    index->names = map_create();
    return index;
}

void name_index_destroy(struct name_index *index)
{
    if (index == NULL)
        return;
    for (uint32_t i = 0; i < index->runs_count; i++)
        free((char *)index->runs[i].run.prefix);
    free(index->runs);
    map_destroy(index->names);
    free(index);
}

int64_t name_index_find(const struct name_index *index, const char *name, size_t name_bytes)
{
    void *value = map_get(index->names, name, name_bytes);
    uint32_t offset;

    if (value != NULL)
        return (int64_t)(uintptr_t)value - 1;
    for (uint32_t i = 0; i < index->runs_count; i++) {
        if (host_run_find(&index->runs[i].run, name, name_bytes, &offset))
            return (int64_t)index->runs[i].host + offset;
    }
    return -1;
}

static void long_run_add(struct name_index *index, const struct host_run *run, uint32_t host)
{
    char *texts = memory_allocate((size_t)run->prefix_bytes + run->suffix_bytes);
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
}

void name_index_add(struct name_index *index, const struct host_run *run, uint32_t host)
{
    char name[HOST_NAME_BYTES_MAX + 1];

    if (run->count >= NAME_INDEX_RUN_MIN) {
        long_run_add(index, run, host);
        return;
    }
    for (uint32_t i = 0; i < run->count; i++) {
        size_t name_bytes = host_run_name(run, i, name);

        map_put(index->names, name, name_bytes, (void *)((uintptr_t)host + i + 1));
    }
}

static uint8_t lesser(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

static int all_digits(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] < '0' || text[i] > '9')
            return 0;
    }
    return 1;
}

/* In a name of both runs, whose texts agree as far as both reach, the inner run's number lies in
 * that of the outer one, and so does what the inner texts have more: that must be digits. */
static int number_may_lie_in(const struct host_run *inner, const struct host_run *outer)
{
    return all_digits(inner->prefix + outer->prefix_bytes,
                      (size_t)inner->prefix_bytes - outer->prefix_bytes) &&
           all_digits(inner->suffix, (size_t)inner->suffix_bytes - outer->suffix_bytes);
}

/* 1 if runs of the same texts have a number in common that both write alike: with other widths
 * only numbers that need no padding are. */
static int numbers_share(const struct host_run *a, const struct host_run *b)
{
    uint64_t a_last = a->first + a->count - 1;
    uint64_t b_last = b->first + b->count - 1;
    uint64_t first = a->first > b->first ? a->first : b->first;
    uint64_t last = a_last < b_last ? a_last : b_last;
    struct host_run number = {.first = last, .count = 1, .width = 1};

    if (first > last)
        return 0;
    return a->width == b->width ||
           host_run_name_bytes(&number) >= (a->width > b->width ? a->width : b->width);
}

/* 0 if surely no name is in both. */
static int runs_may_share(const struct host_run *a, const struct host_run *b)
{
    uint8_t prefix = lesser(a->prefix_bytes, b->prefix_bytes);
    uint8_t suffix = lesser(a->suffix_bytes, b->suffix_bytes);

    if (memcmp(a->prefix, b->prefix, prefix) != 0 ||
        memcmp(a->suffix + a->suffix_bytes - suffix, b->suffix + b->suffix_bytes - suffix,
               suffix) != 0)
        return 0;
    if (a->prefix_bytes == b->prefix_bytes && a->suffix_bytes == b->suffix_bytes)
        return numbers_share(a, b);
    if (a->prefix_bytes == prefix && a->suffix_bytes == suffix)
        return number_may_lie_in(b, a);
    if (b->prefix_bytes == prefix && b->suffix_bytes == suffix)
        return number_may_lie_in(a, b);
    return 1;
}

int name_index_may_hold(const struct name_index *index, const struct host_run *run)
{
    size_t cursor = 0;
    const void *name;
    size_t name_bytes;
    uint32_t offset;

    for (uint32_t i = 0; i < index->runs_count; i++) {
        if (runs_may_share(&index->runs[i].run, run))
            return 1;
    }
    if (map_count(index->names) > run->count)
        return 1; /* looking up the run's names is cheaper */
    while (map_next_entry(index->names, &cursor, &name, &name_bytes) != NULL) {
        if (host_run_find(run, name, name_bytes, &offset))
            return 1;
    }
    return 0;
}

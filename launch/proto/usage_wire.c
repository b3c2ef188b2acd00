/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <assert.h>
#include <string.h>

#include "launch/proto/usage.h"

static void put_fold(struct buffer *out, const struct usage_fold *fold)
{
    uint32_t used = 0, last = 0;

    assert(fold->least <= fold->most);
    for (uint32_t i = 0; i < USAGE_RANGES; i++)
        used += fold->counts[i] > 0;
    wire_put_varint(out, fold->least);
    wire_put_varint(out, fold->most);
    wire_put_varint(out, fold->least_rank);
    wire_put_varint(out, fold->most_rank);
    wire_put_varint(out, used);
    for (uint32_t i = 0; i < USAGE_RANGES; i++) {
        if (fold->counts[i] == 0)
            continue;
        wire_put_varint(out, i - last);
        wire_put_varint(out, fold->counts[i]);
        last = i;
    }
}

static void get_fold(struct wire_reader *reader, uint32_t ranks, struct usage_fold *fold)
{
    uint64_t range = 0, sum = 0;
    uint32_t used;

    fold->least = wire_get_varint(reader);
    fold->most = wire_get_varint(reader);
    fold->least_rank = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
    fold->most_rank = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
    used = (uint32_t)wire_get_varint_max(reader, USAGE_RANGES);
    for (uint32_t i = 0; i < used && wire_status(reader) == 0; i++) {
        uint64_t gap = wire_get_varint_max(reader, USAGE_RANGES - 1);
        uint32_t count = (uint32_t)wire_get_varint_max(reader, ranks);

        range += gap;
        sum += count;
        if (range >= USAGE_RANGES || count == 0 || (i > 0 && gap == 0))
            wire_fail(reader);
        else
            fold->counts[range] = count;
    }
    if (fold->least > fold->most || sum != ranks)
        wire_fail(reader);
}

void usage_encode(const struct usage *usage, struct buffer *out)
{
    wire_put_varint(out, usage->ranks);
    for (uint32_t i = 0; i < USAGE_KIND_COUNT; i++)
        put_fold(out, &usage->folds[i]);
}

void usage_decode(struct wire_reader *reader, struct usage *ret_usage)
{
    memset(ret_usage, 0, sizeof(*ret_usage));
    ret_usage->ranks = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
    if (ret_usage->ranks == 0)
        wire_fail(reader);
    for (uint32_t i = 0; i < USAGE_KIND_COUNT && wire_status(reader) == 0; i++)
        get_fold(reader, ret_usage->ranks, &ret_usage->folds[i]);
}

void usage_rank_encode(const struct usage_rank *what, struct buffer *out)
{
    for (uint32_t i = 0; i < USAGE_KIND_COUNT; i++)
        wire_put_varint(out, what->values[i]);
}

void usage_rank_decode(struct wire_reader *reader, struct usage_rank *ret_what)
{
    for (uint32_t i = 0; i < USAGE_KIND_COUNT; i++)
        ret_what->values[i] = wire_get_varint(reader);
}

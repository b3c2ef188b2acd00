/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits as bytes: three if nothing is given.
 */
#include "config.h"

#include "launch/proto/process_limits.h"

#include <assert.h>

void process_limits_encode(const struct process_limits *limits, struct buffer *out)
{
    unsigned int count = 0;

    assert(limits->nice >= -PROCESS_NICE_MAX && limits->nice <= PROCESS_NICE_MAX);
    assert(limits->umask <= PROCESS_UMASK_MAX);
    /* 0: not given */
    wire_put_varint(out, limits->umask_is_set ? limits->umask + 1u : 0);
    wire_put_u8(out, (uint8_t)(limits->nice + PROCESS_NICE_MAX));
    for (unsigned int i = 0; i < PROCESS_LIMIT_KIND_COUNT; i++)
        count += limits->items[i].rule != PROCESS_LIMIT_KEEP;
    wire_put_varint(out, count);
    for (unsigned int i = 0; i < PROCESS_LIMIT_KIND_COUNT; i++) {
        const struct process_limit *limit = &limits->items[i];

        if (limit->rule == PROCESS_LIMIT_KEEP)
            continue;
        wire_put_u8(out, (uint8_t)i);
        wire_put_u8(out, (uint8_t)limit->rule);
        wire_put_varint(out, limit->soft);
        wire_put_varint(out, limit->hard);
    }
}

static int is_limit(const struct process_limit *limit)
{
    switch (limit->rule) {
    case PROCESS_LIMIT_SOFT:
        return limit->hard == 0;
    case PROCESS_LIMIT_BOTH:
        return limit->soft <= limit->hard;
    case PROCESS_LIMIT_RAISE:
        return limit->soft == 0 && limit->hard == 0;
    default:
        return 0;
    }
}

void process_limits_decode(struct wire_reader *reader, struct process_limits *ret_limits)
{
    struct process_limits limits = {.umask = 0};
    uint64_t mask = wire_get_varint_max(reader, PROCESS_UMASK_MAX + 1);
    uint64_t nice_value = wire_get_u8(reader);
    uint64_t count = wire_get_varint_max(reader, PROCESS_LIMIT_KIND_COUNT);

    if (nice_value > 2 * PROCESS_NICE_MAX)
        wire_fail(reader);
    for (uint64_t i = 0; i < count && wire_status(reader) == 0; i++) {
        uint64_t kind = wire_get_u8(reader);
        struct process_limit limit = {.rule = (enum process_limit_rule)wire_get_u8(reader)};

        limit.soft = wire_get_varint_max(reader, UINT64_MAX);
        limit.hard = wire_get_varint_max(reader, UINT64_MAX);
        if (kind < PROCESS_LIMIT_KIND_COUNT && is_limit(&limit))
            limits.items[kind] = limit;
        else
            wire_fail(reader);
    }
    limits.umask_is_set = mask > 0;
    limits.umask = (uint16_t)(mask > 0 ? mask - 1 : 0);
    limits.nice = (int8_t)((int)nice_value - PROCESS_NICE_MAX);
    *ret_limits = wire_status(reader) == 0 ? limits : (struct process_limits){.umask = 0};
}

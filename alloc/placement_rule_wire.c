/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/placement_rule.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

static void put_list(const struct placement_list *list, struct buffer *out)
{
    uint32_t last = 0;

    wire_put_varint(out, list->count);
    wire_put_u8(out, list->cores != NULL);
    for (uint32_t i = 0; i < list->count; i++) {
        int64_t step = (int64_t)list->nodes[i] - last;

        wire_put_varint(out, step >= 0 ? (uint64_t)step << 1 : ((uint64_t)-step << 1) - 1);
        last = list->nodes[i];
        if (list->cores != NULL)
            ranges_encode(&list->cores[i], out);
    }
}

static struct placement_list *get_list(struct wire_reader *reader)
{
    struct placement_list *list = memory_allocate_zeroed(sizeof(*list));
    uint64_t count = wire_get_varint_max(reader, PLACEMENT_PROCESSES_MAX);
    uint64_t has_cores = wire_get_varint_max(reader, 1);
    int64_t node = 0;

    /* Each has a byte at least: memory is in proportion to what came. */
    if (count > wire_left(reader))
        wire_fail(reader);
    list->count = wire_status(reader) == 0 ? (uint32_t)count : 0;
    list->nodes = memory_allocate_zeroed((list->count + 1) * sizeof(*list->nodes));
    if (has_cores)
        list->cores = memory_allocate_zeroed((list->count + 1) * sizeof(*list->cores));
    for (uint32_t i = 0; i < list->count && wire_status(reader) == 0; i++) {
        uint64_t step = wire_get_varint_max(reader, UINT32_MAX);

        node += step & 1 ? -(int64_t)((step + 1) >> 1) : (int64_t)(step >> 1);
        if (node < 0 || node > UINT32_MAX)
            wire_fail(reader);
        list->nodes[i] = (uint32_t)node;
        if (has_cores)
            ranges_decode(reader, PLACEMENT_LIST_RANGES_MAX, &list->cores[i]);
    }
    return list;
}

static void put_cpus(const struct placement_cpus *listed, struct buffer *out)
{
    assert(listed->count <= PLACEMENT_CPU_PARTS_MAX);
    wire_put_varint(out, listed->count);
    for (uint32_t i = 0; i < listed->count; i++) {
        wire_put_varint(out, listed->parts[i].first);
        wire_put_varint(out, listed->parts[i].last - listed->parts[i].first);
    }
}

static void get_cpus(struct wire_reader *reader, struct placement_cpus *listed)
{
    uint32_t count = (uint32_t)wire_get_varint_max(reader, PLACEMENT_CPU_PARTS_MAX);
    struct ranges seen = {0};

    for (uint32_t i = 0; i < count && wire_status(reader) == 0; i++) {
        struct range part;

        part.first = (uint32_t)wire_get_varint_max(reader, TOPOLOGY_THREADS_MAX - 1);
        part.last = part.first +
                    (uint32_t)wire_get_varint_max(reader, TOPOLOGY_THREADS_MAX - 1 - part.first);
        if (ranges_overlap(&seen, part.first, part.last))
            wire_fail(reader);
        ranges_add(&seen, part.first, part.last);
        placement_rule_add_part(listed, part);
    }
    if (listed->count == 0)
        wire_fail(reader);
    ranges_fini(&seen);
}

void placement_rule_encode(const struct placement_rule *rule, struct buffer *out)
{
    assert(rule->policy < PLACEMENT_POLICY_COUNT && rule->level < TOPOLOGY_LEVEL_COUNT);
    wire_put_u8(out, (uint8_t)rule->policy);
    wire_put_u8(out, (uint8_t)rule->level);
    wire_put_varint(out, rule->processes);
    wire_put_varint(out, rule->per);
    wire_put_varint(out, rule->pe);
    wire_put_varint(out, rule->cpus);
    wire_put_varint(out, rule->gpus);
    wire_put_u8(out, (uint8_t)rule->rank_by);
    wire_put_u8(out, (uint8_t)rule->bind);
    wire_put_u8(out, (uint8_t)rule->bind_level);
    wire_put_u8(out, (uint8_t)rule->memory);
    wire_put_u8(out, (uint8_t)(rule->span | rule->oversubscribe << 1 | rule->overload << 2 |
                               rule->ordered << 3 | rule->shared << 4));
    wire_put_u8(out, (uint8_t)rule->device_class);
    wire_put_string(out, rule->device);
    wire_put_string(out, rule->require != NULL ? rule->require : "");
    ranges_encode(&rule->excluded, out);
    if (rule->policy == PLACEMENT_BY_LIST)
        put_list(rule->list, out);
    if (rule->policy == PLACEMENT_BY_CPUS)
        put_cpus(&rule->listed, out);
}

static uint8_t get_choice(struct wire_reader *reader, uint8_t count)
{
    uint8_t value = wire_get_u8(reader);

    if (value >= count)
        wire_fail(reader);
    return wire_status(reader) == 0 ? value : 0;
}

static void get_require(struct wire_reader *reader, struct placement_rule *rule)
{
    rule->require = wire_get_string(reader, REQUIRE_BYTES_MAX);
    if (rule->require[0] == '\0') {
        free(rule->require);
        rule->require = NULL;
    }
    ranges_decode(reader, PLACEMENT_NODE_RANGES_MAX, &rule->excluded);
}

int placement_rule_decode(struct placement_rule *ret_rule, struct wire_reader *reader)
{
    struct placement_rule rule = {.policy = PLACEMENT_BY_SLOT};
    uint8_t flags;

    rule.policy = (enum placement_policy)get_choice(reader, PLACEMENT_POLICY_COUNT);
    rule.level = (enum topology_level)get_choice(reader, TOPOLOGY_LEVEL_COUNT);
    rule.processes = (uint32_t)wire_get_varint_max(reader, PLACEMENT_PROCESSES_MAX);
    rule.per = (uint32_t)wire_get_varint_max(reader, PLACEMENT_PROCESSES_MAX);
    rule.pe = (uint32_t)wire_get_varint_max(reader, PLACEMENT_UNITS_MAX);
    rule.cpus = (uint32_t)wire_get_varint_max(reader, PLACEMENT_UNITS_MAX);
    rule.gpus = (uint32_t)wire_get_varint_max(reader, TOPOLOGY_DEVICES_MAX);
    rule.rank_by = (enum placement_rank_by)get_choice(reader, PLACEMENT_RANK_BY_COUNT);
    rule.bind = (enum placement_bind)get_choice(reader, PLACEMENT_BIND_COUNT);
    rule.bind_level = (enum topology_level)get_choice(reader, TOPOLOGY_LEVEL_COUNT);
    rule.memory = (enum placement_memory)get_choice(reader, PLACEMENT_MEMORY_COUNT);
    flags = get_choice(reader, 32);
    rule.span = flags & 1;
    rule.oversubscribe = flags >> 1 & 1;
    rule.overload = flags >> 2 & 1;
    rule.ordered = flags >> 3 & 1;
    rule.shared = flags >> 4 & 1;
    rule.device_class = (enum placement_device)get_choice(reader, PLACEMENT_DEVICE_COUNT);
    wire_get_string_into(reader, rule.device, sizeof(rule.device));
    get_require(reader, &rule);
    if (rule.policy == PLACEMENT_PER_OBJECT && rule.per == 0)
        wire_fail(reader);
    if (rule.policy == PLACEMENT_BY_LIST && wire_status(reader) == 0)
        rule.list = get_list(reader);
    if (rule.policy == PLACEMENT_BY_CPUS)
        get_cpus(reader, &rule.listed);
    else if (rule.ordered)
        wire_fail(reader); /* there is nothing to keep in order */
    if (wire_status(reader) < 0) {
        placement_rule_fini(&rule);
        return -EBADMSG;
    }
    *ret_rule = rule;
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/placement.h"

#include <errno.h>

void placement_encode(const struct placement *placement, struct buffer *out)
{
    wire_put_varint(out, placement->rules_count);
    for (uint32_t i = 0; i < placement->rules_count; i++)
        placement_rule_encode(&placement->rules[i], out);
    ranges_encode(&placement->excluded, out);
    placement_machines_encode(&placement->machines, out);
    facts_table_encode(&placement->facts, out);
}

int placement_decode(struct placement *ret_placement, struct wire_reader *reader)
{
    uint64_t count = wire_get_varint_max(reader, PLACEMENT_APPS_MAX);
    uint64_t processes = 0;

    *ret_placement = (struct placement){0};
    for (uint64_t i = 0; i < count && wire_status(reader) == 0; i++) {
        struct placement_rule rule = {.policy = PLACEMENT_BY_SLOT};

        if (placement_rule_decode(&rule, reader) < 0) {
            wire_fail(reader);
        } else {
            placement_add(ret_placement, &rule);
            processes += rule.processes;
        }
    }
    if (processes > PLACEMENT_PROCESSES_MAX)
        wire_fail(reader);
    ranges_decode(reader, PLACEMENT_NODE_RANGES_MAX, &ret_placement->excluded);
    if (wire_status(reader) == 0)
        (void)placement_machines_decode(&ret_placement->machines, reader);
    if (wire_status(reader) == 0)
        (void)facts_table_decode(&ret_placement->facts, reader);
    if (wire_status(reader) == 0)
        return 0;
    placement_fini(ret_placement);
    return -EBADMSG;
}

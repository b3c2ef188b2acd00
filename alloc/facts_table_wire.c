/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/facts_table.h"

#include <errno.h>

#define NODE_RANGES_MAX 16777216u

void facts_table_encode(const struct facts_table *table, struct buffer *out)
{
    wire_put_varint(out, table->count);
    for (uint32_t i = 0; i < table->count; i++) {
        node_facts_encode(&table->kinds[i].facts, out);
        ranges_encode(&table->kinds[i].nodes, out);
    }
}

int facts_table_decode(struct facts_table *ret_table, struct wire_reader *reader)
{
    uint64_t count = wire_get_varint_max(reader, FACTS_KINDS_MAX);

    for (uint64_t i = 0; i < count && wire_status(reader) == 0; i++) {
        struct node_facts facts;
        struct ranges nodes = {0};

        (void)node_facts_decode(&facts, reader);
        ranges_decode(reader, NODE_RANGES_MAX, &nodes);
        if (wire_status(reader) == 0)
            facts_table_add(ret_table, &facts, &nodes);
        node_facts_fini(&facts);
        ranges_fini(&nodes);
    }
    if (wire_status(reader) == 0)
        return 0;
    facts_table_fini(ret_table);
    return -EBADMSG;
}

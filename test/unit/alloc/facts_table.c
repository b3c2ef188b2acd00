/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known of which nodes: what was known first counts, equal nodes are one kind, and the whole
 * goes through the wire.
 */
#include "config.h"

#include "alloc/facts_table.h"

#include <errno.h>

#include "test/support/tap.h"

static void add(struct facts_table *table, const char *text, uint32_t first, uint32_t last)
{
    struct node_facts facts = {.known = 0};
    struct ranges nodes = {0};

    if (node_facts_parse(text, &facts, NULL) < 0)
        bail_out("no facts");
    ranges_add(&nodes, first, last);
    facts_table_add(table, &facts, &nodes);
    ranges_fini(&nodes);
    node_facts_fini(&facts);
}

static void is_known(const struct facts_table *table, uint32_t node, const char *expected)
{
    const struct node_facts *facts = facts_table_find(table, node);
    struct buffer text = {0};

    if (facts != NULL)
        node_facts_print(facts, &text);
    is_string(buffer_string(&text), expected, "node %u", node);
    buffer_fini(&text);
}

static void is_whole(const struct facts_table *table)
{
    is_uint(table->count, 3, "kinds of nodes");
    is_known(table, 0, "mem=1G");
    is_known(table, 4, "mem=1G,gpus=2");
    is_known(table, 8, "mem=2G,gpus=2");
    is_known(table, 10, "");
}

int main(void)
{
    struct facts_table table = {0}, copy = {0};
    struct buffer bytes = {0};
    struct wire_reader reader;

    add(&table, "mem=1G", 0, 5);
    add(&table, "mem=2G,gpus=2", 3, 9);
    is_whole(&table);
    facts_table_encode(&table, &bytes);
    wire_reader_init(&reader, bytes.data, bytes.length_bytes);
    is_int(facts_table_decode(&copy, &reader), 0, "it can be read again");
    is_int(wire_finish(&reader), 0, "all of it was read");
    is_whole(&copy);
    facts_table_fini(&copy);
    for (size_t length = 0; length < bytes.length_bytes; length++) {
        wire_reader_init(&reader, bytes.data, length);
        is_int(facts_table_decode(&copy, &reader), -EBADMSG, "not when it is cut to %zu", length);
        is_uint(copy.count, 0, "and then nothing is kept");
    }
    buffer_fini(&bytes);
    facts_table_fini(&table);
    return done_testing();
}

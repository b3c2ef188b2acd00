/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/facts_table.h"

#include <stdlib.h>

void facts_table_fini(struct facts_table *table)
{
    for (uint32_t i = 0; i < table->count; i++) {
        node_facts_fini(&table->kinds[i].facts);
        ranges_fini(&table->kinds[i].nodes);
    }
    free(table->kinds);
    *table = (struct facts_table){0};
}

/* Nodes that are in no kind yet. */
static void put_facts(struct facts_table *table, const struct node_facts *facts,
                      const struct ranges *nodes)
{
    struct facts_kind *kind;

    if (ranges_is_empty(nodes))
        return;
    for (uint32_t i = 0; i < table->count; i++) {
        if (node_facts_equal(&table->kinds[i].facts, facts)) {
            ranges_add_all(&table->kinds[i].nodes, nodes);
            return;
        }
    }
    table->kinds = memory_resize(table->kinds, (table->count + 1) * sizeof(*table->kinds));
    kind = &table->kinds[table->count++];
    *kind = (struct facts_kind){.nodes = {0}};
    node_facts_copy(&kind->facts, facts);
    ranges_copy(&kind->nodes, nodes);
}

void facts_table_add(struct facts_table *table, const struct node_facts *facts,
                     const struct ranges *nodes)
{
    uint32_t count = table->count;
    struct ranges left = {0};

    ranges_copy(&left, nodes);
    for (uint32_t i = 0; i < count; i++) {
        struct node_facts both;
        struct ranges common = {0};

        node_facts_copy(&both, &table->kinds[i].facts);
        node_facts_merge(&both, facts);
        ranges_intersect(&table->kinds[i].nodes, nodes, &common);
        ranges_remove_all(&left, &common);
        if (!node_facts_equal(&both, &table->kinds[i].facts)) {
            ranges_remove_all(&table->kinds[i].nodes, &common);
            put_facts(table, &both, &common);
        }
        ranges_fini(&common);
        node_facts_fini(&both);
    }
    put_facts(table, facts, &left);
    ranges_fini(&left);
}

void facts_table_merge(struct facts_table *table, const struct facts_table *other)
{
    for (uint32_t i = 0; i < other->count; i++)
        facts_table_add(table, &other->kinds[i].facts, &other->kinds[i].nodes);
}

const struct node_facts *facts_table_find(const struct facts_table *table, uint32_t node)
{
    for (uint32_t i = 0; i < table->count; i++) {
        if (ranges_contains(&table->kinds[i].nodes, node))
            return &table->kinds[i].facts;
    }
    return NULL;
}

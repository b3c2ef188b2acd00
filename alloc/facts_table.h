/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known of the nodes of an allocation, by kind: nodes of which the same is known are one
 * entry with their indexes as ranges.  Cost: kinds x ranges; a regular machine has a handful.
 */
#ifndef ALLOC_FACTS_TABLE_H
#define ALLOC_FACTS_TABLE_H

#include "base/node_facts.h"
#include "base/ranges.h"

#define FACTS_KINDS_MAX 4096u

struct facts_kind {
    struct node_facts facts;
    struct ranges nodes; /* indexes; of no other kind */
};

/* A zeroed struct is empty. */
struct facts_table {
    struct facts_kind *kinds;
    uint32_t count;
};

void facts_table_fini(struct facts_table *table);
/* This is known of these nodes, too; what was known before counts. */
void facts_table_add(struct facts_table *table, const struct node_facts *facts,
                     const struct ranges *nodes);
/* The same for all that another table knows. */
void facts_table_merge(struct facts_table *table, const struct facts_table *other);
/* What is known of a node, or NULL. */
const struct node_facts *facts_table_find(const struct facts_table *table, uint32_t node);
void facts_table_encode(const struct facts_table *table, struct buffer *out);
/* 0 or -EBADMSG; replaces ret_table, which must be empty. */
int facts_table_decode(struct facts_table *ret_table, struct wire_reader *reader);

#endif

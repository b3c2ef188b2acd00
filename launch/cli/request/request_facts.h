/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known of the nodes before any of them is queried: from --facts, then from the scheduler
 * (for Slurm: sinfo's features, memory and GPUs).
 */
#ifndef LAUNCH_CLI_REQUEST_REQUEST_FACTS_H
#define LAUNCH_CLI_REQUEST_REQUEST_FACTS_H

#include "alloc/allocation.h"
#include "alloc/facts_table.h"
#include "alloc/source.h"
#include "base/error.h"
#include "launch/cli/request/request_placement.h"

/* Adds what the configuration says of nodes that are named by their cluster; site NULL: nothing.  O(nodes x
 * kinds of nodes). */
void request_facts_clusters(const struct site *site, const struct allocation *allocation,
                            struct facts_table *table);
/* Facts from --facts, in order; the first value given for a fact counts.  Fails on unknown
 * nodes. */
int request_facts_given(const struct option_list *given, const struct allocation *allocation,
                        struct facts_table *table, struct error *error);
/* Facts from the scheduler; nothing if it cannot be queried. */
int request_facts_ask(const struct request_ops *ops, const struct source *source,
                      const struct allocation *allocation, struct facts_table *table,
                      struct error *error);
/* Both, the scheduler only if an application requires something. */
int request_facts_find(const struct request_apps *apps, const struct request_ops *ops,
                       const struct source *source, const struct allocation *allocation,
                       struct facts_table *table, struct error *error);

/* Parses sinfo's output, lines "NAMES|FEATURES|MEMORY|GRES"; other nodes are ignored. */
int request_facts_parse_sinfo(const char *text, const struct allocation *allocation,
                              struct facts_table *table, struct error *error);

#endif

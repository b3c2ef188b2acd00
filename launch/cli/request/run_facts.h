/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known of the nodes before any of them is queried: from --facts, then from the scheduler
 * (for Slurm: sinfo's features, memory and GPUs).
 */
#ifndef LAUNCH_CLI_REQUEST_RUN_FACTS_H
#define LAUNCH_CLI_REQUEST_RUN_FACTS_H

#include "alloc/allocation.h"
#include "alloc/facts_table.h"
#include "alloc/source.h"
#include "base/error.h"
#include "launch/cli/request/run_placement.h"

/* Facts from --facts, in order; the first value given for a fact counts.  Fails on unknown
 * nodes. */
int run_facts_given(const struct option_list *given, const struct allocation *allocation,
                    struct facts_table *table, struct error *error);
/* Facts from the scheduler; nothing if it cannot be queried. */
int run_facts_ask(const struct run_world *world, const struct source *source,
                  const struct allocation *allocation, struct facts_table *table,
                  struct error *error);
/* Both, the scheduler only if an application requires something. */
int run_facts_find(const struct run_apps *apps, const struct run_world *world,
                   const struct source *source, const struct allocation *allocation,
                   struct facts_table *table, struct error *error);

/* Parses sinfo's output, lines "NAMES|FEATURES|MEMORY|GRES"; other nodes are ignored. */
int run_facts_parse_sinfo(const char *text, const struct allocation *allocation,
                          struct facts_table *table, struct error *error);

#endif

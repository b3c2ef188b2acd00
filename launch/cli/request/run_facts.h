/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known of the nodes before any of them is asked: what --facts says, then what the scheduler
 * says (of Slurm: sinfo's features, memory and GPUs).
 */
#ifndef LAUNCH_CLI_REQUEST_RUN_FACTS_H
#define LAUNCH_CLI_REQUEST_RUN_FACTS_H

#include "alloc/allocation.h"
#include "alloc/facts_table.h"
#include "alloc/source.h"
#include "base/error.h"
#include "launch/cli/request/run_placement.h"

/* What --facts says, in order; the first that knows something counts.  Fails on nodes that are not
 * there. */
int run_facts_given(const struct option_list *given, const struct allocation *allocation,
                    struct facts_table *table, struct error *error);
/* What the scheduler says; nothing if it is none that can be asked. */
int run_facts_ask(const struct run_world *world, const struct source *source,
                  const struct allocation *allocation, struct facts_table *table,
                  struct error *error);
/* Both, the scheduler only if an application requires something. */
int run_facts_find(const struct run_apps *apps, const struct run_world *world,
                   const struct source *source, const struct allocation *allocation,
                   struct facts_table *table, struct error *error);

/* Of a text of sinfo, lines "NAMES|FEATURES|MEMORY|GRES"; nodes of others are left aside. */
int run_facts_parse_sinfo(const char *text, const struct allocation *allocation,
                          struct facts_table *table, struct error *error);

#endif

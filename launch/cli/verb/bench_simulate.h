/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `banyan bench --simulate`: plans of collectives from shared objects (fabric/banyan/collective.h), checked and timed by
 * collective_plan.h, beside banyan's own exchange, which banyan sim simulates with the same costs.
 */
#ifndef LAUNCH_CLI_VERB_BENCH_SIMULATE_H
#define LAUNCH_CLI_VERB_BENCH_SIMULATE_H

#include "base/error.h"
#include "launch/cli/verb/bench_plan.h"
#include "launch/cli/verb/bench_row.h"
#include "launch/cli/verb/collective_plan.h"

/* Of a row; zeroed of banyan's own. */
struct bench_simulated {
    struct bench_row *rows;
    struct collective_result *results;
    uint32_t count;
};

/* Each path's collective. */
int bench_simulate_open(const struct option_list *paths,
                        const struct banyan_collective **ret_collectives, struct error *error);
/* With the costs of messages that are simulated. */
struct banyan_collective_topology bench_simulate_topology(uint32_t places, uint32_t radix,
                                                          uint32_t block_bytes);
/* For each number of places and size: banyan's own exchange, and each collective. */
int bench_simulate(const struct bench_settings *settings, struct bench_simulated *ret_simulated,
                   struct error *error);
void bench_simulate_fini(struct bench_simulated *simulated);
/* What the plans do, a line each. */
void bench_simulate_print(const struct bench_simulated *simulated, struct buffer *out);

#endif

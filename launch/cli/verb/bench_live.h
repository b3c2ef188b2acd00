/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `banyan bench --collective` without --simulate: an instance carries out plans of exchanges.  All of them are checked
 * (collective_plan.h) for the places of the instance before any is sent; then each is sent with its request
 * (launch/proto/exchange_plan.h).
 */
#ifndef LAUNCH_CLI_VERB_BENCH_LIVE_H
#define LAUNCH_CLI_VERB_BENCH_LIVE_H

#include "base/buffer.h"
#include "base/error.h"
#include "launch/cli/client/instance_client.h"
#include "launch/cli/verb/bench_plan.h"
#include "launch/cli/verb/bench_row.h"
#include "fabric/banyan/collective.h"

/* A zeroed struct has no plans. */
struct bench_live {
    const struct banyan_collective **collectives;  /* owned; what they point to is not */
    struct banyan_collective_topology *topologies; /* of each request that is of a plan; owned */
    const struct bench_request *requests; /* the caller's; those of plans are the last ones */
    uint32_t collectives_count;
    uint32_t count; /* of the requests that are of plans */
    uint32_t from;  /* the first of them */
};

/* Loads the plans. */
int bench_live_open(struct bench_live *ret_live, const struct bench_settings *settings,
                    struct error *error);
/* requests: of bench_plan_make, kept by the caller.  For each instance once: asks the instance who would take part, and checks all plans. */
int bench_live_check(struct bench_live *live, struct instance_client *client,
                     const struct bench_request *requests, uint32_t count, struct error *error);
/* The name of the plan of a request. */
const char *bench_live_name(const struct bench_live *live, uint32_t request);
/* Checks a plan and appends it to out. */
int bench_live_encode(const struct banyan_collective *collective,
                      const struct banyan_collective_topology *topology, struct buffer *out,
                      struct error *error);
/* A negative status of the root is the error's, without a text that says more than that. */
int bench_live_measure(const struct bench_live *live, struct instance_client *client,
                       uint32_t request, struct bench_row *ret_row, struct error *error);
void bench_live_fini(struct bench_live *live);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* What `banyan bench` is to measure: its options, and the list of measurements that they stand for. */
#ifndef LAUNCH_CLI_VERB_BENCH_PLAN_H
#define LAUNCH_CLI_VERB_BENCH_PLAN_H

#include <stdint.h>

#include "base/error.h"
#include "launch/cli/option/options.h"
#include "launch/cli/request/request_settings.h"
#include "launch/proto/bench.h"

struct bench_settings {
    struct request_settings
        start; /* of an instance that is started for it; first: its rules have offsets in it */
    const char *instance;
    /* What the instances that are started for it differ in (bench_variants.h). */
    struct option_list radixes;
    struct option_list fabrics;
    struct option_list trees;
    struct option_list shapes;
    struct option_list operations;
    struct option_list sizes;
    struct option_list nodes;
    struct option_list simulate;    /* numbers of places; none: the instance is measured */
    struct option_list collectives; /* plans of exchanges, to be simulated or carried out */
    int client;                     /* this process is a rank that measures fences */
    uint32_t repeat;
    uint32_t warm_up;
    int csv;
    int json;
    const char *compare;
    const char *plot;
};

/* The measurements, in the order of the operations, numbers of nodes and sizes, and after them, if nothing is simulated,
 * those of each plan, without it; the caller frees them. */
int bench_plan_make(const struct bench_settings *settings, struct bench_request **ret_requests,
                    uint32_t *ret_count, struct error *error);

#endif

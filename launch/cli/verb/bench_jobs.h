/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What jobs of an instance cost, as their user sees it: how long `banyan run` takes to run a process on each node that
 * does nothing (launch), or that writes as many bytes as asked, all of which come here (io).
 * And what processes on each node measure themselves: all pairs of nodes (pairs), first their latency, then a transfer of
 * each size.
 */
#ifndef LAUNCH_CLI_VERB_BENCH_JOBS_H
#define LAUNCH_CLI_VERB_BENCH_JOBS_H

#include "base/error.h"
#include "launch/cli/verb/bench_row.h"

/* Operations after those of the daemons, as in bench_request.operation. */
enum bench_job {
    BENCH_JOB_LAUNCH = BENCH_OPERATION_COUNT,
    BENCH_JOB_IO,
    BENCH_JOB_PAIRS,
    BENCH_JOB_PAIRS_LATENCY /* not asked for by name */,
    BENCH_JOB_END
};

const char *bench_jobs_name(uint8_t operation);
/* directory: of the instance; nodes: that it has, of which what->nodes may ask for less; provider: of libfabric, for the
 * paths of pairs, NULL: TCP.  A status that is greater than 0
 * if a job has said itself why it failed. */
int bench_jobs_measure(const char *directory, const struct bench_request *what, uint32_t nodes,
                       const char *provider, struct bench_row *ret_row, struct error *error);

#endif

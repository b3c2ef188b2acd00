/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `banyan bench --client`: each process is a rank of a job that any launcher with PMIx has started, and repeats fences
 * with all others.  Each rank times its own; rank 0 gets the medians of all by PMIx, and so knows the slowest.
 *
 * What is measured of a size: putting and committing that many new bytes, which no compression makes smaller, and a fence
 * that collects; of size 0 a fence alone.  After each measurement of a size every rank compares what its neighbour has put last.
 */
#ifndef LAUNCH_CLI_VERB_BENCH_CLIENT_H
#define LAUNCH_CLI_VERB_BENCH_CLIENT_H

#include <stdbool.h>

#include "base/error.h"
#include "launch/cli/verb/bench_row.h"
#include "pmix/fence_client.h"

/* The segments in which libpmix keeps what ranks put are of 4 MB. */
#define BENCH_CLIENT_SIZE_MAX (1024u * 1024)

/* This process says nothing of what is wrong with the command line, which all ranks have: rank 0 does. */
bool bench_client_is_quiet(void);
/* A launcher offers PMIx to this process; the error says how to start it else. */
int bench_client_check(struct error *error);
/* Collective over all ranks of self's job, which must have the same requests.  ret_rows: one for each request, of this
 * rank's times; at rank 0 with the slowest rank.  Cost at rank 0: a get for each rank. */
int bench_client_measure(const struct fence_client_table *client,
                         const struct fence_client_self *self, const struct bench_request *requests,
                         uint32_t count, struct bench_row *ret_rows, struct error *error);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process of `banyan fabric --measure` and `banyan bench --operation pairs`, one on each node: it measures
 * the paths between its node and all others, over TCP or libfabric (pair_network.h), in rounds of pairs (pair_rounds.h),
 * and prints a line for each that it has measured:
 *
 *     FROM TO LATENCY_NS TRANSFER_NS
 *
 * Of a pair the process of the lower rank leads and measures.  LATENCY_NS is half of the shortest round trip, of a
 * small message or a transfer, the same for both directions; TRANSFER_NS the shortest time
 * of a transfer one way, until the last has been read there, without the latency of the answer.  Rounds are separated
 * by barriers of PMI-1, by which the processes also know each other's addresses and the token that keeps strangers
 * out.
 *
 * A separate process, so that daemons stay responsive whatever the network does.
 * Memory: one buffer of 256 KiB, or libfabric's endpoint.  Time: O(processes) rounds.
 */
#ifndef LAUNCH_EXEC_PAIR_WORKER_H
#define LAUNCH_EXEC_PAIR_WORKER_H

#include <stdint.h>

/* The first argument of banyan and banyand that makes one of them such a process, before bytes, repetitions and, for
 * libfabric, its provider, or "" for the first. */
#define PAIR_WORKER_WORD "--pair-worker"

#define PAIR_WORKER_BYTES_MAX   (1024 * 1024 * 1024)
#define PAIR_WORKER_REPEATS_MAX 100000

#define PAIR_WORKER_SMALL_BYTES   8  /* of a message of which the latency is measured */
#define PAIR_WORKER_WARM_UPS      3  /* round trips that do not count */
#define PAIR_WORKER_TRANSFERS_MAX 5u /* each way, if there are as many repetitions */

/* The words after PAIR_WORKER_WORD.  Returns the exit status; says on standard error why it fails. */
int pair_worker_run(int argc, char *const *argv);
/* Of a transfer and its answer, without that: the way back takes at most half of it, so that a latency that has been
 * measured as more was disturbed. */
uint64_t pair_worker_way_ns(uint64_t trip_ns, uint64_t back_ns);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process of `banyan fabric --nics`, one on each node: it asks libfabric and hwloc which NICs the node has, and prints a
 * line for each, or one that says why not, between one of the node and one that ends them (launch/proto/nic_line.h).
 *
 * A separate process, so that no daemon loads libfabric, which probes all hardware; 0.2 s.
 */
#ifndef LAUNCH_EXEC_NIC_WORKER_H
#define LAUNCH_EXEC_NIC_WORKER_H

/* The only argument of banyan and banyand that makes one of them such a process. */
#define NIC_WORKER_WORD "--nic-worker"

/* Returns the exit status. */
int nic_worker_run(void);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The process of a node that carries out the root's orders to stage files (launch/proto/stage.h), one after another:
 * it may block.  Its daemon sends it each order, as fabric/channel.h frames it, and gets a struct stage_reply.
 * Memory: an order, a chunk, and the manifests of the transfers under way.
 */
#ifndef LAUNCH_EXEC_STAGE_WORKER_H
#define LAUNCH_EXEC_STAGE_WORKER_H

#include <stdint.h>

#define STAGE_WORKER_MESSAGE 1u /* the type of all frames */

/* Returns when the other end of fd is closed: the exit status.  shares: the cache is that of other nodes, too. */
int stage_worker_run(int fd, const char *base, const char *cache, uint32_t place, int shares);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The root's side of staging files (doc/stage.rst): which transfers are under way, which of their steps the nodes
 * have completed, and what their clients are answered.  A step function without input and output.
 *
 * Invariant: at most STAGE_PACKS_MAX packs, of all transfers, are on their way to the nodes, so that no daemon has
 * to hold more; every request of a client is answered once, unless the client disconnects.
 * Cost: a broadcast and a gather for each step; memory: the manifests, and the packs that clients have sent ahead.
 */
#ifndef LAUNCH_CORE_STAGE_ROOT_H
#define LAUNCH_CORE_STAGE_ROOT_H

#include <stdbool.h>

#include "base/message.h"
#include "launch/proto/stage.h"

/* Owners of the transfers' operations are the jobs' numbers with this bit. */
#define STAGE_OWNER_BIT 0x80000000u

struct stage_root;

struct stage_root_ops {
    /* NULL: all places.  Takes the message; a negative errno if it cannot be sent. */
    int (*broadcast)(void *context, const struct ranges *places, struct message *message);
    /* Status 0 or a negative errno. */
    void (*answer)(void *context, uint32_t client, uint32_t request, int status,
                   const struct buffer *data);
    void (*forget)(void *context, uint32_t owner);   /* all operations of a transfer have ended */
    void (*staged)(void *context, uint32_t job);     /* it may start */
    bool (*is_waiting)(void *context, uint32_t job); /* until it is staged */
    void (*name)(void *context, const struct ranges *places, struct buffer *out);
};

/* nodes: places 1 to that number. */
struct stage_root *stage_root_create(uint32_t nodes, const struct stage_root_ops *ops,
                                     void *context);
void stage_root_destroy(struct stage_root *root); /* NULL is fine */

/* All nodes have joined. */
void stage_root_up(struct stage_root *root);
/* A client requests a step: data of its message. */
void stage_root_request(struct stage_root *root, uint32_t client, uint32_t request,
                        const void *data, size_t bytes);
/* The end of a gather: status 0 and the merged report, or -EHOSTDOWN and the lost places. */
void stage_root_result(struct stage_root *root, uint32_t generation, int status,
                       const struct ranges *lost, const void *data, size_t bytes);
/* These nodes have joined later: transfers that begin from now on are for them, too. */
void stage_root_grown(struct stage_root *root, const struct ranges *places);
void stage_root_lost(struct stage_root *root, const struct ranges *places);
void stage_root_client_gone(struct stage_root *root, uint32_t client);
/* All processes of the job have ended: its stage directories are removed. */
void stage_root_job_ended(struct stage_root *root, uint32_t job);

uint32_t stage_root_transfers(const struct stage_root *root);
uint32_t stage_root_packs(const struct stage_root *root); /* on their way */

#endif

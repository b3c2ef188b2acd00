/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One daemon core by itself, in an instance of four nodes: the test plays the tree and the node, and hands it events.
 */
#ifndef TEST_SUPPORT_LONE_CORE_H
#define TEST_SUPPORT_LONE_CORE_H

#include "launch/core/daemon_core_internal.h"

#define LONE_CORE_NODES 4

/* Around all others. */
void lone_core_open(void);
void lone_core_close(void);
/* Of cores that are made from now on: ssh at the beginning. */
void lone_core_start_by(enum starter_kind starter);
/* Place 0: the root.  Both tables stay the caller's; daemon_core_destroy. */
struct daemon_core *lone_core_at(uint32_t place, const struct daemon_ops *ops,
                                 const struct daemon_tree_ops *tree_ops);
/* An event of the job logic alone, whose actions are dropped. */
void lone_core_job(struct daemon_core *core, struct job_event event);
/* At the root: a job with a rank on each node, whose rank stdin_rank (UINT32_MAX: none) reads input. */
void lone_core_run(struct daemon_core *core, uint32_t stdin_rank);
/* Likewise, and that rank has a terminal. */
void lone_core_run_terminal(struct daemon_core *core, uint32_t rank);
/* One like it that rank 0 of another has spawned. */
void lone_core_spawn(struct daemon_core *core, uint32_t parent);
/* A client of the root opens its connection and says hello; wants: CONTROL_WANTS_*. */
void lone_core_greet(struct daemon_core *core, uint32_t client, uint8_t wants);
/* A message of a client. */
void lone_core_say(struct daemon_core *core, uint32_t client, uint8_t type,
                   const struct buffer *payload);
/* A client's request number, with its data, which is emptied. */
void lone_core_ask(struct daemon_core *core, uint32_t client, uint32_t number,
                   enum job_message kind, struct buffer *data);
/* What a place answers to the request id; its data, which is emptied, if the status is 0. */
void lone_core_reply(struct daemon_core *core, uint32_t id, int status, struct buffer *data);
/* daemon_client_ops.queued: all has been sent. */
size_t lone_core_client_queued(void *context, uint32_t client);
/* daemon_ops.now_ns */
uint64_t lone_core_now_ns(void *context);

#endif

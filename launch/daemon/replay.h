/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Brings an endpoint and a core to the state that those of a dead root had, by giving them what its journal
 * (launch/daemon/journal.h) contains.  What they do meanwhile has been done: nothing is sent, started or
 * printed again.  Then it lets them go on in this process.
 */
#ifndef LAUNCH_DAEMON_REPLAY_H
#define LAUNCH_DAEMON_REPLAY_H

#include "base/error.h"
#include "launch/daemon/journal_wire.h"
#include "overlay/endpoint.h"

struct replay;

/* Reads the journal in directory: ret_head, which the caller frees, is its beginning. */
struct replay *replay_open(const char *directory, struct journal_head *ret_head,
                           struct error *error);
void replay_destroy(struct replay *replay); /* NULL is fine */

/* What the core is created with, and its context: replay. */
const struct daemon_ops *replay_ops(void);
/* Gives them everything.  added: the names of nodes that the instance has been given since.  -EBADMSG: it is
 * not a journal of this version of banyan; -ENODATA: the instance had not been ready, or had been ending. */
int replay_run(struct replay *replay, struct daemon_core *core, struct endpoint *endpoint,
               struct hostlist *added, struct error *error);
/* From now on the core does what it does, its timers included. */
void replay_hand_over(const struct replay *replay, const struct daemon_ops *ops, void *context);
/* The step that recovers them: the clients have gone, and so have the links. */
void replay_recover(struct replay *replay, const struct transport_ops *ops, void *transport);

uint16_t replay_port(const struct replay *replay);  /* where the root listened */
uint64_t replay_bytes(const struct replay *replay); /* of the journal that are well */
uint32_t replay_last_client(const struct replay *replay);

#endif

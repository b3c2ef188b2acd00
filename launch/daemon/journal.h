/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The journal of a root that others survive (--survive): each thing that its endpoint and its core are given is
 * written to DIRECTORY/journal before it is handled.  Both are functions of what they are given, so another process
 * that is given the same has the same state (launch/daemon/replay.h); what was written and not handled has
 * had no effect that somebody has seen.
 *
 * Time is part of what they are given: while one thing is handled the clock stands (journal_now_ns).
 * Cost: a write(2) for each frame, client's message and timer of the root.  Above JOURNAL_BYTES_MAX it ends, with a
 * warning, and so does the possibility to recover the root.
 */
#ifndef LAUNCH_DAEMON_JOURNAL_H
#define LAUNCH_DAEMON_JOURNAL_H

#include "base/error.h"
#include "fabric/transport.h"
#include "launch/daemon/journal_wire.h"
#include "launch/exec/session.h"
#include "overlay/endpoint.h"

#define JOURNAL_BYTES_MAX (1024ull * 1024 * 1024)

struct journal;

/* Between the endpoint and its links; closed until journal_open. */
struct journal *journal_create(struct endpoint *endpoint);
void journal_destroy(struct journal *journal); /* NULL is fine */
/* Writes the head; or goes on with the one of a root that is recovered (head NULL), whose last record may be cut off:
 * bytes are well. */
int journal_open(struct journal *journal, const char *directory, const struct journal_head *head,
                 uint64_t bytes, struct error *error);

/* The journal can also be found in that directory, which is needed as long: nobody takes it for left over. */
void journal_mark(const struct journal *journal, const char *directory);
/* endpoint_start, after the head was written. */
void journal_start(struct journal *journal, const struct journal_head *head);

/* What the links call, with the journal as context; and what the endpoint calls, which calls ops. */
const struct transport_events *journal_transport_events(void);
const struct transport_ops *journal_transport_ops(struct journal *journal,
                                                  const struct transport_ops *ops, void *transport);
/* What the core is given that is not of the tree. */
extern const struct daemon_core_observer journal_core_observer;

uint64_t journal_now_ns(const struct journal *journal);
/* The root has been recovered, by what the caller does before journal_end. */
void journal_begin_recovery(struct journal *journal);
void journal_end_recovery(struct journal *journal);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits of what a core holds on behalf of others, and what happens beyond them; doc/protocol.rst
 * has the table, with the limits of single messages (overlay/overlay_wire.h) and of streams.
 */
#ifndef OVERLAY_LIMITS_H
#define OVERLAY_LIMITS_H

/* Links whose place is neither child nor parent: a further one is closed, and retries later. */
#define OVERLAY_GUESTS_MAX 4096
/* Broadcasts not acknowledged by all: overlay_may_broadcast returns -EAGAIN, so the caller waits.
 * Deaths and the end are always taken. */
#define OVERLAY_ENTRIES_MAX       16384
#define OVERLAY_ENTRIES_BYTES_MAX (256ull * 1024 * 1024)
/* Operations called here that have not ended: a further call ends with -EAGAIN. */
#define OVERLAY_CALLS_MAX 4096
/* Operations of a set that are decided but not known to have ended at every member.  The limit is
 * reached only if a member does not call while the others have cancelled, or lost a member: further
 * calls end with -EAGAIN. */
#define OVERLAY_DECIDED_MAX 1024
/* Unanswered requests: a further one is answered with -EAGAIN at once. */
#define OVERLAY_REQUESTS_MAX 16384
/* Routed frames that wait for a link: DATA is dropped, as when a relay dies; a REQUEST is answered
 * with -EAGAIN; a REPLY is kept, since there are no more of them than of requests. */
#define OVERLAY_HELD_MAX       4096
#define OVERLAY_HELD_BYTES_MAX (256ull * 1024 * 1024)

#endif

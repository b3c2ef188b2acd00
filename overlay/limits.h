/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much a core holds at most of what others bring, and what happens then; doc/protocol.rst has
 * the table, with the limits of single messages (overlay/overlay_wire.h) and of streams.
 */
#ifndef OVERLAY_LIMITS_H
#define OVERLAY_LIMITS_H

/* Links whose place is neither child nor parent: another is closed, and tries again later. */
#define OVERLAY_GUESTS_MAX 4096
/* Broadcasts that not everyone has acknowledged: overlay_may_broadcast says no, for the caller to
 * wait.  Deaths and the end are always taken. */
#define OVERLAY_ENTRIES_MAX       16384
#define OVERLAY_ENTRIES_BYTES_MAX (256ull * 1024 * 1024)
/* Operations that this place has called and not heard the end of: the call ends with -EAGAIN. */
#define OVERLAY_CALLS_MAX 4096
/* Operations of a set that are decided but not known to have ended at every member.  There are so many
 * only while a member does not call and the others wait no longer, or have lost one: further calls end
 * with -EAGAIN. */
#define OVERLAY_DECIDED_MAX 1024
/* Requests that have not been answered: another is answered with -EAGAIN at once. */
#define OVERLAY_REQUESTS_MAX 16384
/* Routed frames that wait for a link: DATA is dropped, as when a relay dies; a REQUEST is answered
 * with -EAGAIN; a REPLY is kept, for there are no more of them than of requests. */
#define OVERLAY_HELD_MAX       4096
#define OVERLAY_HELD_BYTES_MAX (256ull * 1024 * 1024)

#endif

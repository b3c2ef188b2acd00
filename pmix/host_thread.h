/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one place where libpmix's threads cross over to the daemon's.  An upcall copies what it needs
 * into a struct host_call and posts it; the daemon, woken by a descriptor, runs the calls in the
 * order in which they were posted.  An upcall never waits.
 *
 * libpmix has one server per process and gives most upcalls no context: so there is one queue.
 *
 * Cost: one lock per call, one write per batch.
 */
#ifndef PMIX_HOST_THREAD_H
#define PMIX_HOST_THREAD_H

#include "base/error.h"

struct host;

/* First member of what a file posts. */
struct host_call {
    struct host_call *next;
    /* On the daemon's thread; takes the call.  host NULL, on any thread: there is no host any
     * more, free only. */
    void (*run)(struct host *host, struct host_call *call);
};

/* -EBUSY if it is open: one host at a time. */
int host_thread_open(struct error *error);
/* Frees what was posted and not run, and from now on what is posted. */
void host_thread_close(void);
int host_thread_descriptor(void);
/* From any thread.  Takes the call. */
void host_thread_post(struct host_call *call);
/* On the daemon's thread: runs all that was posted before this call. */
void host_thread_run(struct host *host);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one place where libpmix's threads cross over to the main one.  An upcall copies what it needs
 * into a struct host_call and posts it; the main thread, woken by a descriptor, runs the calls in the
 * order in which they were posted.  An upcall never waits for an answer.  (A fence goes another way:
 * host_fence.c.)
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
    void (*run)(struct host *host, struct host_call *call); /* on the main thread; takes the call */
};

/* -EBUSY if it is open: one host for a process. */
int host_thread_open(struct error *error);
int host_thread_descriptor(void);
/* From any thread.  Takes the call. */
void host_thread_post(struct host_call *call);
/* Runs all that was posted before this call. */
void host_thread_run(struct host *host);

#endif

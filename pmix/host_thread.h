/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one place where work passes from libpmix's upcalls to the host.  An upcall copies what it needs
 * into a struct host_call and posts it; the main thread, woken by a descriptor, runs the calls in
 * the order in which they were posted.  So it does not matter whether the upcall runs on libpmix's
 * thread or on ours (host_loop.h), where libpmix may hold locks.  An upcall never waits for an answer.
 * (Fences do not use the queue: host_fence.c.)
 *
 * libpmix has one server per process and most upcalls have no context, so there is one queue.
 *
 * Cost: one lock per call, one write per batch.
 */
#ifndef PMIX_HOST_THREAD_H
#define PMIX_HOST_THREAD_H

#include "base/error.h"

struct host;

/* The first member of the structs that are posted. */
struct host_call {
    struct host_call *next;
    void (*run)(struct host *host, struct host_call *call); /* on the main thread; takes the call */
};

/* -EBUSY if it is open: one host per process. */
int host_thread_open(struct error *error);
int host_thread_descriptor(void);
/* From any thread.  Takes the call. */
void host_thread_post(struct host_call *call);
/* Runs all that was posted before this call. */
void host_thread_run(struct host *host);

#endif

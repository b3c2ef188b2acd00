/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An upcall of libpmix that waits for the daemon's answer to a pmi_request.  A service derives its own struct from
 * host_request, whose first member it is.
 *
 * Cost: O(1) a request.
 */
#ifndef PMIX_HOST_REQUEST_H
#define PMIX_HOST_REQUEST_H

#include "base/buffer.h"
#include "pmix/host_internal.h"
#include "pmix/host_thread.h"

struct host_request {
    struct host_call call; /* host_request_send fills it in, and id */
    uint64_t id;
    enum pmi_request_kind kind;
    struct host_process caller;
    uint32_t timeout_ms; /* 0: none */
    struct buffer data;  /* of the request; freed when it has been sent */
    /* Called once, on the main thread; frees the request.  status: 0 or a negative errno. */
    void (*answer)(struct host *host, struct host_request *request, int status, const void *data,
                   size_t data_bytes);
};

/* From any thread.  Takes the request. */
void host_request_send(struct host_request *request);
/* 1 if the id is a request's, which has been answered. */
int host_request_done(struct host *host, uint64_t id, int status, const void *data,
                      size_t data_bytes);
/* Answers all that processes of this namespace have made. */
void host_request_fail(struct host *host, const char *namespace, int status);

#endif

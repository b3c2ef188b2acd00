/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Credentials (PMIx 4.1, Security) through MUNGE: a client gets one that names its user and group, and has one of another
 * process validated.  libpmix's own modules are not asked: its server passes both calls on to its host.
 *
 * munged may be slow, or hang.  So it is asked by a thread, one request at a time in their order, and another thread
 * watches the time limits: neither the main thread nor libpmix's ever waits for it.  A request whose time is over is
 * answered, and the thread that still waits for munged drops what it gets.  Both threads begin with the first request.
 *
 * Cost: O(requests that are open) for each; none for a job without them.
 */
#ifndef PMIX_HOST_CREDENTIAL_H
#define PMIX_HOST_CREDENTIAL_H

#include <pmix_server.h>

struct host;

/* Upcalls of libpmix. */
pmix_status_t host_credential_get(const pmix_proc_t *proc, const pmix_info_t directives[],
                                  size_t directives_count, pmix_credential_cbfunc_t callback,
                                  void *context);
pmix_status_t host_credential_validate(const pmix_proc_t *proc,
                                       const pmix_byte_object_t *credential,
                                       const pmix_info_t directives[], size_t directives_count,
                                       pmix_validation_cbfunc_t callback, void *context);
/* Answers all that processes of this namespace have requested. */
void host_credential_fail(struct host *host, const char *namespace, int status);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Upcalls of single clients: connected, finalized, abort, and text for the user; and those that are
 * refused.
 */
#ifndef PMIX_HOST_CLIENT_H
#define PMIX_HOST_CLIENT_H

#include <pmix_server.h>

struct host;

/* pmix_server_module_t.client_connected2: a notification; callback is NULL (4.2.2). */
pmix_status_t host_client_connected(const pmix_proc_t *proc, void *object, pmix_info_t info[],
                                    size_t info_count, pmix_op_cbfunc_t callback, void *context);
/* .client_finalized: the client waits until the daemon has been notified, so that it cannot exit
 * before the daemon knows that it has finalized. */
pmix_status_t host_client_finalized(const pmix_proc_t *proc, void *object,
                                    pmix_op_cbfunc_t callback, void *context);
/* .abort: the caller waits for host_client_abort_done. */
pmix_status_t host_client_abort(const pmix_proc_t *proc, void *object, int status,
                                const char message[], pmix_proc_t procs[], size_t procs_count,
                                pmix_op_cbfunc_t callback, void *context);
/* .log: text only; anything else is not supported. */
void host_client_log(const pmix_proc_t *client, const pmix_info_t data[], size_t data_count,
                     const pmix_info_t directives[], size_t directives_count,
                     pmix_op_cbfunc_t callback, void *context);

/* A line for the user, in the name of a client or a tool; from any thread.  Takes the text.  Said before, it is not said
 * again: all processes of a node may run into the same. */
void host_client_say(const pmix_proc_t *proc, char *text);

/* pmi_events.done; an id that is no longer open is ignored. */
void host_client_abort_done(struct host *host, uint64_t id, int status);
/* Ends every abort requested by a process of the namespace. */
void host_client_fail(struct host *host, const char *namespace, int status);

#endif

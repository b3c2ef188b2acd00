/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files host_*.c share: the host's state, and how they keep an upcall of libpmix until the
 * daemon has answered it.  The state is used by the main thread only, except for what the mutex
 * guards: libpmix's thread adds fences.  No callback of libpmix is called with it held.
 *
 * libpmix needs every callback exactly once: a second one touches freed memory, and a missing one
 * leaves a client waiting.  So each pending upcall is in a table under an id that is never reused,
 * and is removed before it is answered.
 *
 * Cost: O(upcalls that are open) + O(jobs and processes of this node).
 */
#ifndef PMIX_HOST_INTERNAL_H
#define PMIX_HOST_INTERNAL_H

#include <pmix_server.h>
#include <pthread.h>

#include "base/hash_map.h"
#include "pmix/host.h"

/* A process as named by libpmix. */
struct host_process {
    char namespace[PMI_NAMESPACE_BYTES];
    uint32_t rank; /* or PMI_RANK_ALL */
};

struct host {
    struct pmi_ops ops;
    pthread_mutex_t
        mutex; /* guards jobs, which only the main thread changes, fences, and last_id */
    struct hash_map *jobs;     /* namespace -> struct host_registration */
    struct hash_map *fences;   /* id -> struct host_fence */
    struct hash_map *modexes;  /* id -> struct host_modex: our requests to others */
    struct hash_map *fetches;  /* id -> struct host_fetch: requests of others to us; ids are the
                          * daemon's */
    struct hash_map *aborts;   /* id -> struct host_abort */
    struct hash_map *requests; /* id -> struct host_request */
    struct hash_map *groups;   /* libpmix's context -> its operation (host_group.c); guarded, too */
    uint64_t last_context;     /* of a group; guarded, too */
    uint32_t place;
    uint64_t last_id;
    char *node_name;
    char *server_namespace;
};

/* The state of a host, one per process, to the end of which it lives. */
struct host *host_state_create(const struct host_config *config);
/* The host of this process; NULL until it has been created. */
struct host *host_self(void);
/* The id of the next request; never reused. */
uint64_t host_next_id(struct host *host);

/* Copies the name, and turns PMIX_RANK_WILDCARD into PMI_RANK_ALL and back. */
void host_process_from_pmix(const pmix_proc_t *from, struct host_process *ret_process);
void host_process_to_pmix(const struct host_process *from, pmix_proc_t *ret_proc);
int host_process_is(const struct host_process *a, const struct host_process *b);

/* PMIX_TIMEOUT in seconds, of any integer type; 0 if it is not among the directives. */
uint32_t host_timeout_s(const pmix_info_t *info, size_t count);
/* The same in ms: more than fits, 49 days, is cut down to that. */
uint32_t host_timeout_ms(const pmix_info_t *info, size_t count);
/* Seconds of another key. */
uint32_t host_seconds(const pmix_info_t *info, size_t count, const char *key);
/* 1 if a directive is marked as required and is not in known, a list that ends with NULL (PMIx 4.1,
 * 3.4.1: such a request must be refused; other unknown directives are ignored). */
int host_refuses(const pmix_info_t *info, size_t count, const char *const *known);

#endif

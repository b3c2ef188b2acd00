/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What services.c (PMI-1 and the whole) and services_pmix.c (the PMIx host) share; for them only.
 */
#ifndef LAUNCH_RANK_SERVICES_INTERNAL_H
#define LAUNCH_RANK_SERVICES_INTERNAL_H

#include "base/list.h"
#include "base/map.h"
#include "launch/rank/services.h"
#include "launch/rank/services_door.h"
#include "pmix/host.h"
#include "pmix/pmi1.h"

enum client_state { CLIENT_NEVER, CLIENT_CONNECTED, CLIENT_FINALIZED };

struct client {
    struct services *services;
    struct loop_watch *watch; /* on our end of the PMI-1 socket */
    struct buffer unsent;     /* replies that the socket did not take yet */
    int fd;                   /* our end, -1 when closed */
    uint32_t index;
    uint8_t is_gone;     /* closed its PMI-1 socket */
    uint8_t was_refused; /* said once */
    uint8_t pmi1_state;  /* enum client_state */
    uint8_t pmix_state;
};

/* The PMIx half. */
struct services_pmix {
    struct door *door; /* NULL: no PMIx */
    uint16_t port;
    const struct host_table *table;
    struct host *host;
    struct loop_watch *host_watch;
    struct map *sets;      /* set_id -> struct fence_set, that were fenced here */
    struct list fences;    /* struct pmix_fence, open */
    struct map *connected; /* name of a set of processes -> it is connected */
    struct map *requests;  /* overlay request id -> struct modex_wait */
    struct list fetches;   /* struct pmix_fetch, open */
    uint64_t fetch_next;
    struct loop_timer
        *fetch_timer; /* looks for fetches that wait for long; NULL before the first */
    uint8_t failed;
};

struct services {
    struct services_config config;
    struct services_world world;
    char namespace[HOST_NAMESPACE_BYTES];
    char server_namespace[64];
    uint32_t *ranks; /* local, ascending */
    uint32_t *apps;
    struct buffer net_interfaces; /* empty: not told to the processes */
    struct buffer net_devices;
    struct client *clients;
    struct pmi1_server *pmi1; /* from the first word of a client on */
    uint32_t pmi1_generation;
    struct services_pmix pmix;
    struct list stand_ins; /* struct stand_in */
    uint32_t stand_ins_count;
    uint32_t ended_count; /* local ranks */
};

int services_pmix_open(struct services *services, struct error *error);
void services_pmix_close(struct services *services);
void services_pmix_exited(struct services *services, uint32_t index);
void services_pmix_result(struct services *services, const struct node_key *key, int status,
                          struct message *payload);
/* Tells the PMIx host about the job (services_job.c). */
int services_job_register(struct services *services, struct error *error);
uint32_t services_pmix_last_generation(const struct services *services, uint64_t set_id);
/* The last operation of this set that was contributed to, 0: none. */
uint32_t services_last_generation(const struct services *services, const struct node_key *key);
/* No rank is left: stands in for them in all that others may fence. */
void services_pmix_stand_in(struct services *services);
/* An operation has ended: perhaps one that we stand in for others in. */
void services_stand_in_result(struct services *services, const struct node_key *key, int status);
int services_stands_in(const struct services *services, uint64_t set_id);
void services_stand_in_close(struct services *services);
/* -1 if a rank is not on this node. */
int64_t services_local_index(const struct services *services, uint32_t rank);

#endif

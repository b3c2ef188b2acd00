/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside of launch/job/clients.c: clients, their jobs, and what is under way to them.
 */
#ifndef LAUNCH_JOB_CLIENTS_STATE_H
#define LAUNCH_JOB_CLIENTS_STATE_H

#include "base/hash_map.h"
#include "base/list.h"
#include "launch/job/clients.h"
#include "launch/job/clients_kept.h"
#include "launch/proto/unwritten.h"

struct client {
    struct list_link node;
    uint32_t number;
    uint8_t greeted;
    uint8_t wants; /* CONTROL_WANTS_* */
    uint8_t holds; /* the instance: it ends with this client */
};

/* A job of a client, or one that is spawned by it or by another such: then the fields of the first of
 * them, its head, are those of all, and the head is kept until all have ended. */
struct client_job {
    struct list_link node;
    uint32_t number;
    struct client_job *head; /* itself, if a client has run it */
    uint32_t members;        /* of its family that have not ended, itself included */
    uint8_t has_ended;
    struct control_job_end
        end;                   /* its own, with the status of the first of the family that failed */
    uint32_t owner;            /* 0: detached, or disconnected */
    struct clients_kept *kept; /* of a head that was never owned; NULL: nothing */
    uint32_t *subscribers;
    uint32_t subscribers_count;
    struct unwritten unwritten; /* by its owner, of the whole family */
    struct hash_map *credits;   /* place -> bytes consumed but not yet granted (uintptr_t) */
};

struct clients {
    struct clients_config config;
    struct clients_ops ops;
    void *context;
    struct list clients;
    struct hash_map *by_number;
    struct list jobs;
    struct hash_map *jobs_by_number;
    struct clients_ended *ended;
};

#endif

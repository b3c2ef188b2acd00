/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PMIx and PMI-1 for the local ranks of one job: two speakers of one contract (pmix/pmi.h), which
 * stands on the overlay's exchange.  PMI-1 speaks over a socket pair per rank; the job is
 * registered with the node's PMIx server when its first client connects or another node asks for a
 * blob, or before the first process starts if clients read the job's map from files
 * (host_environment_is_eager).  Memory: O(local ranks).
 */
#ifndef LAUNCH_RANK_RANK_PMI_H
#define LAUNCH_RANK_RANK_PMI_H

#include <stdint.h>

#include "base/message.h"
#include "fabric/loop.h"
#include "launch/job/job.h"
#include "launch/exec/session.h"
#include "launch/proto/activity.h"
#include "launch/rank/pmi_node.h"

struct rank_jobs;
struct rank_pmi;

struct rank_pmi_events {
    void *context;
    void (*contribute)(void *context, const struct operation_name *key, const struct ranges *places,
                       struct message *payload); /* takes payload */
    /* The operation is no longer needed: rank_pmi_result follows (overlay/endpoint.h, endpoint_cancel). */
    void (*cancel)(void *context, const struct operation_name *key);
    uint32_t (*request)(void *context, uint32_t place, struct message *payload);
    void (*reply)(void *context, uint32_t source, uint32_t id, struct message *payload);
    void (*aborted)(void *context, uint32_t index, int status, const char *message);
    /* A rank of a job that restarts ranks (JOB_ON_FAILURE_RESTART) has connected to a server. */
    void (*joined)(void *context, uint32_t index);
    /* A local rank cannot be served any longer: it must be killed. */
    void (*kill)(void *context, uint32_t index);
    void (*signal)(void *context, uint32_t index, int number); /* to a local rank, if it runs */
    /* The state of a local rank's process, as in /proc/PID/stat: R, S, T ...; 0: not known. */
    uint8_t (*process_state)(void *context, uint32_t index);
    /* Others have completed an operation without this node, which has no rank left. */
    void (*missed)(void *context, const struct operation_name *key);
    /* Ranks of this node wait for others of it in the operation that follows the last one, or for any in the barrier of
     * a group (ranks; NULL: of all), for so long that it should be reported, or no longer (enum job_stalled_kind, one of
     * LOCAL). */
    void (*stalled)(void *context, const struct operation_name *key, const struct ranges *places,
                    const struct ranges *ranks, uint8_t kind);
    /* For the user's stderr. */
    void (*text)(void *context, const char *text, size_t text_bytes);
    /* The services cannot go on (the PMIx server did not start, or has died): the job must end. */
    void (*failed)(void *context, const struct error *why);
    /* What this place says to a query (pmix/pmi_query.h): appends the answer, or -errno. */
    int (*query)(void *context, const void *data, size_t bytes, struct buffer *answer);
    /* rank_pmi_must_wait has become false. */
    void (*ready)(void *context);
};

struct rank_pmi_config {
    struct loop *loop;
    const struct job_local *job;
    const struct allocation *allocation;
    const struct session *session;
    struct pmi_node *pmi_node;
    struct rank_jobs *jobs; /* of this node; NULL: no others can be reached */
    const char *jobs_name;  /* of namespaces, beside the job's number */
    const char *node_name;
    const char *net; /* of the instance; NULL: the libraries of programs choose their network */
    uint32_t place;
    uint32_t kill_grace_ms;               /* between SIGTERM and SIGKILL */
    int shared_machine;                   /* all nodes are on this machine (--virtual-nodes) */
    const struct rank_pmi_events *events; /* copied */
};

struct rank_pmi *rank_pmi_create(const struct rank_pmi_config *config, struct error *error);
void rank_pmi_destroy(struct rank_pmi *rank_pmi);
/* The ranks may not start yet: their clients need the PMIx server from the first moment. */
int rank_pmi_must_wait(const struct rank_pmi *rank_pmi);
/* The services have failed: no further rank may start. */
int rank_pmi_have_failed(const struct rank_pmi *rank_pmi);
/* Makes the PMI-1 socket of a rank that is about to start, perhaps again. The process's end is the caller's to
 * close after the start; -1 if PMI-1 is not offered. -errno if descriptors are exhausted. */
int rank_pmi_pmi_fd(struct rank_pmi *rank_pmi, uint32_t index, int *ret_fd);
/* The rank's variables, "NAME=value" with NUL each, appended. target_fd: number of its PMI-1 socket. */
void rank_pmi_environment(struct rank_pmi *rank_pmi, uint32_t index, int target_fd,
                          struct buffer *out);
/* 1 while a rank has connected to a server and not finalized. */
int rank_pmi_is_connected(const struct rank_pmi *rank_pmi, uint32_t index);
/* 1 if the rank had connected to a server and exited without finalize. by_us: the job is being ended.  Not to be called
 * for a rank that is started again. */
int rank_pmi_exited(struct rank_pmi *rank_pmi, uint32_t index, int wait_status, int by_us);
/* The state of a rank that has not ended with respect to an operation. */
enum job_stall_state rank_pmi_stall_state(const struct rank_pmi *rank_pmi,
                                          const struct operation_name *key, uint32_t index);
/* Its use of PMI, whether it lives or not. */
enum activity_pmi rank_pmi_activity(const struct rank_pmi *rank_pmi, uint32_t index);
/* No rank is left here to take part in operations of this set: from now on the services do. */
void rank_pmi_stand_in(struct rank_pmi *rank_pmi, const struct operation_name *key,
                       const struct ranges *places);
/* A result of the overlay: 1 if it is of one of its operations. */
int rank_pmi_result(struct rank_pmi *rank_pmi, const struct operation_name *key, int status,
                    struct message *payload);
/* An event that processes of this job may be among the targets of. */
void rank_pmi_notice(struct rank_pmi *rank_pmi, const struct job_notice *message);
/* Nodes are lost; in a job that goes on its processes get an event. */
void rank_pmi_lost(struct rank_pmi *rank_pmi, const struct ranges *places);
/* kind: enum job_message, MODEX, BLOB or ABORT; reader stands after it. */
void rank_pmi_request(struct rank_pmi *rank_pmi, uint8_t kind, uint32_t source, uint32_t id,
                      struct wire_reader *reader);
void rank_pmi_reply(struct rank_pmi *rank_pmi, uint32_t id, int status, struct message *payload);

#endif

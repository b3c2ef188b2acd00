/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files rank_pmi*.c share; for them only.
 */
#ifndef LAUNCH_RANK_RANK_PMI_INTERNAL_H
#define LAUNCH_RANK_RANK_PMI_INTERNAL_H

#include "base/list.h"
#include "base/hash_map.h"
#include "launch/rank/rank_jobs.h"
#include "launch/rank/rank_pmi.h"
#include "launch/rank/pmi_door.h"
#include "pmix/pmi.h"
#include "pmix/pmi_socket.h"

enum client_state { CLIENT_NEVER, CLIENT_CONNECTED, CLIENT_FINALIZED };

enum speaker_kind { SPEAKER_SOCKET, SPEAKER_PMIX, SPEAKER_COUNT };

/* A caller of pmi_ops, of which this is the context. */
struct speaker {
    struct rank_pmi *rank_pmi;
    enum speaker_kind kind;
    const struct pmi_events *events;
    void *handle; /* first argument of the events; NULL: not active */
};

struct client {
    struct rank_pmi *rank_pmi;
    struct loop_watch *watch; /* on our end of the PMI-1 socket */
    struct buffer unsent;     /* replies not yet written to the socket */
    int fd;                   /* our end, -1 when closed */
    uint32_t index;
    uint8_t has_joined; /* said something to a server */
    uint8_t is_gone;    /* closed its PMI-1 socket */
    uint8_t has_ended;
    uint8_t is_aborted; /* by another process, with abort_status */
    int32_t abort_status;
    uint8_t state[SPEAKER_COUNT]; /* enum client_state */
};

/* The state of the node's PMIx server for this job. */
enum server_state {
    SERVER_NONE,    /* not needed so far */
    SERVER_OPENING, /* the job is being registered */
    SERVER_OPEN,
    SERVER_LOST /* it ends the job */
};

/* The PMIx half. */
struct rank_pmi_pmix {
    struct door *door; /* NULL: no PMIx */
    uint16_t port;
    int32_t pid; /* of the server, once it is open */
    enum server_state state;
    uint8_t is_eager;           /* no rank may start before it is open */
    struct hash_map *connected; /* name of a set of processes -> it is connected */
    struct hash_map *requests;  /* overlay request id -> struct modex_wait */
    struct list fetches;        /* struct fetch_wait, open */
    uint32_t fetch_next;
    struct loop_timer
        *fetch_timer; /* checks for fetches that have waited long; NULL before the first */
};

/* Events across nodes. */
struct rank_pmi_notices {
    struct list outgoing; /* struct outgoing */
    struct list kept;     /* struct kept */
    uint32_t kept_count;
    bool is_sending;          /* the first that is outgoing */
    bool is_open;             /* a client has connected */
    struct loop_timer *again; /* NULL: not needed so far */
};

struct rank_pmi {
    struct rank_pmi_config config;
    struct rank_pmi_events events;
    char namespace[PMI_NAMESPACE_BYTES];
    uint32_t *ranks; /* local, ascending */
    uint32_t *apps;
    struct buffer net_interfaces; /* empty: not given to the processes */
    struct buffer net_devices;
    struct client *clients;
    struct pmi_socket *socket; /* from a client's first message on */
    struct speaker speakers[SPEAKER_COUNT];
    struct hash_map *sets;   /* set_id -> struct collective_set seen here */
    struct list collectives; /* struct collective, open */
    uint32_t collectives_count;
    struct hash_map *asks; /* request id of the overlay -> struct ask */
    struct rank_pmi_pmix pmix;
    struct {
        struct hash_map *kept;   /* set_id -> struct lazy_blob: our last data of the set */
        struct hash_map *cached; /* place -> struct lazy_cached: nodes whose data is cached here */
    } lazy;
    struct {
        struct loop_timer *timer; /* NULL before the first */
        struct operation_name key;
        uint64_t wait_ns; /* until it is reported again */
        uint8_t is_waiting;
        uint8_t is_told;
    } stall;
    struct {
        struct list waits;        /* struct group_wait of rank_pmi_stall_group.c */
        struct loop_timer *timer; /* NULL before the first */
        uint8_t is_set;
    } groups;
    struct rank_pmi_notices notices;
    struct list endings;   /* struct ending: ranks that others abort */
    struct list stand_ins; /* struct stand_in */
    uint32_t stand_ins_count;
    uint32_t ended_count; /* local ranks */
    bool has_deserted;    /* one of them ended without finalize: others may wait for it */
};

/* rank_pmi_answer.c */
/* Answers, if the speaker still waits for it. */
void rank_pmi_answer(const struct speaker *speaker, uint64_t id, int status, const void *data,
                     size_t data_bytes);
/* A line for the user. */
void rank_pmi_say(struct rank_pmi *rank_pmi, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Of a job on this node, for the files of its programs.  libpmix removes it with the job's namespace if a
 * program has asked for that (Open MPI does), so nothing else may be there.  The caller's to free. */
char *rank_pmi_directory(const struct rank_pmi *rank_pmi, uint32_t number);
/* -1 if a rank is not on this node. */
int64_t rank_pmi_local_index(const struct rank_pmi *rank_pmi, uint32_t rank);

/* rank_pmi_ops.c: the requests common to all speakers. */
/* The rank has said something to a server. */
void rank_pmi_joined(struct client *client);
struct pmi_ops rank_pmi_ops(struct speaker *speaker);

/* rank_pmi_collective.c */
void rank_pmi_collective_open(struct rank_pmi *rank_pmi);
void rank_pmi_collective_close(struct rank_pmi *rank_pmi);
void rank_pmi_collective(struct speaker *speaker, const struct pmi_collective *collective);
int rank_pmi_collective_result(struct rank_pmi *rank_pmi, const struct operation_name *key,
                               int status, struct message *payload);
/* Whether a local rank waits in one for other nodes. */
int rank_pmi_in_collective(const struct rank_pmi *rank_pmi, uint32_t index);
/* No rank is left: stands in for them in all operations of others. */
void rank_pmi_collective_stand_in(struct rank_pmi *rank_pmi);
/* The last operation of this set that was contributed to, 0: none. */
uint32_t rank_pmi_last_generation(const struct rank_pmi *rank_pmi, uint64_t set_id);

/* The barrier of all that the next contribution will be to. */
struct operation_name rank_pmi_barrier_next(const struct rank_pmi *rank_pmi);
/* That of a group in which clients wait, and the places of its members, added. */
struct operation_name rank_pmi_group_next(const struct rank_pmi *rank_pmi,
                                          const struct pmi_socket_group *group,
                                          struct ranges *ret_places);

/* rank_pmi_stall.c: ranks that wait in a barrier for others of this node, of which the tree knows nothing. */
/* Something has happened that may have begun or ended this. */
void rank_pmi_stall_check(struct rank_pmi *rank_pmi);
void rank_pmi_stall_close(struct rank_pmi *rank_pmi);

/* rank_pmi_stall_group.c: ranks that wait in barriers of groups. */
void rank_pmi_stall_group_open(struct rank_pmi *rank_pmi);
void rank_pmi_stall_group_close(struct rank_pmi *rank_pmi);
void rank_pmi_stall_group_check(struct rank_pmi *rank_pmi);
/* Whether a local rank waits in the operations of that set, for some time already. */
int rank_pmi_group_arrived(const struct rank_pmi *rank_pmi, const struct operation_name *key,
                           uint32_t index);

/* rank_pmi_fetch.c */
void rank_pmi_fetch_open(struct rank_pmi *rank_pmi);
void rank_pmi_fetch_close(struct rank_pmi *rank_pmi);
void rank_pmi_fetch(struct speaker *speaker, uint64_t id, const struct pmi_process *process,
                    const char *key, uint32_t timeout_ms);
void rank_pmi_provided(struct rank_pmi *rank_pmi, uint64_t id, int status, const void *data,
                       size_t data_bytes);

/* rank_pmi_lazy.c: fences whose data stays (JOB_MODEX_LAZY). */
/* The job's fences are such. */
int rank_pmi_is_lazy(const struct rank_pmi *rank_pmi);
/* Keeps this node's data of a fence of that set, and returns what is contributed instead. */
struct message *rank_pmi_lazy_keep(struct rank_pmi *rank_pmi, uint64_t set_id, const void *data,
                                   size_t data_bytes);
/* The result of such a fence, successful: the speaker is answered, now or when data has arrived that this node had
 * requested before and that has changed since. */
void rank_pmi_lazy_result(struct rank_pmi *rank_pmi, const struct speaker *speaker, uint64_t id,
                          uint64_t set_id, const struct message *payload);
/* Data of a rank of that place is requested, and will be cached here. */
void rank_pmi_lazy_fetched(struct rank_pmi *rank_pmi, uint32_t place);
void rank_pmi_lazy_request(struct rank_pmi *rank_pmi, uint32_t source, uint32_t id,
                           struct wire_reader *reader);
void rank_pmi_lazy_open(struct rank_pmi *rank_pmi);
void rank_pmi_lazy_close(struct rank_pmi *rank_pmi);

/* rank_pmi_request.c */
/* Answers the request once by rank_pmi_answer, unless its id is 0; its data is valid during the call only. */
typedef void rank_pmi_service(struct speaker *speaker, const struct pmi_request *request);
rank_pmi_service rank_pmi_query;   /* rank_pmi_query.c */
rank_pmi_service rank_pmi_control; /* rank_pmi_control.c */
/* status: 0, or a negative errno, of the other daemon or since it was lost; -ECANCELED: the job is closed here, and
 * nobody can be answered. */
typedef void rank_pmi_answered(struct rank_pmi *rank_pmi, void *context, int status,
                               const void *data, size_t data_bytes);

/* rank_pmi_serve.c */
void rank_pmi_serve(struct speaker *speaker, const struct pmi_request *request);
/* Sends a request (enum job_message) to a daemon, whose reply is an i32 status and data.  Takes the message;
 * answered is called once, later. */
void rank_pmi_ask(struct rank_pmi *rank_pmi, uint32_t place, struct message *message,
                  rank_pmi_answered *answered, void *context);
/* As rank_pmi_ask; the reply is the answer to the speaker's request id. */
void rank_pmi_forward(const struct speaker *speaker, uint64_t id, uint32_t place,
                      struct message *message);
/* The reply to one of these requests, or to none that is known here. */
void rank_pmi_asked(struct rank_pmi *rank_pmi, uint32_t id, int status, const void *data,
                    size_t data_bytes);
/* Replies to a request of another daemon. */
void rank_pmi_reply_to(struct rank_pmi *rank_pmi, uint32_t source, uint32_t request, int status,
                       const void *data, size_t data_bytes);
void rank_pmi_request_open(struct rank_pmi *rank_pmi);
void rank_pmi_request_close(struct rank_pmi *rank_pmi);

/* rank_pmi_spawn.c */
rank_pmi_service rank_pmi_spawn;
/* rank_pmi_abort.c */
void rank_pmi_abort_open(struct rank_pmi *rank_pmi);
void rank_pmi_abort_close(struct rank_pmi *rank_pmi);
/* pmi_ops.abort */
void rank_pmi_abort(struct speaker *speaker, uint64_t id, const struct pmi_process *caller,
                    int status, const char *message, const struct pmi_process *targets,
                    size_t targets_count);
/* JOB_MESSAGE_ABORT; reader stands after the kind. */
void rank_pmi_abort_request(struct rank_pmi *rank_pmi, uint32_t source, uint32_t id,
                            struct wire_reader *reader);
void rank_pmi_abort_ended(struct rank_pmi *rank_pmi, uint32_t index);

/* rank_pmi_notice.c */
void rank_pmi_notice_open(struct rank_pmi *rank_pmi);
void rank_pmi_notice_close(struct rank_pmi *rank_pmi);
rank_pmi_service rank_pmi_notify;
/* In a job that goes on the others get an event for a rank that has not ended as it should. */
void rank_pmi_notice_end(struct rank_pmi *rank_pmi, uint32_t index, int wait_status,
                         bool is_unsynced);
/* A client of the server: it gets what was kept for the job. */
void rank_pmi_notice_connected(struct rank_pmi *rank_pmi);

/* rank_pmi_names.c */
rank_pmi_service rank_pmi_names;

/* rank_pmi_pull.c */
rank_pmi_service rank_pmi_pull;

/* rank_pmi_push.c */
rank_pmi_service rank_pmi_push;

/* rank_pmi_pmix.c */
int rank_pmi_pmix_open(struct rank_pmi *rank_pmi, struct error *error);
void rank_pmi_pmix_close(struct rank_pmi *rank_pmi);
void rank_pmi_pmix_exited(struct rank_pmi *rank_pmi, uint32_t index);
/* The server is needed: -ENOTCONN if there is none. */
int rank_pmi_pmix_need(struct rank_pmi *rank_pmi);
void rank_pmi_pmix_opened(struct rank_pmi *rank_pmi, int status, const char *why, int32_t pid);
void rank_pmi_pmix_lost(struct rank_pmi *rank_pmi, const char *why);

/* rank_pmi_facts.c: registers the job with the PMIx server. */
int rank_pmi_job_open(struct rank_pmi *rank_pmi, struct error *error);
/* The same for a job without ranks here; the node's server calls the ops. */
int rank_pmi_foreign_open(struct rank_pmi *rank_pmi, const struct job_local *job,
                          const struct pmi_ops *ops, struct error *error);

/* rank_pmi_stand_in.c */
/* An operation has ended, possibly one in which we stand in for ranks. */
void rank_pmi_stand_in_result(struct rank_pmi *rank_pmi, const struct operation_name *key,
                              int status, const struct message *payload);
int rank_pmi_stands_in(const struct rank_pmi *rank_pmi, uint64_t set_id);
/* Contributed to the barrier of a group: a member has ended. */
struct message *rank_pmi_ended_message(void);
void rank_pmi_stand_in_close(struct rank_pmi *rank_pmi);

#endif

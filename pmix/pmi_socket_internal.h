/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What pmi_socket.c and the two protocols on it, pmi1.c and pmi2.c, share; for them only.
 */
#ifndef PMIX_PMI_SOCKET_INTERNAL_H
#define PMIX_PMI_SOCKET_INTERNAL_H

#include <sys/types.h>

#include "base/hash_map.h"
#include "base/list.h"
#include "pmix/pmi_kvs.h"
#include "pmix/pmi_socket.h"

struct pmi_barrier;
struct pmi_spawn_answer;
struct pmi_socket_spawn;

enum pmi_client_state {
    PMI_CLIENT_NEW,        /* has not sent init */
    PMI_CLIENT_READY,      /* may send any command */
    PMI_CLIENT_SPAWNING,   /* PMI-1: in the middle of mcmd=spawn ... endcmd */
    PMI_CLIENT_IN_BARRIER, /* a thread of it waits for other clients */
    PMI_CLIENT_FINALIZED,
    PMI_CLIENT_CLOSED,
};

/* How a client and the server talk. */
struct pmi_protocol {
    /* Bytes of the message that the input starts with; 0: it is not whole yet; -EPROTO. */
    ssize_t (*cut)(const struct buffer *input, struct error *error);
    /* Obeys that message, which ends with a NUL and may be changed; -EPROTO if it makes no sense. */
    int (*run)(struct pmi_socket *socket, uint32_t index, char *message, struct error *error);
    /* A barrier in which the client has waited has ended; echo: of its call.  -ESRCH: a member of the group has ended. */
    void (*released)(struct pmi_socket *socket, uint32_t index, int status, const char *echo);
    /* The client's publish, lookup or unpublish has ended; port: of a lookup that has found it. */
    void (*named)(struct pmi_socket *socket, uint32_t index, enum pmi_request_kind kind, int status,
                  const char *port, const char *thread);
    /* The client's request to spawn has been granted or has failed. */
    void (*spawned)(struct pmi_socket *socket, uint32_t index,
                    const struct pmi_spawn_answer *answer, const char *thread);
};

extern const struct pmi_protocol pmi1_protocol;
extern const struct pmi_protocol pmi2_protocol;

struct pmi_client {
    enum pmi_client_state state;
    const struct pmi_protocol *protocol; /* of PMI-1 until the client says otherwise */
    struct buffer input;                 /* what has been received of its next message */
    struct pmi_socket_spawn *spawn;      /* PMI-1: that is being described; NULL: none */
    long spawns_total;                   /* its parts */
    long spawns_so_far;
    uint32_t waits; /* calls of barriers that have not been answered */
};

struct pmi_socket {
    struct pmi_ops ops;
    pmi_socket_reply_function *reply;
    uint32_t job;
    char *kvs_name;
    char *spawner; /* NULL: nobody */
    uint32_t size;
    uint32_t universe_size;
    uint32_t local_count;
    uint32_t *local_ranks;
    uint32_t *local_apps;
    struct pmi_client *clients;
    struct pmi_kvs *kvs;
    struct pmi_barrier *barrier;         /* of all */
    struct hash_map *groups;             /* name and members -> struct pmi_barrier */
    uint32_t group_calls;                /* of those, not answered */
    struct hash_map *barriers_under_way; /* id -> likewise; the other nodes have been notified */
    uint64_t last_id;                    /* of a barrier or another request */
    struct hash_map *attributes;         /* PMI-2's of this node: name -> value */
    struct list attribute_waits;         /* struct attribute_wait of pmi2.c */
    struct hash_map *name_waits;         /* id -> struct name_wait of pmi_socket_names.c */
    struct list spawn_waits;             /* struct spawn_wait of pmi_socket_spawn.c */
};

struct pmi_process pmi_socket_process(const struct pmi_socket *socket, uint32_t index);
/* The client has introduced itself. */
void pmi_socket_connected(struct pmi_socket *socket, uint32_t index);
/* The client has finalized: nothing waits for it. */
void pmi_socket_finalized(struct pmi_socket *socket, uint32_t index);

/* pmi_socket_barrier.c */
/* The client waits for all others, then `released` is called, with a copy of echo (may be NULL).  -EAGAIN: it waits too
 * often already. */
int pmi_socket_wait(struct pmi_socket *socket, uint32_t index, const char *echo);
/* As pmi_socket_wait, for the other members (ranks, with its own; none: all of the job), who give the same name.  -ENOSPC:
 * there are too many groups. */
int pmi_socket_wait_group(struct pmi_socket *socket, uint32_t index, const struct ranges *members,
                          const char *name, const char *echo);
/* 1 if the id was that of a barrier. */
int pmi_socket_barrier_done(struct pmi_socket *socket, uint64_t id, int status, const void *data,
                            size_t bytes);
/* The client has finalized or closed: no barrier waits for it. */
void pmi_socket_barrier_ended(struct pmi_socket *socket, uint32_t index);
void pmi_socket_barrier_open(struct pmi_socket *socket);
void pmi_socket_barrier_close(struct pmi_socket *socket);

/* pmi_socket_names.c */
/* PMI_REQUEST_PUBLISH, with a port, LOOKUP or UNPUBLISH of a service, whose name has less than PMI_KVS_NAME_BYTES;
 * `named` answers, with the thread. */
void pmi_socket_name(struct pmi_socket *socket, uint32_t index, enum pmi_request_kind kind,
                     const char *service, const char *port, const char *thread);
/* 1 if the id was that of such a request. */
int pmi_socket_name_done(struct pmi_socket *socket, uint64_t id, int status, const void *data,
                         size_t bytes);
void pmi_socket_name_close(struct pmi_socket *socket);
/* pmi_socket_spawn.c: a request to spawn.  Errors in it are kept until the end. */
struct pmi_socket_spawn *pmi_socket_spawn_create(void);
void pmi_socket_spawn_destroy(struct pmi_socket_spawn *spawn);
/* A key and its value; others than those of a program, its arguments, infos and preputs are ignored. */
void pmi_socket_spawn_word(struct pmi_socket_spawn *spawn, const char *key, const char *value);
/* The application is complete. */
void pmi_socket_spawn_app(struct pmi_socket_spawn *spawn);
/* The request is complete: `spawned` answers.  Takes spawn. */
void pmi_socket_spawn(struct pmi_socket *socket, uint32_t index, struct pmi_socket_spawn *spawn,
                      const char *thread);
/* 1 if the id was that of such a request. */
int pmi_socket_spawn_done(struct pmi_socket *socket, uint64_t id, int status, const void *data,
                          size_t bytes);
/* A client that has ended waits for no answer. */
void pmi_socket_spawn_forget(struct pmi_socket *socket, uint32_t index);

/* pmi2.c: a client that has ended waits for nothing. */
void pmi2_forget(struct pmi_socket *socket, uint32_t index);

#endif

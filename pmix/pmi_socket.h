/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PMI-1 (1.1) and PMI-2 on the socket that each process is given as PMI_FD: one server per job and
 * node, one client per local rank.  A client's first line says which of the two it speaks; both stand
 * on the same values (pmi_kvs.h) and the same barrier, so a job may have clients of either.  Pure:
 * bytes in, bytes out; no socket.  Gets are answered from memory.
 */
#ifndef PMIX_PMI_SOCKET_H
#define PMIX_PMI_SOCKET_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/ranges.h"
#include "pmix/pmi.h"

struct pmi_socket;

/* Bytes for the client of a local rank (index from 0). */
typedef void pmi_socket_reply_function(void *context, uint32_t local_index, const void *data,
                                       size_t bytes);

struct pmi_socket_pair {
    const char *key;
    const char *value;
};

struct pmi_socket_config {
    uint32_t job;
    const char *kvs_name; /* the namespace */
    uint32_t size;
    uint32_t universe_size;
    uint32_t local_count;
    const uint32_t *local_ranks;
    const uint32_t *local_apps;
    /* Value of PMI_process_mapping, "(vector,(first node,nodes,ranks per node),...)" */
    const char *process_mapping;
    const char *spawner; /* the namespace of the processes that have spawned the job; NULL: none */
    const struct pmi_socket_pair *preput; /* values that it is spawned with */
    uint32_t preput_count;
    /* connected is the client's first message; collective is a barrier of the job or of a group of its ranks, with this
     * node's puts since the last one as data (may be empty).  Copied. */
    const struct pmi_ops *ops;
    pmi_socket_reply_function *reply; /* with the context of ops */
};

/* A group in whose barrier clients wait. */
struct pmi_socket_group {
    const struct ranges *members; /* ranks; none: all */
    const char *name;             /* pmi_collective.name */
    const void *handle;
    uint64_t round;   /* another in its next barrier */
    int is_under_way; /* for other nodes, not for clients of this one */
};

/* Nodes [first_node, first_node + nodes) each take the next ranks_per_node ranks. */
struct pmi_socket_run {
    uint32_t first_node;
    uint32_t nodes;
    uint32_t ranks_per_node;
};

/* The text of PMI_process_mapping, appended; nothing if it would exceed the length of a value (MPI
 * libraries then find out by themselves). */
void pmi_socket_mapping(const struct pmi_socket_run *runs, size_t runs_count, struct buffer *out);

struct pmi_socket *pmi_socket_create(const struct pmi_socket_config *config);
void pmi_socket_destroy(struct pmi_socket *socket);
/* Bytes received from a client, in any pieces.  -EPROTO (with a text naming the command) if it
 * violates its protocol: the owner closes it. */
int pmi_socket_input(struct pmi_socket *socket, uint32_t local_index, const void *data,
                     size_t bytes, struct error *error);
/* 1 if the client waits in a barrier of all. */
int pmi_socket_in_barrier(const struct pmi_socket *socket, uint32_t local_index);
/* 1 if clients wait in a barrier of all for others of this node. */
int pmi_socket_is_waiting(const struct pmi_socket *socket);
/* 1 if clients wait in the barrier of a group. */
int pmi_socket_groups_wait(const struct pmi_socket *socket);
/* Walks the groups of PMI 1.2 in whose barrier clients wait: start with *cursor = 0; 0 at the end. */
int pmi_socket_group_next(const struct pmi_socket *socket, size_t *cursor,
                          struct pmi_socket_group *ret_group);
/* 1 if the client waits in it. */
int pmi_socket_in_group(const struct pmi_socket_group *group, uint32_t local_index);
/* Appends what a node contributes to the barrier of a group if a member has ended there. */
void pmi_socket_put_ended(struct buffer *out);
/* How many nodes have contributed that, of all nodes' data. */
uint64_t pmi_socket_count_ended(const void *data, size_t bytes);
/* The client's socket has closed.  1 if it has sent init but not finalize, which is abnormal. */
int pmi_socket_closed(struct pmi_socket *socket, uint32_t local_index);
/* done: all nodes' data of a barrier, concatenated in any order; status < 0 fails it. */
extern const struct pmi_events pmi_socket_events;

#endif

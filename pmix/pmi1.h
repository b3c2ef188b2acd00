/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PMI-1 wire protocol (1.1): one server per job and node, one client per local rank.  Pure: bytes
 * in, bytes out; no socket.  Puts are kept until the node's barrier, exchanged with the other nodes
 * by the owner, and gets are answered from memory.  Cost: O(keys of the job) memory, which PMI-1
 * requires (KVS_Get is answered at once).
 */
#ifndef PMIX_PMI1_H
#define PMIX_PMI1_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "pmix/pmi.h"

struct pmi1_server;

/* Bytes for the client of a local rank (index from 0). */
typedef void pmi1_reply_function(void *context, uint32_t local_index, const void *data,
                                 size_t bytes);

struct pmi1_config {
    uint32_t job;
    const char *kvs_name; /* the namespace */
    uint32_t size;
    uint32_t universe_size;
    uint32_t local_count;
    const uint32_t *local_ranks;
    const uint32_t *local_apps;
    /* Value of PMI_process_mapping, "(vector,(first node,nodes,ranks per node),...)" */
    const char *process_mapping;
    /* connected is cmd=init; collective is a barrier of the job, with this node's puts since the
     * last one as data (may be empty).  Copied. */
    const struct pmi_ops *ops;
    pmi1_reply_function *reply; /* with the context of ops */
};

/* Nodes [first_node, first_node + nodes) each take the next ranks_per_node ranks. */
struct pmi1_run {
    uint32_t first_node;
    uint32_t nodes;
    uint32_t ranks_per_node;
};

/* The text of PMI_process_mapping, appended; nothing if it would exceed the length of a value (MPI
 * libraries then find out by themselves). */
void pmi1_mapping(const struct pmi1_run *runs, size_t runs_count, struct buffer *out);

struct pmi1_server *pmi1_create(const struct pmi1_config *config);
void pmi1_destroy(struct pmi1_server *server);
/* Bytes received from a client, in any pieces.  -EPROTO (with a text naming the command) if it
 * violates PMI-1: the owner closes it. */
int pmi1_input(struct pmi1_server *server, uint32_t local_index, const void *data, size_t bytes,
               struct error *error);
/* 1 if the client waits in a barrier. */
int pmi1_in_barrier(const struct pmi1_server *server, uint32_t local_index);
/* 1 if clients wait in a barrier for others of this node. */
int pmi1_is_waiting(const struct pmi1_server *server);
/* The client's socket has closed.  1 if it has sent init but not finalize, which is abnormal. */
int pmi1_closed(struct pmi1_server *server, uint32_t local_index);
/* done: all nodes' data of a barrier, concatenated in any order; status < 0 fails it. */
extern const struct pmi_events pmi1_events;

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For tests of PMI-1 and PMI-2 (pmix/pmi_socket.h): one node's server of a job with two local clients
 * of four, and all that it has said.
 */
#ifndef TEST_SUPPORT_PMI_CLIENTS_H
#define TEST_SUPPORT_PMI_CLIENTS_H

#include "base/buffer.h"
#include "pmix/pmi_socket.h"

#define PMI_CLIENTS     2
#define PMI_CLIENTS_JOB 5

struct pmi_clients {
    struct pmi_socket *socket;
    struct buffer replies[PMI_CLIENTS];
    struct buffer puts; /* of the last barrier that it asked for */
    int barriers;       /* of all */
    uint64_t barrier_id;
    char group[64]; /* the last barrier, if it was of a group: "NAME RANKS", and " lost" */
    int connected;
    int finalized;
    int aborts;
    struct pmi_request asked; /* the last one, of one name: its data are these */
    struct buffer asked_data;
    int abort_status;
    char abort_message[64];
    int done_at_once; /* 1: a barrier is answered within the call */
};

/* Ranks first_rank and first_rank + 1, of applications 0 and 3. */
void pmi_clients_init(struct pmi_clients *node, uint32_t first_rank, const char *mapping);
void pmi_clients_fini(struct pmi_clients *node);
/* What the last request of a name is about: "KIND KEY VALUE". */
const char *pmi_clients_asked(const struct pmi_clients *node);
/* Answers the last barrier with all nodes' data. */
void pmi_clients_done(struct pmi_clients *node, int status, const void *data, size_t bytes);
/* A client says text; what it is answered, or "refused". */
const char *pmi_clients_say(struct pmi_clients *node, uint32_t index, const char *text);
/* A client says text and must be refused with -EPROTO; why. */
const char *pmi_clients_refusal(struct pmi_clients *node, uint32_t index, const char *text);

#endif

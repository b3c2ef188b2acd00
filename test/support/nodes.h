/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A miniature of banyan for the tests of pmix/: some node processes in a star around the test, each
 * with the built plugin (or a PMI-1 server) and real client processes.  No tree, no mercy: it does
 * what the contract in pmix/host.h says and nothing else.
 */
#ifndef TEST_SUPPORT_NODES_H
#define TEST_SUPPORT_NODES_H

#include <stdint.h>

#include "base/buffer.h"

struct nodes_case {
    uint32_t nodes;
    uint32_t per_node;
    char *const *argv;
    int pmi1;               /* PMI-1 instead of PMIx */
    const char *plugin;     /* path of pmix_host.so */
    const char *directory;  /* exists; one folder per node is made and removed in it */
    uint32_t descriptors;   /* so many more are open in a node before libpmix starts */
    uint32_t jobs;          /* so many one after the other; 0 means 1 */
    uint32_t deregister_at; /* the namespace is deregistered after so many fences; 0: at the end */
};

/* Sums over all nodes. */
struct nodes_result {
    struct buffer output; /* of the clients */
    struct buffer text;   /* what clients sent for the user, and the nodes' own complaints */
    uint32_t exited;      /* clients that ended with 0 */
    uint32_t failed;      /* with another code or by a signal */
    uint32_t connected;
    uint32_t finalized;
    uint32_t fences;
    uint32_t aborts;
    int abort_status;
    int timed_out; /* 1: it hung and was killed */
};

void nodes_run(const struct nodes_case *it, struct nodes_result *ret_result);
void nodes_result_fini(struct nodes_result *result);

#endif

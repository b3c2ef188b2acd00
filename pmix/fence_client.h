/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shared object that makes a process a client of PMIx (pmix_client.so, linked to libpmix), for
 * `banyan bench --client`: a table of functions, so that libpmix is loaded only where it is used.
 * No code.  The launcher of the process is its server.  One client per process, of one thread; each
 * call blocks until its answer is there.
 */
#ifndef PMIX_FENCE_CLIENT_H
#define PMIX_FENCE_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define FENCE_CLIENT_ABI 1

struct fence_client_self {
    uint32_t rank;
    uint32_t ranks; /* of the whole job */
};

/* Functions that return int: 0, or a negative errno with a line that names the rank, the call, and what PMIx says. */
struct fence_client_table {
    uint32_t abi; /* FENCE_CLIENT_ABI */
    int (*open)(struct fence_client_self *ret_self, struct error *error);
    /* Puts and commits, for all ranks of the job, instead of what this rank has put with that key before. */
    int (*put)(const char *key, const void *data, size_t bytes, struct error *error);
    /* Of all ranks of the job; collects: all have what all have committed when it ends. */
    int (*fence)(int collects, struct error *error);
    /* What another rank has put: free() *ret_data. */
    int (*get)(uint32_t rank, const char *key, void **ret_data, size_t *ret_bytes,
               struct error *error);
    int (*close)(struct error *error);
    /* Asks the server to end the job; returns even if it cannot. */
    void (*give_up)(int status, const char *text);
};

extern const struct fence_client_table fence_client_table;

#endif

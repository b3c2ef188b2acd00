/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The little of PMI-1 that a process of banyan's own needs as a client: data of the others, and barriers.  Blocks.
 */
#ifndef LAUNCH_EXEC_PMI1_CLIENT_H
#define LAUNCH_EXEC_PMI1_CLIENT_H

#include <stdint.h>

#include "base/error.h"

#define PMI1_CLIENT_LINE_BYTES  1024
#define PMI1_CLIENT_VALUE_BYTES 512

struct pmi1_client {
    int fd;
    uint32_t rank;
    uint32_t size;
    char space[64]; /* of keys and values: "kvsname" */
};

/* From the environment (PMI_FD, PMI_RANK, PMI_SIZE).  -EINVAL if no launcher offers PMI-1 there. */
int pmi1_client_init(struct pmi1_client *client, struct error *error);
/* No blanks in either; of the others all that was put before a barrier can be got after it. */
int pmi1_client_put(struct pmi1_client *client, const char *key, const char *value,
                    struct error *error);
int pmi1_client_get(struct pmi1_client *client, const char *key,
                    char ret_value[PMI1_CLIENT_VALUE_BYTES], struct error *error);
int pmi1_client_barrier(struct pmi1_client *client, struct error *error);
/* The process is about to end, and not by a failure. */
int pmi1_client_finalize(struct pmi1_client *client, struct error *error);

#endif

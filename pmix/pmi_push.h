/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PMI_REQUEST_PUSH (pmi.h): input for a job's rank that reads standard input.  The answer comes when the rank's pipe has
 * taken it: -ENOENT if there is no such job, -ENOTSUP if that is not the rank that reads, -EPIPE if its input has been
 * closed or the job ended, -ECONNRESET if a node was lost: then it is not known how much has been read.
 */
#ifndef PMIX_PMI_PUSH_H
#define PMIX_PMI_PUSH_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "pmix/pmi.h"

#define PMI_PUSH_BYTES_MAX (256u * 1024) /* of one request; a server has one open for each job */

struct pmi_push {
    uint32_t job;
    uint32_t rank;     /* or PMI_RANK_ALL: the one that reads */
    const void *data;  /* the caller's, or inside what is decoded */
    size_t data_bytes; /* 0: the end of input */
};

void pmi_push_encode(const struct pmi_push *push, struct buffer *out);
/* -EBADMSG; ret_push is untouched then. */
int pmi_push_decode(struct pmi_push *ret_push, const void *data, size_t bytes);

#endif

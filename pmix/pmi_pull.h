/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PMI_REQUEST_PULL (pmi.h): what processes print shall also reach the callers of PMIx_IOF_pull at this node's PMIx
 * server.  The server adds up what they want of a job and replaces what it has wanted before; the answer is a
 * status: -ENOENT if there is no such job, or no such rank in it.
 *
 * The output comes as notices: PMI_NOTICE_STDOUT and PMI_NOTICE_STDERR, and PMI_NOTICE_OUTPUT_END when there is no more of
 * the job.  At most PMI_PULL_WINDOW bytes of a job are under way to a server; it reports what it has passed on, and
 * what is printed beyond that is lost to it.
 */
#ifndef PMIX_PMI_PULL_H
#define PMIX_PMI_PULL_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/ranges.h"
#include "pmix/pmi.h"

#define PMI_PULL_WINDOW (4u * 1024 * 1024)

#define PMI_PULL_STDOUT 1u
#define PMI_PULL_STDERR 2u

enum pmi_pull_kind {
    PMI_PULL_SET,   /* version, channels, ranks */
    PMI_PULL_TAKEN, /* bytes: have been passed on; not answered */
    PMI_PULL_KIND_COUNT
};

struct pmi_pull {
    enum pmi_pull_kind kind;
    uint32_t job;
    uint64_t version; /* a later request has a higher one */
    uint32_t bytes;
    uint8_t channels;    /* of PMI_PULL_STDOUT and _STDERR; 0: nothing */
    struct ranges ranks; /* owned; none: all */
};

void pmi_pull_encode(const struct pmi_pull *pull, struct buffer *out);
/* -EBADMSG; ret_pull is untouched then. */
int pmi_pull_decode(struct pmi_pull *ret_pull, const void *data, size_t bytes);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PMI_REQUEST_CONTROL (pmi.h): a process sends a signal to processes of its instance, or ends them.  The answer is a
 * status: 0 when the root has passed it on to the nodes, -ENOENT if there is no such job or process, and then
 * nothing has been done.
 */
#ifndef PMIX_PMI_CONTROL_H
#define PMIX_PMI_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "pmix/pmi.h"

#define PMI_CONTROL_SIGNAL_MAX 64u

enum pmi_control_kind {
    PMI_CONTROL_SIGNAL,
    PMI_CONTROL_TERMINATE, /* SIGTERM; a whole job is killed if it does not end in time */
    PMI_CONTROL_KILL,
    PMI_CONTROL_KIND_COUNT
};

struct pmi_control_target {
    char namespace[PMI_NAMESPACE_BYTES];
    uint32_t rank; /* or PMI_RANK_ALL */
};

struct pmi_control {
    enum pmi_control_kind kind;
    uint32_t signal;                    /* of PMI_CONTROL_SIGNAL, else 0 */
    struct pmi_control_target *targets; /* owned */
    uint32_t targets_count;
};

void pmi_control_fini(struct pmi_control *control);
void pmi_control_encode(const struct pmi_control *control, struct buffer *out);
/* -EBADMSG; ret_control is untouched then. */
int pmi_control_decode(struct pmi_control *ret_control, const void *data, size_t bytes);

#endif

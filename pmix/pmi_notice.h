/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An event as it travels between a speaker and the daemon: the data of PMI_REQUEST_NOTIFY, by which a process raises
 * one for others, and of PMI_NOTICE_EVENT, which delivers one.  A client's event has its standard's code and keys and
 * values, which only the speaker can read; an event of banyan itself has neither, and the speaker translates it.
 */
#ifndef PMIX_PMI_NOTICE_H
#define PMIX_PMI_NOTICE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "pmix/pmi.h"

#define PMI_NOTICE_BYTES_MAX     (1u << 20) /* of information; a longer one is refused */
#define PMI_NOTICE_PROCESSES_MAX (1u << 20) /* of targets, and of affected processes */

enum pmi_event {
    PMI_EVENT_CLIENT,    /* code and information are those of the client */
    PMI_EVENT_EXITED,    /* code: a status other than 0 */
    PMI_EVENT_SIGNALLED, /* code: the signal that has ended it */
    PMI_EVENT_UNSYNCED,  /* it has exited with 0, but without finalize */
    PMI_EVENT_ABORTED, /* ended because another process has asked for it; code: the status given */
    PMI_EVENT_NODE_LOST, /* with the affected processes; text: its name */
    PMI_EVENT_JOB_ENDED, /* code: its exit status; affected: all of it */
    PMI_EVENT_STOPPED, /* code: enum pmi_stop; affected: all of a job.  Of this and the last the text is "", or the
                            namespace of the tool that has spawned the job, which is then the target. */
    PMI_EVENT_FABRIC_PENDING, /* the root is about to have another model of the fabric, */
    PMI_EVENT_FABRIC_UPDATED, /* and has it */
    PMI_EVENT_COUNT
};

struct pmi_notice {
    enum pmi_event event;
    int32_t code;
    struct pmi_process source;         /* job PMI_JOB_NONE: the daemon of place `rank` */
    const struct pmi_process *targets; /* none: every process of the instance */
    size_t targets_count;
    const struct pmi_process
        *affected; /* of a client's event that is delivered: all targets, or none */
    size_t affected_count;
    const char *text; /* NULL is written as "" */
    const void *info; /* of a client's */
    size_t info_bytes;
};

void pmi_notice_encode(const struct pmi_notice *notice, struct buffer *out);
/* info points into data; the rest is the caller's to free by pmi_notice_fini.  -EBADMSG. */
int pmi_notice_decode(struct pmi_notice *ret_notice, const void *data, size_t data_bytes);
void pmi_notice_fini(struct pmi_notice *notice);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where each count of an allocation comes from, for who asks: what the parsers added, in order, with
 * its place.  An allocation that has a trace (a borrowed pointer) is recorded while it is built; cost:
 * O(what is added).  Neighbours of one place with equal slots are one entry.
 */
#ifndef ALLOC_ALLOCATION_TRACE_H
#define ALLOC_ALLOCATION_TRACE_H

#include <stdint.h>

#include "alloc/hostlist.h"

#define TRACE_PLACE_BYTES 320

struct trace_entry {
    char *place;            /* "hosts.txt:3", "SLURM_JOB_NODELIST and SLURM_TASKS_PER_NODE", ... */
    struct hostlist *names; /* a name may come in several entries: its slots add up */
    uint32_t slots;         /* each of them gets */
};

struct allocation_trace {
    char place[TRACE_PLACE_BYTES]; /* of what is added next */
    struct trace_entry *entries;
    uint32_t count;
    uint32_t capacity;
};

/* A zeroed trace is an empty one.  All functions take NULL: nobody asks. */
void allocation_trace_fini(struct allocation_trace *trace);
void allocation_trace_place(struct allocation_trace *trace, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void allocation_trace_add(struct allocation_trace *trace, const struct host_run *run,
                          uint32_t slots);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What machines, daemons and jobs use at a moment (`banyan top`).  A request names places: its receiver, which is the
 * first of them, answers for itself and hands the others on in parts, so that answers are merged on their way.  An answer
 * has sums over all its places, and rows of those only that use the most.
 *
 * Cost: O(LOAD_ROWS_MAX + LOAD_JOBS_MAX) for each answer, however many places it is of, and the runs of places.
 */
#ifndef LAUNCH_PROTO_LOAD_H
#define LAUNCH_PROTO_LOAD_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/ranges.h"
#include "base/wire.h"

#define LOAD_ROWS_MAX        256u
#define LOAD_JOBS_MAX        1024u
#define LOAD_PATIENCE_MS_MAX 60000u

/* CPU time is in thousandths of a CPU. */
enum load_figure {
    LOAD_PROCESSES, /* of jobs, without what they have started themselves */
    LOAD_PROCESSES_CPU,
    LOAD_PROCESSES_KIB,
    LOAD_MACHINE_CPUS, /* thousandths, too; of the root, whose machine is nobody's node, 0 */
    LOAD_MACHINE_BUSY,
    LOAD_MACHINE_KIB,
    LOAD_MACHINE_USED_KIB,
    LOAD_DAEMONS,
    LOAD_DAEMONS_CPU,
    LOAD_DAEMONS_KIB,
    LOAD_MESSAGES, /* sent and received, a second */
    LOAD_MESSAGES_BYTES,
    LOAD_FIGURE_COUNT
};

struct load_row {
    uint32_t place;
    uint64_t figures[LOAD_FIGURE_COUNT];
};

struct load_job {
    uint32_t number;
    uint64_t cpu;
    uint64_t kib;
};

/* A zeroed struct is empty.  Invariant: rows and jobs are sorted, those that use the most CPU first. */
struct load {
    uint64_t sums[LOAD_FIGURE_COUNT];
    struct load_row *rows;
    uint32_t rows_count;
    struct load_job *jobs;
    uint32_t jobs_count;
    uint32_t is_short;    /* 1: for the figures of some jobs of some nodes there was no room */
    struct ranges silent; /* places that have not answered */
};

struct load_request {
    uint32_t rows;        /* that the answer may have */
    uint32_t patience_ms; /* by then it is answered, if need be in part; of a client 0 */
    struct ranges places; /* of a client none: all; owned */
};

void load_fini(struct load *load);
/* What a place uses; at most rows of them are kept. */
void load_add(struct load *load, const struct load_row *row, uint32_t rows);
void load_add_job(struct load *load, const struct load_job *job);
void load_merge(struct load *load, const struct load *other, uint32_t rows);
/* In order again, and not too many; after the last load_add_job or load_merge, before anything else. */
void load_sort_jobs(struct load *load);

void load_encode(const struct load *load, struct buffer *out);
/* -EBADMSG; ret_load is untouched then. */
int load_decode(struct load *ret_load, struct wire_reader *reader);
void load_request_encode(const struct load_request *request, struct buffer *out);
int load_request_decode(struct load_request *ret_request, struct wire_reader *reader);

#endif

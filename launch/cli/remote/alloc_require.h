/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --require as part of a request to a scheduler: the options of its command that ask for nodes of which the
 * terms hold.  Terms that it cannot be asked for are left for a check once the nodes are there.  Pure.
 *
 *     slurm   --mem=65536M --gpus-per-node=2 --constraint=ib&(a|b)
 *     lsf     -R select[maxmem>=65536 && ngpus>=2 && ib && (a || b) && !old]
 *     pbs     :mem=65536mb:ngpus=2:ib=true, to each chunk of -l select
 */
#ifndef LAUNCH_CLI_REMOTE_ALLOC_REQUIRE_H
#define LAUNCH_CLI_REMOTE_ALLOC_REQUIRE_H

#include "alloc/placement_require.h"
#include "base/buffer.h"
#include "base/error.h"

/* Zeroed: nothing.  Texts without NUL bytes. */
struct alloc_require {
    struct buffer option; /* "" or, of slurm, one word a line; of lsf the value of -R */
    struct buffer chunk;  /* of pbs: ":mem=65536mb"; "": nothing */
    struct buffer left;   /* terms that it cannot be asked for, with commas between */
    struct buffer kept;   /* terms that the run still checks, likewise */
};

/* scheduler: slurm, lsf or pbs; "": one that can be asked for nothing. */
void alloc_require_make(const char *scheduler, const struct require *require,
                        struct alloc_require *ret_made);
void alloc_require_fini(struct alloc_require *made);
/* Appends the chunk's resources to each chunk of the value of -l: "select=2:ncpus=4+1,walltime=1:00".  0 if
 * it has no select. */
int alloc_require_add_chunk(const char *value, const char *chunk, struct buffer *out);

#endif

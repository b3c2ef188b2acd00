/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the ranks of a job stand in their programs: the functions of a stack, the outermost first, as one text.  Ranks
 * with equal stacks are one group, and so are those whose stacks cannot be taken for the same reason.  A request names
 * places: its receiver, which is the first of them, answers for itself and hands the others on in parts, so that answers
 * are merged on their way.
 *
 * Cost: O(STACK_FOLD_GROUPS_MAX) texts for each answer, however many ranks it is of, and the runs of ranks and places.
 */
#ifndef LAUNCH_PROTO_STACK_FOLD_H
#define LAUNCH_PROTO_STACK_FOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ranges.h"

#define STACK_FOLD_TEXT_BYTES      1024
#define STACK_FOLD_GROUPS_MAX      64u
#define STACK_FOLD_RANKS_MAX       8u     /* of each node */
#define STACK_FOLD_PATIENCE_MS     25000u /* of the root */
#define STACK_FOLD_PATIENCE_MS_MAX 60000u

struct stack_fold_group {
    char *text;      /* "main > MPI_Barrier > epoll_wait", or why there is none */
    bool is_failure; /* it is the latter */
    struct ranges ranks;
    struct ranges places;
};

/* A zeroed struct is empty. */
struct stack_fold {
    struct stack_fold_group *groups;
    uint32_t count;
    uint64_t left;        /* ranks whose stacks were not asked for: their nodes have too many */
    uint64_t more;        /* ranks for whose group there was no room */
    struct ranges silent; /* places that have not answered */
};

struct stack_fold_request {
    uint32_t job;
    uint32_t patience_ms; /* by then it is answered, if need be in part; of a client 0 */
    struct ranges places; /* of a client none: all of the job; owned */
};

void stack_fold_fini(struct stack_fold *fold);
/* Controls of the text are replaced, and what is too long is cut. */
void stack_fold_add(struct stack_fold *fold, const char *text, bool is_failure, uint32_t rank,
                    uint32_t place);
void stack_fold_merge(struct stack_fold *fold, const struct stack_fold *other);
void stack_fold_encode(const struct stack_fold *fold, struct buffer *out);
/* -EBADMSG; ret_fold is untouched then. */
int stack_fold_decode(struct stack_fold *ret_fold, struct wire_reader *reader);
void stack_fold_request_encode(const struct stack_fold_request *request, struct buffer *out);
int stack_fold_request_decode(struct stack_fold_request *ret_request, struct wire_reader *reader);

/* What the process that takes the stacks of a node says to its daemon, of any number of ranks, one after another: u32
 * index of the rank, u8 is_failure, the text.  -EBADMSG. */
void stack_fold_put_local(struct buffer *out, uint32_t index, bool is_failure, const char *text);
int stack_fold_get_local(struct wire_reader *reader, uint32_t *ret_index, bool *ret_is_failure,
                         char text[STACK_FOLD_TEXT_BYTES]);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an application requires of its nodes: "mem>=64G,arch=x86_64|aarch64,os=linux,feature=ib,
 * feature!=old,gpus>=2", terms that must all hold.  Terms are judged by what is known of the nodes
 * (facts_table.h); a node of which a fact is not known does not have it.  The nodes that are refused
 * become ranges that an application excludes, so that nodes never judge anything themselves.
 */
#ifndef ALLOC_PLACEMENT_REQUIRE_H
#define ALLOC_PLACEMENT_REQUIRE_H

#include <stdbool.h>

#include "alloc/allocation.h"
#include "alloc/facts_table.h"
#include "alloc/placement.h"

#define REQUIRE_TERMS_MAX 64u

struct require_term {
    enum fact fact;
    uint8_t is_not;
    uint64_t low; /* of memory (MiB) and GPUs: from low to high */
    uint64_t high;
    const char *text; /* the term, into the text that was parsed */
    uint32_t text_bytes;
    const char *words; /* of the others: alternatives with '|' between them, likewise */
    uint32_t words_bytes;
};

/* Points into the text it was made of. */
struct require {
    struct require_term terms[REQUIRE_TERMS_MAX];
    uint32_t count;
};

/* "none" is no term.  -EINVAL with the column. */
int placement_require_parse(const char *text, struct require *ret_require, struct error *error);
bool placement_require_term_holds(const struct require_term *term, const struct node_facts *facts);
/* 1 if all hold. */
bool placement_require_holds(const struct require *require, const struct node_facts *facts);
/* 1 if a term asks for that fact. */
bool placement_require_asks(const struct require *require, enum fact fact);
/* Leaves of the facts what can decide the terms, and memory rounded down to whole GiB, or less where a
 * term would be judged differently: nodes that are alike become equal. */
void placement_require_reduce(const struct require *require, struct node_facts *facts);

/* ---- Of a placement ---- */

/* 1 if an application requires something. */
bool placement_require_wanted(const struct placement *placement);
/* 1 if something is required that is not known of all nodes that may take part. */
int placement_require_open(const struct placement *placement, const struct allocation *allocation);
/* The terms of all applications as one text, appended to an empty buffer. */
void placement_require_all(const struct placement *placement, struct buffer *out);
/* Sets what each application excludes.  -ENODEV, with who is refused by what, if nothing is left to
 * one.  O(terms x kinds of facts x their ranges). */
int placement_require_settle(struct placement *placement, const struct allocation *allocation,
                             struct error *error);
/* Appends "; --require: mem>=64G excludes n[1-3] (32G)" if it has excluded any. */
void placement_require_tell(const struct placement *placement, const struct allocation *allocation,
                            struct buffer *out);
/* Forgets requirements and facts, once settled: what travels is what they have led to. */
void placement_require_forget(struct placement *placement);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The nodes a run may use, in their order, and how many slots each gives.  Index i (from 0) is
 * place i + 1 of the tree, unless that has another order (node_order.h).  Names are a hostlist and slots are run-length coded, so a regular
 * machine of any size costs a few hundred bytes.
 */
#ifndef ALLOC_ALLOCATION_H
#define ALLOC_ALLOCATION_H

#include <stdint.h>

#include "alloc/allocation_trace.h"
#include "alloc/hostlist.h"
#include "alloc/node_order.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/ranges.h"
#include "base/wire.h"

#define ALLOCATION_SLOTS_MAX  1000000u /* per node */
#define ALLOCATION_USER_BYTES 64

struct slots_run {
    uint32_t nodes; /* > 0 */
    uint32_t slots; /* of each of them, >= 0 */
    uint32_t used;  /* of those, by other jobs */
};

struct allocation {
    struct hostlist *names; /* each name once */
    struct slots_run *runs; /* cover all names; neighbours differ */
    uint32_t runs_count;
    uint32_t runs_capacity;
    char
        user[ALLOCATION_USER_BYTES]; /* who to be on the nodes: "user@"; "": nobody in particular */
    struct node_order *order;        /* in the tree; NULL: as here.  Its own; views borrow it */
    struct allocation_trace *trace;  /* borrowed; NULL: nobody asks where counts come from */
    uint32_t cpus;         /* of each process, as the scheduler has it; 0: it does not say */
    const char *cpus_from; /* the variable that says so; a constant */
    char origin[160];      /* where the counts came from: "host file hosts.txt", "--host", ... */
};

void allocation_init(struct allocation *allocation);
void allocation_fini(struct allocation *allocation);
/* Without the trace.  ret_copy need not be initialised. */
void allocation_copy(struct allocation *ret_copy, const struct allocation *source);
/* Adds the nodes of another allocation, none of whose names is there. */
void allocation_append(struct allocation *allocation, const struct allocation *added);
uint32_t allocation_nodes(const struct allocation *allocation);
uint64_t allocation_slots(const struct allocation *allocation);
uint32_t allocation_slots_of(const struct allocation *allocation, uint32_t index); /* O(runs) */
/* The names in their order in the tree, the caller's. */
struct hostlist *allocation_tree_names(const struct allocation *allocation);
/* Adds a node, or adds slots to the node of that name (up to ALLOCATION_SLOTS_MAX).  O(runs of
 * names): who adds many names goes through the parsers below, which keep an index. */
void allocation_add(struct allocation *allocation, const char *name, uint32_t slots);

struct site;

/* The nodes there are, for entries that are relative to them (host_choice.h). */
struct allocation_base {
    /* Asked only if an entry is relative; the answer stays valid while the parser runs. */
    int (*nodes)(void *context, const struct allocation **ret_nodes, struct error *error);
    void *context;
    const struct ranges *busy; /* indices of those that have processes; NULL: none */
    const struct site *site;   /* the clusters that an entry may name (site.h); NULL: none */
};

/* The parsers add to the existing nodes; a name that exists already gets more slots.  They fail with
 * -EINVAL on malformed text, no node in it, or no slot overall, with -E2BIG on too many; allocation
 * is unchanged then.  Cost: O(text), plus a hash for each name that stands alone or in a run of
 * at most 64, plus O(runs of that prefix) for each longer run; that is not expanded unless names in
 * it may be there already. */

/* Text of a host file: lines "name", "name:n", "name slots=n", blank lines, # comments.  Names may
 * be hostlists with brackets; "user@" may stand before them.  file is for messages only: "hosts.txt:3:7: ...". */
int allocation_parse_hostfile(struct allocation *allocation, const char *file, const char *text,
                              size_t text_bytes, struct error *error);
/* Value of --host: "a,b:4,n[1-3]:2"; repetition adds 1 slot each, as in Open MPI. */
int allocation_parse_hosts(struct allocation *allocation, const char *text, struct error *error);
/* The same with entries that are relative to the nodes there are: "+n3", "+e", "^name".  Without a
 * base these are errors. */
int allocation_parse_hostfile_of(struct allocation *allocation, const char *file, const char *text,
                                 size_t text_bytes, const struct allocation_base *base,
                                 struct error *error);
int allocation_parse_hosts_of(struct allocation *allocation, const char *text,
                              const struct allocation_base *base, struct error *error);
/* Adds count new nodes, "v1".."vN" for the prefix "v", with slots each. */
void allocation_generate(struct allocation *allocation, const char *prefix, uint32_t count,
                         uint32_t slots);
/* Gives each node slots, whatever it had; the origin is the caller's to set. */
void allocation_set_slots(struct allocation *allocation, uint32_t slots);

/* The last nodes give no slots. */
void allocation_clear_last(struct allocation *allocation, uint32_t nodes);

/* Roster form: names (compressed text), slot runs and the order; not the origin. */
void allocation_encode(const struct allocation *allocation, struct buffer *out);
/* 0 or -EBADMSG; initialises ret_allocation, which is empty on failure.  That names differ is the
 * encoder's word: a check would cost every daemon O(nodes). */
int allocation_decode(struct allocation *ret_allocation, struct wire_reader *reader);

/* For parsers: appends nodes whose names are not there yet, with slots each. */
void allocation_append_run(struct allocation *allocation, const struct host_run *run,
                           uint32_t slots);

/* For parsers: more slots for the node of an index. */
struct slots_raise {
    uint32_t index;
    uint32_t slots;
};

/* Raises are sorted by index, which may repeat.  -E2BIG and *ret_index if a node would get more
 * than ALLOCATION_SLOTS_MAX; the allocation is unchanged then.  O(runs + raises). */
int allocation_raise(struct allocation *allocation, const struct slots_raise *raises,
                     uint32_t raises_count, uint32_t *ret_index);

#endif

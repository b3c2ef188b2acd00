/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A site's description of its resources: clusters, and kinds of nodes in them.  Each is a section of values
 * by key; a kind has those of its cluster that it does not give itself.  Pure: text in, values out.
 *
 * Text that names nodes of a cluster:
 *
 *     west/              all nodes of west
 *     west/q[1-4]        these
 *     west/512+100       100 of them, from the one with the number 512 on
 *     west/gpu/          those of the kind gpu; also with names or 512+100 after the '/'
 *
 * The nodes are called west/q1 and so on (cell.h), so that the same name in two clusters is two nodes.
 */
#ifndef ALLOC_SITE_H
#define ALLOC_SITE_H

#include <stddef.h>
#include <stdint.h>

#include "alloc/hostlist.h"
#include "base/buffer.h"
#include "base/error.h"

enum site_key {
    SITE_NODES,
    SITE_SLOTS,
    SITE_ADDRESS,
    SITE_SCHEDULER,
    SITE_SCHEDULER_OPTIONS,
    SITE_LOGIN,
    SITE_STARTER,
    SITE_STARTER_COMMAND,
    SITE_STARTER_OPTIONS,
    SITE_TMPDIR,
    SITE_MEMORY,
    SITE_ARCHITECTURE,
    SITE_SYSTEM,
    SITE_FEATURES,
    SITE_GPUS,
    SITE_KEY_COUNT
};

struct site_section {
    char *cluster;
    char *kind;                    /* NULL: the cluster itself */
    char *values[SITE_KEY_COUNT];  /* NULL: not given */
    char *origins[SITE_KEY_COUNT]; /* "FILE:LINE", of each value */
};

struct site {
    struct site_section *sections; /* in the order in which they were named first */
    uint32_t count;
};

void site_fini(struct site *site);
const char *site_key_name(enum site_key key);
/* -EINVAL, with the nearest name, if a section of a cluster (or of a kind of nodes) has no such key. */
int site_key_find(const char *name, int is_kind, enum site_key *ret_key, struct error *error);

/* The section of that name, made if there is none; kind NULL: the cluster's.  -EINVAL if a name cannot be
 * one. */
int site_open(struct site *site, const char *cluster, const char *kind, uint32_t *ret_section,
              struct error *error);
/* Replaces a value; the text is copied.  -EINVAL. */
int site_set(struct site *site, uint32_t section, enum site_key key, const char *text,
             const char *origin, struct error *error);

/* NULL if there is none. */
const struct site_section *site_find(const struct site *site, const char *cluster,
                                     const char *kind);
/* The section of "west" or "west/gpu"; NULL, and an error with the nearest name. */
const struct site_section *site_find_word(const struct site *site, const char *word,
                                          struct error *error);
/* What holds for a section: its own value, or its cluster's; NULL: neither.  The nodes are its own. */
const char *site_value(const struct site *site, const struct site_section *section,
                       enum site_key key);
/* Adds the names of its nodes, without the cell.  A cluster without `nodes` has those of its kinds. */
void site_names(const struct site *site, const struct site_section *section,
                struct hostlist *ret_names);
/* What is known of its nodes, as node_facts_parse reads it, appended to an empty buffer. */
void site_facts(const struct site *site, const struct site_section *section, struct buffer *out);
/* The section that counts for a node, "west/q7": of the last kind that has it, or of its cluster; NULL: no
 * cluster has it.  O(kinds x their runs). */
const struct site_section *site_section_of(const struct site *site, const char *name);

/* 1 if the text names nodes of a cluster: it has a '/'. */
int site_is_text(const char *text, size_t text_bytes);
/* Adds the nodes that such a text names, with the cell.  -ENOENT, -EINVAL, -ERANGE; ret_offset (from 0) is
 * where it is wrong.  O(their number + runs). */
int site_expand(const struct site *site, const char *text, size_t text_bytes,
                struct hostlist *ret_names, size_t *ret_offset, struct error *error);
/* 1 if a section says how many slots its nodes have. */
int site_gives_slots(const struct site *site);
/* Slots of the node, "west/q7", or `otherwise`. */
uint32_t site_slots(const struct site *site, const char *name, uint32_t otherwise);
/* The table of addresses of all clusters (cell.h), appended; nothing if no cluster has a template. */
void site_addresses(const struct site *site, struct buffer *out);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The texts of PMI-1: a line from a client, split into its parts.
 */
#ifndef PMIX_PMI1_WIRE_H
#define PMIX_PMI1_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "base/ranges.h"

/* A line with the longest name, key and value (pmi_kvs.h) and room for words. */
#define PMI1_LINE_BYTES 4096
/* A line that begins so lists the ranks of a group, and may be as long as that. */
#define PMI1_GROUP_LINE       "cmd=barrier_in "
#define PMI1_GROUP_LINE_BYTES (1u << 20)
#define PMI1_TAG_BYTES        64

/* Who takes part in a barrier (PMI 1.2), and its tag, by which several of the same group are told apart. */
enum pmi1_group_kind { PMI1_GROUP_WORLD, PMI1_GROUP_NODE, PMI1_GROUP_RANKS };

struct pmi1_group {
    enum pmi1_group_kind kind;
    struct ranges ranks;      /* of PMI1_GROUP_RANKS */
    char tag[PMI1_TAG_BYTES]; /* "": none, which is the same as 0 */
};

/* Finds "name=" in a line of blank-separated name=value pairs; returns where its value starts, or
 * NULL.  The value ends at the next blank; that of "value", "port", "msg" and "message" at the end of the
 * line, and nothing after them is found. */
const char *pmi1_wire_find(const char *line, const char *name, size_t *ret_bytes);
/* As pmi1_wire_find, copied into text with a NUL.  0 if it is missing or too long. */
int pmi1_wire_text(const char *line, const char *name, char *text, size_t text_bytes);
/* "WORLD", "NODE" or "0,1,5", with or without ":TAG".  NULL, or what is wrong with it as a word for msg=, and then nothing
 * is in ret_group. */
const char *pmi1_wire_group(const char *text, size_t bytes, struct pmi1_group *ret_group);
/* A decimal number that fits; else fallback. */
long pmi1_wire_number(const char *line, const char *name, long fallback);

#endif

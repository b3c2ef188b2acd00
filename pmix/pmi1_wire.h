/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The texts of PMI-1: a line from a client, split into its parts.
 */
#ifndef PMIX_PMI1_WIRE_H
#define PMIX_PMI1_WIRE_H

#include <stddef.h>

/* A line with the longest name, key and value (pmi_kvs.h) and room for words. */
#define PMI1_LINE_BYTES 4096

/* Finds "name=" in a line of blank-separated name=value pairs; returns where its value starts, or
 * NULL.  The value ends at the next blank; that of "value", "port", "msg" and "message" at the end of the
 * line, and nothing after them is found. */
const char *pmi1_wire_find(const char *line, const char *name, size_t *ret_bytes);
/* As pmi1_wire_find, copied into text with a NUL.  0 if it is missing or too long. */
int pmi1_wire_text(const char *line, const char *name, char *text, size_t text_bytes);
/* A decimal number that fits; else fallback. */
long pmi1_wire_number(const char *line, const char *name, long fallback);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The texts of PMI-1: a line from a client, split into its parts, and the puts of a node as sent to
 * the other nodes.
 */
#ifndef PMIX_PMI1_WIRE_H
#define PMIX_PMI1_WIRE_H

#include <stddef.h>

#include "base/buffer.h"
#include "base/wire.h"

/* The limits returned by cmd=maxes, with the final NUL, as in MPICH's hydra. */
#define PMI1_KVSNAME_BYTES 256
#define PMI1_KEY_BYTES     64
#define PMI1_VALUE_BYTES   1024
/* A line with all of these and room for words. */
#define PMI1_LINE_BYTES 4096

/* Finds "name=" in a line of blank-separated name=value pairs; returns where its value starts, or
 * NULL.  The value ends at the next blank; that of "value", "port" and "msg" at the end of the
 * line, and nothing after them is found. */
const char *pmi1_wire_find(const char *line, const char *name, size_t *ret_bytes);
/* As pmi1_wire_find, copied into text with a NUL.  0 if it is missing or too long. */
int pmi1_wire_text(const char *line, const char *name, char *text, size_t text_bytes);
/* A decimal number that fits; else fallback. */
long pmi1_wire_number(const char *line, const char *name, long fallback);

/* One put. */
void pmi1_wire_encode_put(const char *key, const char *value, struct buffer *out);
/* Reads the next put into arrays of PMI1_KEY_BYTES and PMI1_VALUE_BYTES. */
void pmi1_wire_decode_put(struct wire_reader *reader, char *ret_key, char *ret_value);

#endif

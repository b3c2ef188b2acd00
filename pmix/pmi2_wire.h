/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages of PMI-2: six characters with the length of what follows, and "key=value;" pairs, the
 * first of which is cmd.  A ';' in a value is doubled.
 */
#ifndef PMIX_PMI2_WIRE_H
#define PMIX_PMI2_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/error.h"

#define PMI2_LENGTH_BYTES 6
/* With its length; clients of MPICH and Slurm have buffers of this size. */
#define PMI2_MESSAGE_BYTES 65536

struct pmi2_pair {
    const char *key;
    const char *value;
};

/* In their order; the texts are inside the message that was decoded. */
struct pmi2_pairs {
    struct pmi2_pair *items;
    size_t count;
};

/* Bytes of the message that the input starts with, with its length; 0: it is not whole yet; -EPROTO:
 * there is no length, or it is too long. */
ssize_t pmi2_wire_cut(const struct buffer *input, struct error *error);
/* Splits a message that has been cut, and changes it.  -EPROTO if it does not consist of pairs. */
int pmi2_wire_decode(char *message, struct pmi2_pairs *ret_pairs);
void pmi2_wire_fini(struct pmi2_pairs *pairs);
/* The value of the first pair with this key, or NULL. */
const char *pmi2_wire_get(const struct pmi2_pairs *pairs, const char *key);
/* A decimal number that fits; else fallback. */
long pmi2_wire_number(const struct pmi2_pairs *pairs, const char *key, long fallback);

/* Starts a message, adds to it, and writes its length. */
void pmi2_wire_begin(struct buffer *out, const char *command);
void pmi2_wire_add(struct buffer *out, const char *key, const char *value);
void pmi2_wire_add_number(struct buffer *out, const char *key, long value);
void pmi2_wire_end(struct buffer *out);

#endif

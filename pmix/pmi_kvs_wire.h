/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The puts of a node (pmi_kvs.h) as sent to the other nodes, without a count.
 */
#ifndef PMIX_PMI_KVS_WIRE_H
#define PMIX_PMI_KVS_WIRE_H

#include "base/buffer.h"
#include "base/wire.h"
#include "pmix/pmi_kvs.h"

/* Appends one put. */
void pmi_kvs_encode_put(const char *key, const char *value, struct buffer *out);
/* Appends instead of puts that a process of the barrier has ended: one without a key. */
void pmi_kvs_encode_ended(struct buffer *out);
/* Reads the next put into arrays of PMI_KVS_KEY_BYTES and PMI_KVS_VALUE_BYTES. */
void pmi_kvs_decode_put(struct wire_reader *reader, char *ret_key, char *ret_value);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The values that the processes of a job have put by PMI-1 or PMI-2, as one node knows them: those of
 * local processes at once, those of other nodes after a barrier.  Gets are answered from here
 * without a message.  Memory: O(keys of the job), which both standards require.
 */
#ifndef PMIX_PMI_KVS_H
#define PMIX_PMI_KVS_H

#include <stddef.h>

#include "base/buffer.h"

/* The limits given to clients, with the final NUL, as in MPICH's hydra and in Slurm. */
#define PMI_KVS_NAME_BYTES  256
#define PMI_KVS_KEY_BYTES   64
#define PMI_KVS_VALUE_BYTES 1024

struct pmi_kvs;

struct pmi_kvs *pmi_kvs_create(void);
void pmi_kvs_destroy(struct pmi_kvs *kvs);
/* NULL if there is no such value; valid until the next put. */
const char *pmi_kvs_get(const struct pmi_kvs *kvs, const char *key);
/* Puts a value that every node knows by itself. */
void pmi_kvs_preset(struct pmi_kvs *kvs, const char *key, const char *value);
/* Puts a value of this node's, which replaces an earlier one.  -EINVAL: the key is empty or too long;
 * -EMSGSIZE: the value is too long; -ENOSPC: too much has been put since the last barrier. */
int pmi_kvs_put(struct pmi_kvs *kvs, const char *key, const char *value);
/* Moves this node's puts since the last call into out, for the other nodes. */
void pmi_kvs_take_puts(struct pmi_kvs *kvs, struct buffer *out);
/* Takes over the puts of nodes, concatenated in any order.  -EBADMSG if they make no sense. */
int pmi_kvs_merge(struct pmi_kvs *kvs, const void *puts, size_t bytes);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The values that the processes of a job have put by PMI-1 or PMI-2, as one node knows them: those of
 * local processes at once, those of other nodes after a barrier.  Gets are answered from here
 * without a message.  This node's own puts are kept in their order, with who has put each, until all nodes have
 * them: each barrier of a group takes those of its members that it has not had.  Memory: O(keys of the job), which
 * both standards require.
 */
#ifndef PMIX_PMI_KVS_H
#define PMIX_PMI_KVS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/ranges.h"

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
/* Puts a value of a local process (the owner: its index), which replaces an earlier one.  -EINVAL: the key is empty or
 * too long; -EMSGSIZE: the value is too long; -ENOSPC: too much has been put since the last barrier of all. */
int pmi_kvs_put(struct pmi_kvs *kvs, uint32_t owner, const char *key, const char *value);
/* How many puts there have been on this node. */
uint64_t pmi_kvs_position(const struct pmi_kvs *kvs);
/* Appends the puts from a position on, for the other nodes: those of some owners, or all (NULL).  What has been
 * forgotten is left out. */
void pmi_kvs_puts_since(const struct pmi_kvs *kvs, uint64_t position, const struct ranges *owners,
                        struct buffer *out);
/* A barrier of all has ended, which had the puts before this position.  Those of the barrier of all before it are
 * forgotten: that all nodes have taken part in this one says that they had the result of that one. */
void pmi_kvs_settle(struct pmi_kvs *kvs, uint64_t position);
/* Takes over the puts of nodes, concatenated in any order.  -EBADMSG if they make no sense; -ESRCH if a node says that a
 * process has ended (pmi_kvs_encode_ended). */
int pmi_kvs_merge(struct pmi_kvs *kvs, const void *puts, size_t bytes);

#endif

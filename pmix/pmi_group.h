/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the nodes of a group's members contribute to its construction: each a number for the group's context, and the data
 * of its members, which only libpmix reads.  The result of the operation has all of them, concatenated in the same order on
 * every node.
 */
#ifndef PMIX_PMI_GROUP_H
#define PMIX_PMI_GROUP_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* number: not 0. */
void pmi_group_encode(uint64_t number, const void *data, size_t bytes, struct buffer *out);
/* Of a result: the number of the first contribution, 0 if there is none, and all data, appended.  -EBADMSG. */
int pmi_group_decode(const void *result, size_t result_bytes, uint64_t *ret_number,
                     struct buffer *ret_data);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where each process goes, from text: rank files, as Open MPI has them, and lists of nodes.
 */
#ifndef ALLOC_PLACEMENT_LIST_H
#define ALLOC_PLACEMENT_LIST_H

#include "alloc/allocation.h"
#include "alloc/placement_rule.h"

/* Lines "rank 3=n1 slot=0-2,5" in any order, each rank from 0 on once; nodes by name or as +n2, the
 * third of the allocation; slots are cores of the node, and may be left out, at all lines or at
 * none.  # comments.  Errors name file, line and what is wrong. */
int placement_list_parse_ranks(const char *file, const char *text,
                               const struct allocation *allocation,
                               struct placement_list **ret_list, struct error *error);
/* The first word of each line is the node of the next process; what follows it does not count. */
int placement_list_parse_sequence(const char *file, const char *text,
                                  const struct allocation *allocation,
                                  struct placement_list **ret_list, struct error *error);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the root says to a query of the fabric (pmix/pmi_fabric.h), from its model of it.
 *
 * Cost: O(vertices) and, for rows of costs, as fabric_model_rows.
 */
#ifndef LAUNCH_RANK_RANK_FABRIC_H
#define LAUNCH_RANK_RANK_FABRIC_H

#include "fabric/topology/fabric_model.h"
#include "pmix/pmi_fabric.h"

/* Appends the answer.  model: NULL: no fabric is described: -ENOTSUP.  -ENOENT: there is no such plane, node or NIC in
 * it; -EINVAL: the plane has no device of that number. */
int rank_fabric_answer(const struct fabric_model *model, const struct pmi_fabric_query *query,
                       struct buffer *answer);

#endif

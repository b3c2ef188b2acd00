/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random cases of who goes where: small allocations on machines that are regular, sparse, uneven,
 * restricted or of several kinds, and all policies, for one or more applications.
 */
#ifndef TEST_SUPPORT_PLACE_CASE_H
#define TEST_SUPPORT_PLACE_CASE_H

#include "alloc/allocation.h"
#include "alloc/placement.h"
#include "base/random.h"

struct place_case {
    struct allocation allocation;
    struct placement placement;
};

void place_case_make(struct place_case *ret_case, struct random_state *random);
void place_case_fini(struct place_case *c);
/* As JSON, on one line, for test/tool/placement_reference.py. */
void place_case_print(const struct place_case *c, struct buffer *out);

#endif

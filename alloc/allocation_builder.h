/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An allocation in the making: names may repeat and add up, and nothing is given out before all is
 * well.  For the parsers of host files, --host and the schedulers' forms.
 */
#ifndef ALLOC_ALLOCATION_BUILDER_H
#define ALLOC_ALLOCATION_BUILDER_H

#include <stdint.h>

#include "alloc/allocation.h"
#include "alloc/name_index.h"

struct allocation_builder {
    struct allocation made;
    struct name_index *index;
    struct slots_raise *raises; /* of names that came again */
    uint32_t raises_count;
    uint32_t raises_capacity;
    uint64_t added; /* names that were given, also again */
};

/* Begins with what start holds. */
void allocation_builder_init(struct allocation_builder *builder, const struct allocation *start);
void allocation_builder_fini(struct allocation_builder *builder);
/* Adds the names of a run, with slots each; -E2BIG if there is no room for them. */
int allocation_builder_add(struct allocation_builder *builder, const struct host_run *run,
                           uint32_t slots, struct error *error);
/* Replaces target by what was made; origin is added to target's.  Fails, with target unchanged, if
 * no name was added, no node has a slot, or one has too many. */
int allocation_builder_finish(struct allocation_builder *builder, struct allocation *target,
                              const char *origin, struct error *error);

#endif

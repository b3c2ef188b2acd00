/* SPDX-License-Identifier: BSD-3-Clause */
/* Valid frames of every type, as place 1 of the fuzzed overlay may get them. */
#ifndef TEST_FUZZ_FUZZ_OVERLAY_H
#define TEST_FUZZ_FUZZ_OVERLAY_H

#include <stdbool.h>

#include "base/frame.h"
#include "overlay/endpoint_types.h"

/* Place 1 of seven of radix 2: 0 (1 (2 3) 4 (5 6)). */
#define FUZZ_PLACES 7
#define FUZZ_RADIX  2

/* Of the operations that are open there; their sets are 1-3. */
struct operation_name fuzz_overlay_key(uint64_t set_id, enum endpoint_target target);

/* The `number`th frame; false when there are no more. */
bool fuzz_overlay_frame(unsigned number, struct frame *ret_frame);

#endif

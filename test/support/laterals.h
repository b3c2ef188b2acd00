/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What may be left of lateral links when all has been at rest for a while: those that are kept for
 * the next operation of a series.  Each is known at both its ends, and its lower end, who alone
 * closes it, names owners whose series live at both.
 */
#ifndef TEST_SUPPORT_LATERALS_H
#define TEST_SUPPORT_LATERALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "overlay/endpoint_types.h"

/* Of the place so numbered, 0 and false if it does not live. */
struct laterals_world {
    uint32_t places;
    uint32_t (*laterals)(const void *context, uint32_t place,
                         struct endpoint_lateral ret_laterals[ENDPOINT_LATERALS_MAX]);
    bool (*knows_owner)(const void *context, uint32_t place, uint32_t owner);
    const void *context;
};

/* True, or what is wrong. */
bool laterals_are_kept(const struct laterals_world *world, char *text, size_t text_bytes);

#endif

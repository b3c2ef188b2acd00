/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/support/laterals.h"

#include <stdio.h>

static bool is_known_at(const struct laterals_world *world, uint32_t place, uint32_t other)
{
    struct endpoint_lateral laterals[ENDPOINT_LATERALS_MAX];
    uint32_t count = world->laterals(world->context, place, laterals);

    for (uint32_t i = 0; i < count; i++) {
        if (laterals[i].place == other)
            return true;
    }
    return false;
}

static bool is_kept(const struct laterals_world *world, uint32_t place,
                    const struct endpoint_lateral *lateral, char *text, size_t text_bytes)
{
    if (!is_known_at(world, lateral->place, place)) {
        (void)snprintf(text, text_bytes, "%u has a lateral link to %u, who has none", place,
                       lateral->place);
        return false;
    }
    if (place < lateral->place && lateral->owners_count == 0) {
        (void)snprintf(text, text_bytes, "%u has a lateral link to %u at rest, for no series",
                       place, lateral->place);
        return false;
    }
    for (uint32_t i = 0; i < lateral->owners_count; i++) {
        uint32_t owner = lateral->owners[i];

        if (!world->knows_owner(world->context, place, owner) ||
            !world->knows_owner(world->context, lateral->place, owner)) {
            (void)snprintf(text, text_bytes,
                           "%u keeps a lateral link to %u for %u, who has no series at both", place,
                           lateral->place, owner);
            return false;
        }
    }
    return true;
}

bool laterals_are_kept(const struct laterals_world *world, char *text, size_t text_bytes)
{
    struct endpoint_lateral laterals[ENDPOINT_LATERALS_MAX];

    for (uint32_t place = 0; place < world->places; place++) {
        uint32_t count = world->laterals(world->context, place, laterals);

        for (uint32_t i = 0; i < count; i++) {
            if (!is_kept(world, place, &laterals[i], text, text_bytes))
                return false;
        }
    }
    return true;
}

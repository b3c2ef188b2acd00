/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long a node has taken for each phase of a job (launch/proto/profile.h), by its own clock.  Only the first job of an
 * instance has had to wait for the daemon.
 */
#include "config.h"

#include <stdlib.h>

#include "launch/job/instance_state.h"
#include "launch/proto/profile.h"

/* Of what has not been reached there is no time. */
static void add(struct profile *profile, enum profile_phase phase, uint32_t place, uint64_t from_ns,
                uint64_t to_ns)
{
    if (from_ns > 0 && to_ns >= from_ns)
        profile_add(profile, phase, place, to_ns - from_ns);
}

void job_profile_make(const struct job_part *part, struct buffer *out)
{
    const struct instance *instance = part->instance;
    struct profile *profile = memory_allocate_zeroed(sizeof(*profile));
    uint32_t place = instance->place;

    if (part->local.number == 1) {
        add(profile, PROFILE_JOIN, place, instance->begun_ns, instance->joined_ns);
        add(profile, PROFILE_WAIT, place, instance->joined_ns, part->launched_ns);
    }
    add(profile, PROFILE_START, place, part->launched_ns, part->started_ns);
    add(profile, PROFILE_RUN, place, part->started_ns, part->gone_ns);
    add(profile, PROFILE_DRAIN, place, part->gone_ns, instance->now_ns);
    profile_encode(profile, out);
    free(profile);
}

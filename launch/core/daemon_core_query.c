/* SPDX-License-Identifier: BSD-3-Clause */
/* What a core says of itself. */
#include "config.h"

#include "launch/core/daemon_core_internal.h"

const struct instance *daemon_core_instance(const struct daemon_core *core)
{
    return core->instance;
}

bool daemon_core_has_joined(const struct daemon_core *core)
{
    return core->has_joined;
}

bool daemon_core_is_ending(const struct daemon_core *core)
{
    return core->phase >= DAEMON_ENDING;
}

bool daemon_core_has_failed(const struct daemon_core *core)
{
    return core->has_failed;
}

uint32_t daemon_core_kept_requests(const struct daemon_core *core)
{
    return core->requests != NULL ? (uint32_t)hash_map_count(core->requests) : 0;
}

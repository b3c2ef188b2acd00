/* SPDX-License-Identifier: BSD-3-Clause */
/* What the user is to read: the root has it printed, the other nodes send it there. */
#include "config.h"

#include <assert.h>

#include "launch/core/daemon_core_internal.h"
#include "launch/job/clients.h"
#include "launch/proto/job_wire.h"

void daemon_core_text(struct daemon_core *core, uint32_t job, uint8_t level, const char *text)
{
    struct buffer payload = {0};

    if (daemon_core_is_root(core)) {
        clients_text(core->clients, job, level, text);
    } else if (core->has_joined && !daemon_core_is_ending(core)) {
        job_text_encode(job, level, text, &payload);
        daemon_core_send(core, 0, FRAME_BULK, message_from_buffer(&payload));
        buffer_fini(&payload);
    } else {
        core->ops->print(core->context, text);
    }
}

void daemon_core_fail(struct daemon_core *core, const char *why)
{
    assert(daemon_core_is_root(core));
    clients_failed(core->clients, why);
}

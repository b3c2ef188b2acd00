/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages to the user about nodes that do not respond: that a node is silent, for how long, and the
 * state of its daemon if that is known (if it runs on this machine).
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/time.h"
#include "launch/core/daemon_core_internal.h"

static const char *process_state(uint8_t state)
{
    switch (state) {
    case 'T':
        return " (stopped)";
    case 't':
        return " (stopped by a debugger)";
    case 'D':
        return " (waiting in the kernel)";
    case 'R':
        return " (waiting for a CPU)";
    default:
        return "";
    }
}

static char *own_line(uint64_t silent_ns)
{
    return memory_printf(
        "banyan's root was itself stopped or got no CPU for %.1f s; the job goes on",
        (double)silent_ns / (double)NS_PER_S);
}

static char *line_of(const struct daemon_core *core, uint32_t place, uint64_t silent_ns)
{
    double patience_s = core->spec->lease_ms / 2000.0;
    char node[HOST_NAME_BYTES_MAX + 1];

    if (daemon_core_shape_name(core, place, node)[0] == 0)
        snprintf(node, sizeof(node), "node %u", place);
    if (silent_ns == 0)
        return memory_printf("%s is responding again", node);
    return memory_printf(
        "%s has not responded for %.0f s%s; it will be treated as lost after %.0f s", node,
        (double)silent_ns / (double)NS_PER_S,
        process_state(
            core->ops->starter->state(core->context, daemon_core_shape_tree(core, place))),
        patience_s);
}

void daemon_core_silence(struct daemon_core *core, uint32_t place, uint64_t silent_ns)
{
    char *text;

    if (daemon_core_is_ending(core))
        return;
    text = place == core->place ? own_line(silent_ns) : line_of(core, place, silent_ns);
    daemon_core_text(core, 0, silent_ns == 0 ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING, text);
    free(text);
}

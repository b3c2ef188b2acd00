/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/placement_machines.h"

#include <errno.h>

#include "alloc/placement_rule.h"

#define ALLOWED_RANGES_MAX TOPOLOGY_THREADS_MAX

void placement_machines_encode(const struct placement_machines *machines, struct buffer *out)
{
    wire_put_varint(out, machines->classes_count);
    for (uint32_t i = 0; i < machines->classes_count; i++)
        topology_encode(&machines->classes[i], out);
    wire_put_varint(out, machines->kinds_count);
    for (uint32_t i = 0; i < machines->kinds_count; i++) {
        wire_put_varint(out, machines->kinds[i].class);
        ranges_encode(&machines->kinds[i].allowed, out);
        ranges_encode(&machines->kinds[i].taken, out);
        ranges_encode(&machines->kinds[i].nodes, out);
    }
}

static void get_class(struct wire_reader *reader, struct placement_machines *machines)
{
    struct topology topology;

    if (topology_decode(&topology, reader) < 0) {
        wire_fail(reader);
        return;
    }
    machines->classes = memory_resize(machines->classes,
                                      (machines->classes_count + 1) * sizeof(*machines->classes));
    machines->classes[machines->classes_count++] = topology;
}

static void get_kind(struct wire_reader *reader, struct placement_machines *machines)
{
    uint64_t class = wire_get_varint_max(reader, PLACEMENT_KINDS_MAX);
    struct placement_kind kind = {.class = (uint32_t) class};

    ranges_decode(reader, ALLOWED_RANGES_MAX, &kind.allowed);
    ranges_decode(reader, ALLOWED_RANGES_MAX, &kind.taken);
    ranges_decode(reader, PLACEMENT_NODE_RANGES_MAX, &kind.nodes);
    if (class >= machines->classes_count || wire_status(reader) < 0 ||
        topology_restrict(&machines->classes[class], &kind.allowed, &kind.view) < 0) {
        wire_fail(reader);
        ranges_fini(&kind.allowed);
        ranges_fini(&kind.taken);
        ranges_fini(&kind.nodes);
        return;
    }
    machines->kinds =
        memory_resize(machines->kinds, (machines->kinds_count + 1) * sizeof(*machines->kinds));
    machines->kinds[machines->kinds_count++] = kind;
}

int placement_machines_decode(struct placement_machines *ret_machines, struct wire_reader *reader)
{
    uint64_t count = wire_get_varint_max(reader, PLACEMENT_KINDS_MAX);

    for (uint64_t i = 0; i < count && wire_status(reader) == 0; i++)
        get_class(reader, ret_machines);
    count = wire_get_varint_max(reader, PLACEMENT_KINDS_MAX);
    for (uint64_t i = 0; i < count && wire_status(reader) == 0; i++)
        get_kind(reader, ret_machines);
    if (wire_status(reader) == 0)
        return 0;
    placement_machines_fini(ret_machines);
    return -EBADMSG;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "alloc/allocation.h"

#define NAMES_TEXT_BYTES_MAX (256u * 1024 * 1024)

void allocation_encode(const struct allocation *allocation, struct buffer *out)
{
    struct buffer names = {0};

    hostlist_print(allocation->names, &names);
    wire_put_bytes(out, names.data, names.length_bytes);
    buffer_fini(&names);
    wire_put_varint(out, allocation->runs_count);
    for (uint32_t i = 0; i < allocation->runs_count; i++) {
        wire_put_varint(out, allocation->runs[i].nodes);
        wire_put_varint(out, allocation->runs[i].slots);
    }
    wire_put_varint(out, node_order_count(allocation->order));
    node_order_encode(allocation->order, out);
}

/* The runs must cover the names exactly; neighbours that do not differ would be a second encoding
 * of the same slots. */
static void runs_decode(struct allocation *allocation, struct wire_reader *reader)
{
    uint32_t left = hostlist_count(allocation->names);
    uint32_t count = (uint32_t)wire_get_varint_max(reader, wire_left(reader) / 2);

    allocation->runs = memory_allocate(count * sizeof(*allocation->runs));
    allocation->runs_capacity = count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t nodes = (uint32_t)wire_get_varint_max(reader, left);
        uint32_t slots = (uint32_t)wire_get_varint_max(reader, ALLOCATION_SLOTS_MAX);

        if (nodes == 0 || (i > 0 && allocation->runs[i - 1].slots == slots)) {
            wire_fail(reader);
            return;
        }
        allocation->runs[i] = (struct slots_run){.nodes = nodes, .slots = slots};
        allocation->runs_count = i + 1;
        left -= nodes;
    }
    if (left > 0)
        wire_fail(reader);
}

/* Nodes that have been added come after those that the order has. */
static void order_decode(struct allocation *allocation, struct wire_reader *reader)
{
    uint32_t count = (uint32_t)wire_get_varint_max(reader, hostlist_count(allocation->names));

    if (node_order_decode(reader, 0, count, 1, &allocation->order) < 0 ||
        node_order_count(allocation->order) != count)
        wire_fail(reader);
}

int allocation_decode(struct allocation *ret_allocation, struct wire_reader *reader)
{
    struct wire_bytes names = wire_get_bytes(reader, NAMES_TEXT_BYTES_MAX);
    size_t offset;

    allocation_init(ret_allocation);
    if (wire_status(reader) < 0 ||
        hostlist_parse_bytes(ret_allocation->names, (const char *)names.data, names.length_bytes,
                             &offset, NULL) < 0)
        wire_fail(reader);
    else
        runs_decode(ret_allocation, reader);
    if (wire_status(reader) == 0)
        order_decode(ret_allocation, reader);
    if (wire_status(reader) == 0)
        return 0;
    allocation_fini(ret_allocation);
    allocation_init(ret_allocation);
    return -EBADMSG;
}

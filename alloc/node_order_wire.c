/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "alloc/node_order_internal.h"

void node_order_encode(const struct node_order *order, struct buffer *out)
{
    wire_put_varint(out, order != NULL ? order->nodes.count : 0);
    for (uint32_t i = 0; order != NULL && i < order->nodes.count; i++) {
        wire_put_varint(out, order->nodes.items[i].to);
        wire_put_varint(out, order->nodes.items[i].count);
    }
}

static void stretches_decode(struct wire_reader *reader, uint32_t count, struct node_order *order)
{
    uint32_t left = order->count;

    for (uint32_t i = 0; i < count; i++) {
        struct stretch stretch = {.from = order->first + order->count - left};

        stretch.to = (uint32_t)wire_get_varint_max(reader, NODE_ORDER_NODES_MAX - 1);
        stretch.count = (uint32_t)wire_get_varint_max(reader, left);
        if (stretch.count == 0) {
            wire_fail(reader);
            return;
        }
        node_order_add(&order->nodes, stretch);
        left -= stretch.count;
    }
    if (left > 0 || order->nodes.count != count)
        wire_fail(reader); /* neighbours that are one are a second encoding of the same */
}

int node_order_decode(struct wire_reader *reader, uint32_t first, uint32_t count, int is_whole,
                      struct node_order **ret_order)
{
    uint32_t stretches = (uint32_t)wire_get_varint_max(reader, wire_left(reader) / 2);
    struct node_order *order;

    if (wire_status(reader) < 0)
        return -EBADMSG;
    *ret_order = NULL;
    if (stretches == 0)
        return 0;
    order = memory_allocate_zeroed(sizeof(*order));
    *order = (struct node_order){.first = first, .count = count, .is_whole = is_whole != 0};
    stretches_decode(reader, stretches, order);
    if (wire_status(reader) == 0 && node_order_index(order) < 0)
        wire_fail(reader);
    if (wire_status(reader) == 0)
        *ret_order = order;
    else
        node_order_destroy(order);
    return wire_status(reader) < 0 ? -EBADMSG : 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "alloc/allocation.h"
#include "base/memory.h"
#include "launch/proto/node_list.h"
#include "overlay/tree.h"

void node_list_request_encode(const struct node_list_request *request, struct buffer *out)
{
    assert(request->order < NODE_LIST_ORDER_COUNT);
    assert(request->when < NODE_LIST_WHEN_COUNT);
    wire_put_u8(out, request->order);
    wire_put_u8(out, request->when);
    wire_put_string(out, request->names);
    if (request->order == NODE_LIST_ADD)
        allocation_encode(&request->nodes, out);
}

int node_list_request_decode(struct node_list_request *ret_request, struct wire_reader *reader)
{
    struct node_list_request request = {.order = wire_get_u8(reader)};

    request.when = wire_get_u8(reader);
    if (request.order >= NODE_LIST_ORDER_COUNT || request.when >= NODE_LIST_WHEN_COUNT)
        wire_fail(reader);
    request.names = wire_get_string(reader, CONTROL_QUESTION_BYTES_MAX);
    if (wire_status(reader) == 0 && request.order == NODE_LIST_ADD &&
        (allocation_decode(&request.nodes, reader) < 0 || allocation_nodes(&request.nodes) == 0))
        wire_fail(reader);
    if (wire_finish(reader) < 0) {
        node_list_request_fini(&request);
        return -EBADMSG;
    }
    *ret_request = request;
    return 0;
}

void node_list_encode(const struct node_list *list, struct buffer *out)
{
    struct buffer names = {0};

    hostlist_print(list->names, &names);
    wire_put_string(out, list->why);
    wire_put_u32(out, list->version);
    wire_put_varint(out, list->radix);
    wire_put_varint(out, list->places);
    ranges_encode(&list->out, out);
    wire_put_bytes(out, names.data, names.length_bytes);
    buffer_fini(&names);
    wire_put_varint(out, list->groups_count);
    for (uint32_t i = 0; i < list->groups_count; i++) {
        const struct node_list_group *group = &list->groups[i];

        wire_put_varint(out, group->nodes);
        wire_put_u8(out, group->state);
        wire_put_varint(out, group->slots);
        wire_put_varint(out, group->used);
        ranges_encode(&group->jobs, out);
    }
}

/* Each group has five bytes at least. */
static void groups_decode(struct node_list *list, struct wire_reader *reader)
{
    uint32_t left = hostlist_count(list->names);
    uint32_t count = (uint32_t)wire_get_varint_max(reader, wire_left(reader) / 5);

    for (uint32_t i = 0; i < count && wire_status(reader) == 0; i++) {
        uint32_t nodes = (uint32_t)wire_get_varint_max(reader, left);
        struct node_list_group *group;

        if (nodes == 0) {
            wire_fail(reader);
            return;
        }
        group = node_list_add(list, nodes);
        group->state = wire_get_u8(reader);
        if (group->state >= NODE_LIST_STATE_COUNT)
            wire_fail(reader);
        group->slots = (uint32_t)wire_get_varint_max(reader, ALLOCATION_SLOTS_MAX);
        group->used = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
        ranges_decode(reader, ALLOCATION_SLOTS_MAX, &group->jobs);
        left -= nodes;
    }
    if (left > 0)
        wire_fail(reader);
}

int node_list_decode(struct node_list *ret_list, struct wire_reader *reader)
{
    struct wire_bytes names;
    size_t offset;

    node_list_init(ret_list);
    wire_get_string_into(reader, ret_list->why, sizeof(ret_list->why));
    ret_list->version = wire_get_u32(reader);
    ret_list->radix = (uint32_t)wire_get_varint_max(reader, TREE_RADIX_MAX);
    ret_list->places = (uint32_t)wire_get_varint_max(reader, TREE_PLACES_MAX);
    ranges_decode(reader, TREE_PLACES_MAX, &ret_list->out);
    names = wire_get_bytes(reader, CONTROL_ANSWER_BYTES_MAX);
    if (wire_status(reader) < 0 ||
        (names.length_bytes > 0 && hostlist_parse_bytes(ret_list->names, (const char *)names.data,
                                                        names.length_bytes, &offset, NULL) < 0))
        wire_fail(reader);
    else
        groups_decode(ret_list, reader);
    if (wire_finish(reader) == 0)
        return 0;
    node_list_fini(ret_list);
    return -EBADMSG;
}

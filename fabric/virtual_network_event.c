/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The heap of events, and the memory of events: blocks that are freed only at the end, since a
 * million places have a few million short-lived events at a time.
 */
#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/message.h"
#include "fabric/virtual_network_internal.h"

#define BLOCK_EVENTS 1000

struct virtual_network_event_block {
    struct virtual_network_event_block *next;
    struct virtual_network_event events[BLOCK_EVENTS];
};

/* ---- events ---- */

static void add_block(struct virtual_network *net)
{
    struct virtual_network_event_block *block = memory_allocate_zeroed(sizeof *block);

    block->next = net->blocks;
    net->blocks = block;
    for (uint32_t i = BLOCK_EVENTS; i-- > 0;) {
        block->events[i].next = net->spare;
        net->spare = &block->events[i];
    }
}

struct virtual_network_event *virtual_network_event_create(
    struct virtual_network *net, const struct virtual_network_event *value)
{
    struct virtual_network_event *event;

    if (net->spare == NULL)
        add_block(net);
    event = net->spare;
    net->spare = event->next;
    *event = *value;
    event->next = NULL;
    if (event->link != NULL)
        event->link->references++;
    return event;
}

void virtual_network_link_release(struct virtual_network_link *link)
{
    assert(link->references > 0);
    if (--link->references > 0)
        return;
    free(link->flows);
    free(link);
}

static void event_fini(struct virtual_network_event *event)
{
    if (event->kind == EVENT_FRAME || event->kind == EVENT_CHUNK)
        message_release(event->frame.payload);
    if (event->link != NULL)
        virtual_network_link_release(event->link);
}

void virtual_network_event_free(struct virtual_network *net, struct virtual_network_event *event)
{
    if (event->kind == EVENT_CORE && event->pending != NULL)
        virtual_network_event_free(net, event->pending);
    event_fini(event);
    event->next = net->spare;
    net->spare = event;
}

/* ---- the heap: four children each, since most of its time is memory access ---- */

static bool is_before(const struct virtual_network_heap_item *a,
                      const struct virtual_network_heap_item *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->order < b->order;
}

void virtual_network_event_push(struct virtual_network *net, struct virtual_network_event *event)
{
    struct virtual_network_heap_item item = {
        .time_ns = event->time_ns, .order = net->order++, .event = event};
    size_t at = net->heap_count++;

    assert(event->time_ns >= net->now_ns);
    if (at == net->heap_capacity) {
        net->heap_capacity = net->heap_capacity > 0 ? 2 * net->heap_capacity : 256;
        net->heap = memory_resize(net->heap, net->heap_capacity * sizeof *net->heap);
    }
    while (at > 0 && is_before(&item, &net->heap[(at - 1) / 4])) {
        net->heap[at] = net->heap[(at - 1) / 4];
        at = (at - 1) / 4;
    }
    net->heap[at] = item;
}

static size_t first_child(const struct virtual_network *net, size_t at)
{
    size_t best = 4 * at + 1;
    size_t end = best + 4 < net->heap_count ? best + 4 : net->heap_count;

    for (size_t child = best + 1; child < end; child++)
        if (is_before(&net->heap[child], &net->heap[best]))
            best = child;
    return best;
}

struct virtual_network_event *virtual_network_event_pop(struct virtual_network *net)
{
    struct virtual_network_event *event = net->heap[0].event;
    struct virtual_network_heap_item last = net->heap[--net->heap_count];
    size_t at = 0;

    while (4 * at + 1 < net->heap_count) {
        size_t child = first_child(net, at);

        if (!is_before(&net->heap[child], &last))
            break;
        net->heap[at] = net->heap[child];
        at = child;
    }
    net->heap[at] = last;
    return event;
}

void virtual_network_schedule(struct virtual_network *net,
                              const struct virtual_network_event *value)
{
    virtual_network_event_push(net, virtual_network_event_create(net, value));
}

/* ---- queues ---- */

void virtual_network_queue_append(struct virtual_network_queue *queue,
                                  struct virtual_network_event *event)
{
    event->next = NULL;
    if (queue->first == NULL)
        queue->first = event;
    else
        queue->last->next = event;
    queue->last = event;
}

struct virtual_network_event *virtual_network_queue_pop(struct virtual_network_queue *queue)
{
    struct virtual_network_event *event = queue->first;

    if (event != NULL)
        queue->first = event->next;
    return event;
}

void virtual_network_events_fini(struct virtual_network *net)
{
    for (size_t i = 0; i < net->heap_count; i++)
        virtual_network_event_free(net, net->heap[i].event);
    free(net->heap);
    while (net->blocks != NULL) {
        struct virtual_network_event_block *block = net->blocks;

        net->blocks = block->next;
        free(block);
    }
}

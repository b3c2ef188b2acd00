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
#include "fabric/sim_internal.h"

#define BLOCK_EVENTS 1000

struct sim_event_block {
    struct sim_event_block *next;
    struct sim_event events[BLOCK_EVENTS];
};

/* ---- events ---- */

static void add_block(struct sim *sim)
{
    struct sim_event_block *block = memory_allocate_zeroed(sizeof *block);

    block->next = sim->blocks;
    sim->blocks = block;
    for (uint32_t i = BLOCK_EVENTS; i-- > 0;) {
        block->events[i].next = sim->spare;
        sim->spare = &block->events[i];
    }
}

struct sim_event *sim_event_create(struct sim *sim, const struct sim_event *value)
{
    struct sim_event *event;

    if (sim->spare == NULL)
        add_block(sim);
    event = sim->spare;
    sim->spare = event->next;
    *event = *value;
    event->next = NULL;
    if (event->link != NULL)
        event->link->references++;
    return event;
}

void sim_link_release(struct sim_link *link)
{
    assert(link->references > 0);
    if (--link->references > 0)
        return;
    free(link->flows);
    free(link);
}

static void event_fini(struct sim_event *event)
{
    if (event->kind == EVENT_FRAME || event->kind == EVENT_CHUNK)
        message_release(event->frame.payload);
    if (event->link != NULL)
        sim_link_release(event->link);
}

void sim_event_free(struct sim *sim, struct sim_event *event)
{
    if (event->kind == EVENT_CORE && event->pending != NULL)
        sim_event_free(sim, event->pending);
    event_fini(event);
    event->next = sim->spare;
    sim->spare = event;
}

/* ---- the heap: four children each, since most of its time is memory access ---- */

static bool is_before(const struct sim_heap_item *a, const struct sim_heap_item *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->order < b->order;
}

void sim_event_push(struct sim *sim, struct sim_event *event)
{
    struct sim_heap_item item = {.time_ns = event->time_ns, .order = sim->order++, .event = event};
    size_t at = sim->heap_count++;

    assert(event->time_ns >= sim->now_ns);
    if (at == sim->heap_capacity) {
        sim->heap_capacity = sim->heap_capacity > 0 ? 2 * sim->heap_capacity : 256;
        sim->heap = memory_resize(sim->heap, sim->heap_capacity * sizeof *sim->heap);
    }
    while (at > 0 && is_before(&item, &sim->heap[(at - 1) / 4])) {
        sim->heap[at] = sim->heap[(at - 1) / 4];
        at = (at - 1) / 4;
    }
    sim->heap[at] = item;
}

static size_t first_child(const struct sim *sim, size_t at)
{
    size_t best = 4 * at + 1;
    size_t end = best + 4 < sim->heap_count ? best + 4 : sim->heap_count;

    for (size_t child = best + 1; child < end; child++)
        if (is_before(&sim->heap[child], &sim->heap[best]))
            best = child;
    return best;
}

struct sim_event *sim_event_pop(struct sim *sim)
{
    struct sim_event *event = sim->heap[0].event;
    struct sim_heap_item last = sim->heap[--sim->heap_count];
    size_t at = 0;

    while (4 * at + 1 < sim->heap_count) {
        size_t child = first_child(sim, at);

        if (!is_before(&sim->heap[child], &last))
            break;
        sim->heap[at] = sim->heap[child];
        at = child;
    }
    sim->heap[at] = last;
    return event;
}

void sim_schedule(struct sim *sim, const struct sim_event *value)
{
    sim_event_push(sim, sim_event_create(sim, value));
}

/* ---- queues ---- */

void sim_queue_append(struct sim_queue *queue, struct sim_event *event)
{
    event->next = NULL;
    if (queue->first == NULL)
        queue->first = event;
    else
        queue->last->next = event;
    queue->last = event;
}

struct sim_event *sim_queue_pop(struct sim_queue *queue)
{
    struct sim_event *event = queue->first;

    if (event != NULL)
        queue->first = event->next;
    return event;
}

void sim_events_fini(struct sim *sim)
{
    for (size_t i = 0; i < sim->heap_count; i++)
        sim_event_free(sim, sim->heap[i].event);
    free(sim->heap);
    while (sim->blocks != NULL) {
        struct sim_event_block *block = sim->blocks;

        sim->blocks = block->next;
        free(block);
    }
}

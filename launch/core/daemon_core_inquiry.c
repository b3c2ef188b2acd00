/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/core/daemon_core_inquiry.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/time.h"
#include "base/wire.h"
#include "launch/job/clients.h"
#include "launch/proto/job_wire.h"

#define INQUIRIES_MAX 16u /* of a kind at a time, at a place */

static struct list *list_of(struct daemon_core *core, const struct inquiry_kind *kind)
{
    return (struct list *)(void *)((char *)core + kind->list);
}

static void part_free(struct ranges *part)
{
    ranges_fini(part);
    free(part);
}

static void inquiry_free(struct core_inquiry *inquiry)
{
    struct ranges *part;
    size_t cursor = 0;

    assert(list_is_linked(&inquiry->node));
    list_remove(&inquiry->node);
    while ((part = hash_map_next(inquiry->asked, &cursor)) != NULL)
        part_free(part);
    hash_map_destroy(inquiry->asked);
    inquiry->kind->fini(inquiry);
    free(inquiry);
}

static void inquiry_answer(struct daemon_core *core, struct core_inquiry *inquiry)
{
    struct buffer data = {0};
    struct ranges *part;
    size_t cursor = 0;

    while ((part = hash_map_next(inquiry->asked, &cursor)) != NULL)
        ranges_add_all(inquiry->kind->silent(inquiry), part);
    inquiry->kind->encode(core, inquiry, &data);
    if (inquiry->is_client)
        daemon_core_request_answer(core, inquiry->asker, inquiry->request, 0, &data);
    else
        core->tree->reply(core->tree_context, inquiry->asker, inquiry->request,
                          job_reply_message(0, data.data, data.length_bytes));
    buffer_fini(&data);
    inquiry_free(inquiry);
}

/* ---- others ---- */

/* Takes the part. */
static void ask_part(struct daemon_core *core, struct core_inquiry *inquiry, struct ranges *part)
{
    uint32_t patience_ms = inquiry->patience_ms - inquiry->patience_ms / 8;
    uint32_t id;

    assert(!ranges_is_empty(part) && !ranges_contains(part, core->place));
    id = core->tree->request(core->tree_context, ranges_min(part),
                             inquiry->kind->request(inquiry, part, patience_ms));
    (void)hash_map_put_u64(inquiry->asked, id, part);
}

/* The first ones of a set, moved; the caller's. */
static struct ranges *take_part(struct ranges *places, uint64_t count)
{
    struct ranges *part = memory_allocate_zeroed(sizeof(*part));

    while (count > 0) {
        struct range range = places->items[0];

        if (range.last - range.first >= count)
            range.last = range.first + (uint32_t)count - 1;
        count -= (uint64_t)range.last - range.first + 1;
        ranges_add(part, range.first, range.last);
        ranges_remove(places, range.first, range.last);
    }
    return part;
}

static void hand_on(struct daemon_core *core, struct core_inquiry *inquiry, struct ranges *places)
{
    uint64_t left = ranges_count(places);

    for (uint32_t parts = core->spec->radix; left > 0; parts--) {
        uint64_t count = (left + parts - 1) / parts;

        assert(parts > 0);
        ask_part(core, inquiry, take_part(places, count));
        left -= count;
    }
}

/* If the first place of a part is lost the next one is asked. */
static void take_reply(struct daemon_core *core, struct core_inquiry *inquiry, struct ranges *part,
                       const struct daemon_event *event)
{
    const struct message *message = event->message;
    struct wire_reader reader;
    int rc;

    wire_reader_init(&reader, message != NULL ? message->data : NULL,
                     message != NULL ? message->length_bytes : 0);
    rc = job_reply_decode(event->status, &reader);
    if (rc == -EHOSTDOWN) {
        ranges_remove(part, ranges_min(part), ranges_min(part));
        if (!ranges_is_empty(part)) {
            ask_part(core, inquiry, part);
            return;
        }
    } else if (rc < 0 || inquiry->kind->merge(inquiry, &reader) < 0) {
        ranges_add_all(inquiry->kind->silent(inquiry), part);
    }
    part_free(part);
}

/* ---- the course of an inquiry ---- */

static void set_timer(struct daemon_core *core, const struct inquiry_kind *kind)
{
    uint64_t next_ns = UINT64_MAX;
    struct list_link *node, *spare;

    list_for_each(list_of(core, kind), node, spare)
    {
        const struct core_inquiry *inquiry = list_entry(node, struct core_inquiry, node);

        next_ns = inquiry->due_ns < next_ns ? inquiry->due_ns : next_ns;
        next_ns = inquiry->wake_ns < next_ns ? inquiry->wake_ns : next_ns;
    }
    core->ops->timer(core->context, kind->timer, 0, next_ns);
}

static void answer_if_over(struct daemon_core *core, struct core_inquiry *inquiry)
{
    bool is_done = inquiry->kind->is_done(core, inquiry);

    if ((is_done && hash_map_count(inquiry->asked) == 0) ||
        inquiry->due_ns <= core->ops->now_ns(core->context))
        inquiry_answer(core, inquiry);
}

void daemon_core_inquiry_check(struct daemon_core *core, struct core_inquiry *inquiry)
{
    const struct inquiry_kind *kind = inquiry->kind;

    answer_if_over(core, inquiry);
    set_timer(core, kind);
}

void daemon_core_inquiry_due(struct daemon_core *core, const struct inquiry_kind *kind)
{
    struct list_link *node, *spare;

    list_for_each(list_of(core, kind), node, spare)
        answer_if_over(core, list_entry(node, struct core_inquiry, node));
    set_timer(core, kind);
}

void daemon_core_inquiry_begin(struct daemon_core *core, struct core_inquiry *inquiry,
                               struct ranges *places)
{
    assert(inquiry->kind != NULL && inquiry->asked == NULL);
    inquiry->due_ns = core->ops->now_ns(core->context) + inquiry->patience_ms * NS_PER_MS;
    inquiry->asked = hash_map_create();
    list_append(list_of(core, inquiry->kind), &inquiry->node);
    hand_on(core, inquiry, places);
}

static bool is_first(const struct daemon_core *core, const struct ranges *places)
{
    const struct allocation *roster = instance_roster(core->instance);
    uint32_t last = core->spec->places - 1;

    if (roster != NULL && allocation_nodes(roster) > last)
        last = allocation_nodes(roster);
    return !ranges_is_empty(places) && ranges_min(places) == core->place &&
           ranges_max(places) <= last;
}

int daemon_core_inquiry_accept(const struct daemon_core *core, const struct inquiry_kind *kind,
                               bool is_client, uint32_t asker, const struct ranges *places)
{
    struct list_link *node, *spare;
    uint32_t count = 0;

    assert(is_client == (places == NULL));
    if (places != NULL && !is_first(core, places))
        return -EBADMSG;
    list_for_each(list_of((struct daemon_core *)(uintptr_t)core, kind), node, spare)
    {
        const struct core_inquiry *inquiry = list_entry(node, struct core_inquiry, node);

        count++;
        if (is_client && inquiry->is_client && inquiry->asker == asker)
            return -EAGAIN;
    }
    return count < INQUIRIES_MAX ? 0 : -EAGAIN;
}

int daemon_core_inquiry_reply(struct daemon_core *core, const struct inquiry_kind *kind,
                              const struct daemon_event *event)
{
    struct list_link *node, *spare;

    list_for_each(list_of(core, kind), node, spare)
    {
        struct core_inquiry *inquiry = list_entry(node, struct core_inquiry, node);
        struct ranges *part = hash_map_remove_u64(inquiry->asked, event->id);

        if (part == NULL)
            continue;
        take_reply(core, inquiry, part, event);
        daemon_core_inquiry_check(core, inquiry);
        return 1;
    }
    return 0;
}

void daemon_core_inquiry_gone(struct daemon_core *core, const struct inquiry_kind *kind,
                              uint32_t client)
{
    struct list_link *node, *spare;

    list_for_each(list_of(core, kind), node, spare)
    {
        struct core_inquiry *inquiry = list_entry(node, struct core_inquiry, node);

        if (inquiry->is_client && inquiry->asker == client)
            inquiry_free(inquiry);
    }
}

void daemon_core_inquiry_open(struct daemon_core *core, const struct inquiry_kind *kind)
{
    list_init(list_of(core, kind));
}

void daemon_core_inquiry_close(struct daemon_core *core, const struct inquiry_kind *kind)
{
    struct list_link *node;

    while ((node = list_first(list_of(core, kind))) != NULL)
        inquiry_free(list_entry(node, struct core_inquiry, node));
}

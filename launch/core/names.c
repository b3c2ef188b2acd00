/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/core/names.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "launch/core/names_internal.h"

/* The root is asked to say when a job has ended, since values go with it. */
struct name_watch {
    uint32_t job;
    uint32_t request;
};

/* Root: who waits for it. */
struct name_watcher {
    struct list_link node;
    uint32_t job;
    uint32_t source;
    uint32_t id;
};

void names_answer(struct names *names, uint32_t source, uint32_t id, int status,
                  const struct buffer *data)
{
    struct buffer answer = {0};

    name_answer_encode(status, data, &answer);
    names->ops.reply(names->ops.context, source, id, message_from_buffer(&answer));
    buffer_fini(&answer);
}

/* ---- Ends of jobs ---- */

void names_watch(struct names *names, uint32_t job)
{
    struct buffer payload = {0};
    struct name_watch *watch;

    if (hash_map_get_u64(names->watched, job) != NULL)
        return;
    watch = memory_allocate_zeroed(sizeof(*watch));
    watch->job = job;
    name_watch_encode(job, &payload);
    watch->request = names->ops.request(names->ops.context, 0, message_from_buffer(&payload));
    buffer_fini(&payload);
    (void)hash_map_put_u64(names->watched, job, watch);
}

static bool ends_with_job(void *context, struct name_entry *entry)
{
    return entry->record.job == *(const uint32_t *)context &&
           entry->record.persistence == PMI_NAMES_UNTIL_JOB_END;
}

static bool watch_reply(struct names *names, uint32_t id)
{
    struct name_watch *watch;
    size_t cursor = 0;

    while ((watch = hash_map_next(names->watched, &cursor)) != NULL && watch->request != id)
        continue;
    if (watch == NULL)
        return false;
    name_store_walk(names->held, ends_with_job, &watch->job);
    name_store_walk(names->local, ends_with_job, &watch->job);
    (void)hash_map_remove_u64(names->watched, watch->job);
    free(watch);
    return true;
}

/* A request may come twice. */
static void add_watcher(struct names *names, uint32_t source, uint32_t id, uint32_t job)
{
    struct name_watcher *watcher;

    assert(names->place == 0);
    if (!names->ops.job_is_running(names->ops.context, job)) {
        names_answer(names, source, id, 0, NULL);
        return;
    }
    watcher = memory_allocate_zeroed(sizeof(*watcher));
    *watcher = (struct name_watcher){.job = job, .source = source, .id = id};
    list_append(&names->watchers, &watcher->node);
}

static void watcher_free(struct name_watcher *watcher)
{
    list_remove(&watcher->node);
    free(watcher);
}

void names_job_ended(struct names *names, uint32_t job)
{
    struct list_link *node, *spare;

    if (names == NULL)
        return;
    list_for_each(&names->watchers, node, spare)
    {
        struct name_watcher *watcher = list_entry(node, struct name_watcher, node);

        if (watcher->job != job)
            continue;
        names_answer(names, watcher->source, watcher->id, 0, NULL);
        watcher_free(watcher);
    }
}

/* ---- What comes in ---- */

static int begin_call(struct names *names, uint32_t source, uint32_t id, struct wire_reader *reader)
{
    struct name_request request;

    if (source != names->place || name_request_decode(&request, reader) < 0)
        return -EBADMSG;
    names_call_begin(names, source, id, &request);
    return 0;
}

static int take_ask(struct names *names, uint32_t source, uint32_t id, struct wire_reader *reader)
{
    struct name_record record = {.verb = NAME_FORGET};

    if (name_ask_decode(&record, reader) < 0)
        return -EBADMSG;
    names_hold_ask(names, source, id, &record);
    return 0;
}

int names_request(struct names *names, enum job_message kind, uint32_t source, uint32_t id,
                  struct wire_reader *reader)
{
    uint32_t job;
    int rc;

    switch (kind) {
    case JOB_MESSAGE_NAMES:
        return begin_call(names, source, id, reader);
    case JOB_MESSAGE_NAME:
        return take_ask(names, source, id, reader);
    case JOB_MESSAGE_NAME_COPY:
        rc = names_copy_take(names, source, reader);
        if (rc == 0)
            names_answer(names, source, id, 0, NULL);
        return rc;
    default:
        assert(kind == JOB_MESSAGE_NAME_WATCH);
        if (names->place != 0 || name_watch_decode(&job, reader) < 0)
            return -EBADMSG;
        add_watcher(names, source, id, job);
        return 0;
    }
}

bool names_reply(struct names *names, uint32_t id, int status, const struct message *message)
{
    struct wire_reader reader;

    if (names == NULL)
        return false;
    wire_reader_init(&reader, message != NULL ? message->data : NULL,
                     message != NULL ? message->length_bytes : 0);
    status = name_answer_decode(status, &reader);
    return names_call_reply(names, id, status, &reader) || names_copy_reply(names, id, status) ||
           watch_reply(names, id);
}

void names_lost(struct names *names, const struct ranges *places)
{
    if (!name_ring_lose(&names->ring, places))
        return;
    names_copy_moved(names);
    names_hold_moved(names);
}

void names_lose(struct names *names, uint32_t place)
{
    struct ranges places = {0};

    ranges_add(&places, place, place);
    names_lost(names, &places);
    ranges_fini(&places);
}

/* ---- Life ---- */

struct names *names_create(uint32_t place, uint32_t nodes, const struct names_ops *ops)
{
    struct names *names = memory_allocate_zeroed(sizeof(*names));

    assert(ops->request != NULL && ops->reply != NULL && ops->timer != NULL);
    names->ops = *ops;
    names->place = place;
    name_ring_init(&names->ring, nodes);
    list_init(&names->calls);
    list_init(&names->watchers);
    names->asks = hash_map_create();
    names->items = hash_map_create();
    names->watched = hash_map_create();
    names->local = name_store_create();
    names->awaited = name_store_create();
    names->owned = name_store_create();
    names->held = name_store_create();
    names->waiting = name_store_create();
    names_hold_open(names);
    names_copy_open(names);
    return names;
}

void names_destroy(struct names *names)
{
    struct list_link *node;
    struct name_watch *watch;
    size_t cursor = 0;

    if (names == NULL)
        return;
    names_call_close(names);
    names_hold_close(names);
    names_copy_close(names);
    while ((node = list_first(&names->watchers)) != NULL)
        watcher_free(list_entry(node, struct name_watcher, node));
    while ((watch = hash_map_next(names->watched, &cursor)) != NULL)
        free(watch);
    hash_map_destroy(names->watched);
    hash_map_destroy(names->asks);
    hash_map_destroy(names->items);
    name_store_destroy(names->local);
    name_store_destroy(names->awaited);
    name_store_destroy(names->owned);
    name_store_destroy(names->held);
    name_store_destroy(names->waiting);
    name_ring_fini(&names->ring);
    free(names);
}

size_t names_held(const struct names *names)
{
    return name_store_count(names->held);
}

size_t names_calls(const struct names *names)
{
    size_t count = 0;

    for (const struct list_link *node = names->calls.head.next; node != &names->calls.head;
         node = node->next)
        count++;
    return count;
}

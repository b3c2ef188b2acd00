/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/daemon/replay.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_map.h"
#include "fabric/address.h"
#include "fabric/file_read.h"
#include "fabric/loop.h"
#include "launch/daemon/journal.h"
#include "launch/daemon/replay_internal.h"
#include "launch/proto/control.h"

#define FIRST_CLIENT 1u

static int read_head(struct replay *replay, const char *path, struct journal_head *ret_head,
                     struct error *error)
{
    int rc = journal_head_decode(ret_head, &replay->reader);

    if (rc == 0)
        return 0;
    journal_head_fini(ret_head);
    return error_set(
        error, rc,
        "%s is not a journal of this version of banyan: the same that wrote it is needed", path);
}

struct replay *replay_open(const char *directory, struct journal_head *ret_head,
                           struct error *error)
{
    struct replay *replay = memory_allocate_zeroed(sizeof(*replay));
    char *path = memory_printf("%s/" JOURNAL_FILE, directory);
    int rc = file_read(path, JOURNAL_BYTES_MAX, &replay->text);

    wire_reader_init(&replay->reader, replay->text.data, replay->text.length_bytes);
    if (rc == -ENOENT)
        error_set(error, rc,
                  "%s has no journal: only an instance started with --survive can be recovered",
                  directory);
    else if (rc < 0)
        error_set(error, rc, "cannot read %s: %s", path, strerror(-rc));
    else
        rc = read_head(replay, path, ret_head, error);
    free(path);
    replay->timers = hash_map_create();
    replay->bytes = replay->text.length_bytes - wire_left(&replay->reader);
    if (rc == 0)
        explicit_bzero(replay->text.data, replay->bytes); /* the secret; ret_head has it */
    replay->own = rc == 0 ? ret_head->own : (struct addresses){0};
    replay->now_ns = rc == 0 ? ret_head->now_ns : 0;
    if (rc == 0)
        return replay;
    replay_destroy(replay);
    return NULL;
}

void replay_destroy(struct replay *replay)
{
    void *timer;
    size_t cursor = 0;

    if (replay == NULL)
        return;
    while ((timer = hash_map_next(replay->timers, &cursor)) != NULL)
        free(timer);
    hash_map_destroy(replay->timers);
    if (replay->text.length_bytes > 0)
        explicit_bzero(replay->text.data, replay->text.length_bytes);
    buffer_fini(&replay->text);
    journal_record_fini(&replay->record);
    ranges_fini(&replay->clients);
    free(replay);
}

uint16_t replay_port(const struct replay *replay)
{
    return replay->own.count > 0 ? address_port(&replay->own.items[0]) : 0;
}

uint64_t replay_bytes(const struct replay *replay)
{
    return replay->bytes;
}

uint32_t replay_last_client(const struct replay *replay)
{
    return replay->last_client;
}

/* ---- records ---- */

/* The next one, in replay->record; false at the end. */
static bool replay_next(struct replay *replay)
{
    if (replay->is_ahead) {
        replay->is_ahead = false;
        return true;
    }
    journal_record_fini(&replay->record);
    replay->rc = journal_record_decode(&replay->record, &replay->reader);
    if (replay->rc > 0)
        replay->bytes = replay->text.length_bytes - wire_left(&replay->reader);
    return replay->rc > 0;
}

/* Of the kind: else it stays the next one. */
static bool replay_next_is(struct replay *replay, enum journal_kind kind)
{
    if (!replay_next(replay))
        return false;
    replay->is_ahead = replay->record.kind != kind;
    return !replay->is_ahead;
}

void replay_post(struct replay *replay)
{
    /* The record of the step itself is no longer needed. */
    while (replay_next_is(replay, JOURNAL_POSTED))
        daemon_core_step(replay->core, &replay->record.event);
}

bool replay_is_refused(struct replay *replay)
{
    return replay_next_is(replay, JOURNAL_REFUSED);
}

static void follow_clients(struct replay *replay, const struct daemon_event *event)
{
    if (event->kind == DAEMON_EVENT_CLIENT_OPENED) {
        ranges_add(&replay->clients, event->place, event->place);
        if (event->place > replay->last_client)
            replay->last_client = event->place;
    } else if (event->kind == DAEMON_EVENT_CLIENT_CLOSED) {
        ranges_remove(&replay->clients, event->place, event->place);
    }
}

static void replay_frame(struct replay *replay, const struct journal_record *record)
{
    struct frame frame = record->frame;

    message_reference(frame.payload);
    endpoint_transport_events()->frame(replay->endpoint, record->place, &frame);
    message_release(frame.payload);
}

static void replay_down(struct replay *replay, const struct journal_record *record)
{
    struct error why = ERROR_NONE;

    error_set(&why, (int)record->number, "%s", record->text != NULL ? record->text : "");
    endpoint_transport_events()->down(replay->endpoint, record->place, &why);
}

/* What the step reads ahead replaces the record, whose data the event still uses. */
static void replay_event(struct replay *replay)
{
    struct journal_record record = replay->record;

    replay->record = (struct journal_record){.kind = JOURNAL_TIMER};
    if (record.event.job_event != NULL)
        record.event.job_event = &record.job_event;
    follow_clients(replay, &record.event);
    daemon_core_step(replay->core, &record.event);
    journal_record_fini(&record);
}

static void replay_record(struct replay *replay)
{
    const struct transport_events *events = endpoint_transport_events();
    struct journal_record record = replay->record;

    replay->now_ns = record.now_ns;
    if (record.kind == JOURNAL_EVENT || record.kind == JOURNAL_POSTED) {
        replay_event(replay);
        return;
    }
    replay->record = (struct journal_record){.kind = JOURNAL_TIMER}; /* the copy owns what it has */
    switch (record.kind) {
    case JOURNAL_UP:
        events->up(replay->endpoint, record.place, (uint32_t)record.number);
        break;
    case JOURNAL_DOWN:
        replay_down(replay, &record);
        break;
    case JOURNAL_FRAME:
        replay_frame(replay, &record);
        break;
    case JOURNAL_TIMER:
        events->timer(replay->endpoint);
        break;
    case JOURNAL_RECOVERED:
        replay_recover(replay, replay_transport_ops(), replay);
        break;
    default: /* JOURNAL_REFUSED: the connect is no longer made */
        break;
    }
    journal_record_fini(&record);
}

static int check_end(const struct replay *replay, struct error *error)
{
    if (replay->rc < 0)
        return error_set(error, -EBADMSG, "its journal cannot be read after %llu bytes",
                         (unsigned long long)replay->bytes);
    if (replay->now_ns > loop_now_ns())
        return error_set(error, -ESTALE,
                         "this machine has been restarted since, or it is not the one on which the "
                         "root was: only that machine can recover it");
    if (!endpoint_is_complete(replay->endpoint))
        return error_set(error, -ENODATA, "its nodes had not all joined when its root ended");
    if (daemon_core_is_ending(replay->core))
        return error_set(error, -ENODATA, "it was being stopped when its root ended");
    return 0;
}

int replay_run(struct replay *replay, struct daemon_core *core, struct endpoint *endpoint,
               struct hostlist *added, struct error *error)
{
    assert(replay->core == NULL && core != NULL && endpoint != NULL);
    replay->core = core;
    replay->endpoint = endpoint;
    replay->added = added;
    endpoint_attach(endpoint, replay_transport_ops(), replay);
    endpoint_start(endpoint, &replay->own);
    while (replay_next(replay))
        replay_record(replay);
    return check_end(replay, error);
}

/* ---- going on ---- */

void replay_hand_over(const struct replay *replay, const struct daemon_ops *ops, void *context)
{
    const struct replay_timer *timer;
    size_t cursor = 0;

    daemon_core_hand_over(replay->core, ops, context);
    while ((timer = hash_map_next(replay->timers, &cursor)) != NULL)
        ops->timer(context, timer->timer, timer->job, timer->deadline_ns);
}

/* It does not end with the client that began it. */
static void detach_first(struct replay *replay)
{
    struct buffer payload = {0};
    struct daemon_event event = {
        .kind = DAEMON_EVENT_CLIENT_MESSAGE, .place = FIRST_CLIENT, .type = CONTROL_DETACH};

    control_put_job(0, &payload);
    event.data = payload.data;
    event.data_bytes = payload.length_bytes;
    daemon_core_step(replay->core, &event);
    buffer_fini(&payload);
}

void replay_recover(struct replay *replay, const struct transport_ops *ops, void *transport)
{
    uint32_t client;

    if (ranges_contains(&replay->clients, FIRST_CLIENT))
        detach_first(replay);
    while (ranges_next(&replay->clients, 0, &client)) {
        struct daemon_event event = {.kind = DAEMON_EVENT_CLIENT_CLOSED, .place = client};

        ranges_remove(&replay->clients, client, client);
        daemon_core_step(replay->core, &event);
    }
    endpoint_recover(replay->endpoint, ops, transport);
}

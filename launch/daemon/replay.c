/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/daemon/replay.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_map.h"
#include "base/time.h"
#include "fabric/address.h"
#include "fabric/file_read.h"
#include "fabric/loop.h"
#include "launch/daemon/journal.h"
#include "launch/daemon/replay_internal.h"
#include "launch/proto/control.h"

#define FIRST_CLIENT 1u

/* The reader stands at the head. */
static int read_text(struct replay *replay, struct error *error)
{
    int rc = file_read(replay->path, JOURNAL_BYTES_MAX, &replay->text);

    wire_reader_init(&replay->reader, replay->text.data, replay->text.length_bytes);
    if (rc == -ENOENT)
        return error_set(error, rc,
                         "%.*s has no journal: only an instance started with --survive can be "
                         "recovered, and only while its root could write its journal",
                         (int)(strlen(replay->path) - strlen("/" SESSION_JOURNAL_FILE)),
                         replay->path);
    return rc < 0 ? error_set(error, rc, "cannot read %s: %s", replay->path, strerror(-rc)) : 0;
}

/* Output of programs is in it. */
static void drop_text(struct replay *replay)
{
    if (replay->text.length_bytes > 0)
        explicit_bzero(replay->text.data, replay->text.length_bytes);
    buffer_fini(&replay->text);
    wire_reader_init(&replay->reader, NULL, 0);
}

static int read_head(struct replay *replay, struct journal_head *ret_head, struct error *error)
{
    int rc = journal_head_decode(ret_head, &replay->reader);

    if (rc == 0) {
        replay->bytes = replay->text.length_bytes - wire_left(&replay->reader);
        replay->own = ret_head->own;
        replay->now_ns = ret_head->now_ns;
        replay->survive_ns = ret_head->survive_s * NS_PER_S;
        replay->lease_ns = ret_head->record.instance.lease_ms * NS_PER_MS;
        return 0;
    }
    journal_head_fini(ret_head);
    return error_set(
        error, rc,
        "%s is not a journal of this version of banyan: the same that wrote it is needed",
        replay->path);
}

/* The process that reads the head forks others, which need not have the rest in their memory. */
struct replay *replay_open(const char *directory, struct journal_head *ret_head,
                           struct error *error)
{
    struct replay *replay = memory_allocate_zeroed(sizeof(*replay));
    int rc;

    replay->path = memory_printf("%s/" SESSION_JOURNAL_FILE, directory);
    replay->timers = hash_map_create();
    rc = read_text(replay, error);
    if (rc == 0)
        rc = read_head(replay, ret_head, error);
    drop_text(replay);
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
    drop_text(replay);
    free(replay->path);
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

bool replay_is_refused(struct replay *replay, uint32_t place)
{
    if (!replay_next_is(replay, JOURNAL_REFUSED))
        return false;
    replay->is_ahead = replay->record.place != place;
    return !replay->is_ahead;
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

/* A timer that is over is not one of those that are handed over, unless it is set again. */
static void follow_timers(struct replay *replay, const struct daemon_event *event)
{
    if (event->kind == DAEMON_EVENT_TIMER)
        free(hash_map_remove_u64(replay->timers, (uint64_t)event->id << 32 | event->job));
}

/* What the step reads ahead replaces the record, whose data the event still uses. */
static void replay_event(struct replay *replay)
{
    struct journal_record record = replay->record;

    replay->record = (struct journal_record){.kind = JOURNAL_TIMER};
    follow_timers(replay, &record.event);
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
    if (loop_now_ns() - replay->now_ns > replay->survive_ns + replay->lease_ns)
        return error_set(error, -ETIME,
                         "it ended %llu s ago, and the nodes, which survive it for %llu s, have "
                         "ended, too",
                         (unsigned long long)((loop_now_ns() - replay->now_ns) / NS_PER_S),
                         (unsigned long long)(replay->survive_ns / NS_PER_S));
    if (!endpoint_is_complete(replay->endpoint))
        return error_set(error, -ENODATA, "its nodes had not all joined when its root ended");
    if (daemon_core_is_ending(replay->core))
        return error_set(error, -ENODATA, "it was being stopped when its root ended");
    return 0;
}

int replay_run(struct replay *replay, struct daemon_core *core, struct endpoint *endpoint,
               struct hostlist *added, struct error *error)
{
    int rc = read_text(replay, error);

    assert(replay->core == NULL && core != NULL && endpoint != NULL);
    if (rc == 0 && wire_left(&replay->reader) < replay->bytes)
        rc = error_set(error, -EBADMSG, "%s has become shorter", replay->path);
    if (rc < 0)
        return rc;
    explicit_bzero(replay->text.data, replay->bytes); /* the secret: the head has been read */
    wire_reader_init(&replay->reader, replay->text.data + replay->bytes,
                     replay->text.length_bytes - replay->bytes);
    replay->core = core;
    replay->endpoint = endpoint;
    replay->added = added;
    endpoint_attach(endpoint, replay_transport_ops(), replay);
    endpoint_start(endpoint, &replay->own);
    while (replay_next(replay))
        replay_record(replay);
    rc = check_end(replay, error);
    drop_text(replay);
    return rc;
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

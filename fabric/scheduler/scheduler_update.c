/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replacing the data of fabrics.  The new view is ready before the first handler is called, so that
 * between the last handler's return and BANYAN_FABRIC_UPDATED only pointers change.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/time.h"
#include "fabric/scheduler/scheduler_private.h"

/* ---- Turns ---- */

struct timespec scheduler_deadline(const struct banyan_fabric_source *source)
{
    struct timespec at;
    uint64_t nanoseconds;

    clock_gettime(CLOCK_MONOTONIC, &at);
    nanoseconds = (uint64_t)at.tv_nsec + source->stall_ms * NS_PER_MS;
    at.tv_sec += (time_t)(nanoseconds / NS_PER_S);
    at.tv_nsec = (long)(nanoseconds % NS_PER_S);
    return at;
}

int scheduler_wait(struct banyan_fabric_source *source, const struct timespec *deadline)
{
    int rc = pthread_cond_timedwait(&source->changed, &source->lock, deadline);

    assert(rc == 0 || rc == ETIMEDOUT);
    return -rc;
}

void scheduler_turn_begin(struct banyan_fabric_source *source)
{
    assert(!source->has_turn);
    source->has_turn = 1;
    source->turn = pthread_self();
}

void scheduler_turn_end(struct banyan_fabric_source *source)
{
    assert(scheduler_turn_is_mine(source));
    source->has_turn = 0;
    pthread_cond_broadcast(&source->changed);
}

int scheduler_turn_is_mine(const struct banyan_fabric_source *source)
{
    return source->has_turn && pthread_equal(source->turn, pthread_self());
}

static int wait_for_turn(struct banyan_fabric_source *source, struct error *error)
{
    struct timespec deadline = scheduler_deadline(source);
    int rc = 0;

    if (scheduler_turn_is_mine(source))
        return error_set(error, -EDEADLK, "a handler cannot update fabrics");
    while (source->has_turn && rc == 0)
        rc = scheduler_wait(source, &deadline);
    if (source->has_turn)
        return error_set(error, -EBUSY,
                         "another update has not ended for %u ms: a handler may not have returned",
                         source->stall_ms);
    scheduler_turn_begin(source);
    return 0;
}

/* ---- Handlers ---- */

/* Watches one call of a handler. */
struct stall_watch {
    struct banyan_fabric_source *source;
    pthread_t thread;
    uint8_t has_ended;
    char line[512];
};

static void *stall_watch_main(void *context)
{
    struct stall_watch *watch = context;
    struct banyan_fabric_source *source = watch->source;
    struct timespec deadline;
    int rc = 0;

    pthread_mutex_lock(&source->lock);
    deadline = scheduler_deadline(source);
    while (!watch->has_ended && rc == 0)
        rc = scheduler_wait(source, &deadline);
    rc = watch->has_ended ? 0 : -ETIMEDOUT;
    pthread_mutex_unlock(&source->lock);
    if (rc < 0)
        scheduler_report(source, watch->line);
    return NULL;
}

static void describe_stall(struct stall_watch *watch, const struct registration *registration,
                           uint32_t number, enum banyan_fabric_event event)
{
    static const char *const names[] = {
        [BANYAN_FABRIC_UPDATE_PENDING] = "UPDATE_PENDING", [BANYAN_FABRIC_UPDATED] = "UPDATED"};
    const char *name = registration->fabric->name;

    assert(event < BANYAN_FABRIC_EVENT_COUNT);
    snprintf(watch->line, sizeof(watch->line),
             "handler %u of fabric %s has not returned from %s for %u ms: no fabric of %.128s is "
             "updated until it does",
             number + 1, name != NULL ? name : "(without a name)", names[event],
             watch->source->stall_ms, watch->source->topology);
}

/* The lock is released meanwhile. */
static void call_handler(const struct registration *registration, uint32_t number,
                         enum banyan_fabric_event event)
{
    struct banyan_fabric_source *source = registration->source;
    struct handler handler = registration->handlers[number];
    struct banyan_fabric *fabric = registration->fabric;
    struct stall_watch watch = {.source = source};
    int is_watched;

    describe_stall(&watch, registration, number, event);
    is_watched = source->report != NULL &&
                 scheduler_thread_start(&watch.thread, stall_watch_main, &watch) == 0;
    pthread_mutex_unlock(&source->lock);
    handler.function(handler.user, event, fabric);
    pthread_mutex_lock(&source->lock);
    watch.has_ended = 1;
    pthread_cond_broadcast(&source->changed);
    pthread_mutex_unlock(&source->lock);
    if (is_watched)
        pthread_join(watch.thread, NULL);
    pthread_mutex_lock(&source->lock);
}

static int is_wanted(const struct registration *registration)
{
    return registration->fabric != NULL && !registration->is_leaving;
}

static void call_handlers(const struct registration *registration, enum banyan_fabric_event event)
{
    for (uint32_t i = 0; i < registration->handlers_count && is_wanted(registration); i++)
        call_handler(registration, i, event);
}

/* ---- Updates ---- */

static int is_current(const struct registration *registration)
{
    return registration->view.snapshot == registration->source->current;
}

/* Takes the view. */
static void replace(struct registration *registration, struct view *view)
{
    struct view old = *view;
    int is_replaced;

    call_handlers(registration, BANYAN_FABRIC_UPDATE_PENDING);
    is_replaced = is_wanted(registration);
    if (is_replaced) {
        old = registration->view;
        registration->view = *view;
        scheduler_registration_show(registration);
    }
    scheduler_view_fini(&old);
    if (is_replaced)
        call_handlers(registration, BANYAN_FABRIC_UPDATED);
}

/* To the current snapshot. */
static int move(struct registration *registration, struct error *error)
{
    struct banyan_fabric_source *source = registration->source;
    struct snapshot *snapshot = source->current;
    struct view view;
    int rc;

    assert(registration->is_moving && scheduler_turn_is_mine(source));
    snapshot->users++;
    pthread_mutex_unlock(&source->lock);
    rc = scheduler_view_init(&view, snapshot, registration, error);
    pthread_mutex_lock(&source->lock);
    if (rc == 0) {
        replace(registration, &view);
    } else {
        registration->refused = snapshot->number;
        scheduler_snapshot_release(snapshot);
    }
    return rc;
}

static void move_begin(struct registration *registration)
{
    assert(!registration->is_moving);
    registration->is_moving = 1;
}

static void move_end(struct registration *registration)
{
    registration->is_moving = 0;
    pthread_cond_broadcast(&registration->source->changed);
    if (registration->fabric == NULL)
        scheduler_registration_destroy(registration);
}

/* One that has handlers and old data. */
static struct registration *find_due(const struct banyan_fabric_source *source)
{
    struct list_link *link, *spare;

    list_for_each(&source->registrations, link, spare)
    {
        struct registration *registration = list_entry(link, struct registration, link);

        if (registration->handlers_count > 0 && !is_current(registration) &&
            is_wanted(registration) && registration->refused != source->current->number)
            return registration;
    }
    return NULL;
}

static void report_refused(struct banyan_fabric_source *source, struct error *error)
{
    error_prefix(error, "a fabric of %s stays as it was", source->topology);
    pthread_mutex_unlock(&source->lock);
    scheduler_report(source, error->text);
    pthread_mutex_lock(&source->lock);
}

int scheduler_update_all(struct banyan_fabric_source *source)
{
    struct registration *registration;
    int count = 0;

    while ((registration = find_due(source)) != NULL) {
        struct error error = ERROR_NONE;
        int rc;

        move_begin(registration);
        rc = move(registration, &error);
        if (rc < 0)
            report_refused(source, &error);
        move_end(registration);
        count += rc == 0;
    }
    return count;
}

/* The data is replaced again if it was not the first time, as another thread was about to deregister
 * the fabric and gave up. */
static int update_one(struct registration *registration, struct error *error)
{
    int rc = 0, has_changed = 0;

    while (rc == 0 && is_wanted(registration) && !is_current(registration)) {
        rc = move(registration, error);
        has_changed = 1;
    }
    return rc < 0 ? rc : has_changed;
}

int banyan_fabric_update(struct banyan_fabric *fabric, struct banyan_fabric_error *error)
{
    struct registration *registration = scheduler_registration(fabric);
    struct banyan_fabric_source *source;
    int rc;

    if (registration == NULL)
        return error_set(error, -EBADF, "the fabric is not registered");
    source = registration->source;
    pthread_mutex_lock(&source->lock);
    rc = wait_for_turn(source, error);
    if (rc == 0) {
        move_begin(registration);
        pthread_mutex_unlock(&source->lock);
        rc = scheduler_load(source, 1, error);
        pthread_mutex_lock(&source->lock);
        if (rc >= 0)
            rc = update_one(registration, error);
        move_end(registration);
        scheduler_turn_end(source);
        if (find_due(source) != NULL)
            scheduler_wake(source);
    }
    pthread_mutex_unlock(&source->lock);
    return rc;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_timer.h"

#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/hash_map.h"
#include "pmix/host_group.h"
#include "pmix/host_pull.h"

/* libevent 2's kinds of events. */
#define EVENT_READ    0x02
#define EVENT_WRITE   0x04
#define EVENT_PERSIST 0x10

typedef int event_visitor(const struct event_base *base, const struct event *event, void *context);

/* libevent's own. */
static struct {
    int (*assign)(struct event *event, struct event_base *base, int fd, short what,
                  host_timer_function *function, void *context);
    size_t (*event_bytes)(void);
    int (*remove)(struct event *event);
    int (*visit_all)(struct event_base *base, event_visitor *visitor, void *context);
} library;

static pthread_once_t found = PTHREAD_ONCE_INIT;

static void library_find(void)
{
    library.assign = dlsym(RTLD_NEXT, "event_assign");
    library.event_bytes = dlsym(RTLD_NEXT, "event_get_struct_event_size");
    library.remove = dlsym(RTLD_NEXT, "event_del");
    library.visit_all = dlsym(RTLD_NEXT, "event_base_foreach_event");
    assert(library.assign != NULL);
}

static int is_this(const struct event_base *base, const struct event *event, void *context)
{
    return event == context;
}

/* The event's content is not read: it may be uninitialised. */
static int is_waited_for(struct event_base *base, struct event *event)
{
    return library.visit_all(base, is_this, event) != 0;
}

/* ---- Connections and messages ---- */

/* An event, as it was before we took it over. */
struct shift {
    host_timer_function *function;
    void *context;
    int fd; /* of the connection that is read, or on which the message came */
};

static pthread_mutex_t readers_mutex = PTHREAD_MUTEX_INITIALIZER; /* guards readers and is_called */
/* Address of the event that reads a connection -> struct shift, reused when the event is. */
static struct hash_map *readers;
static int is_called;
static _Thread_local int reading = -1, handling = -1;

int host_timer_reader(void)
{
    return handling;
}

int host_timer_is_called(void)
{
    int result;

    pthread_mutex_lock(&readers_mutex);
    result = is_called;
    pthread_mutex_unlock(&readers_mutex);
    return result;
}

static void on_readable(int fd, short what, void *context)
{
    const struct shift *shift = context;

    assert(shift->fd == fd && reading < 0);
    reading = fd;
    shift->function(fd, what, shift->context);
    reading = -1;
}

/* libpmix activates such an event once, as it makes it. */
static void on_message(int fd, short what, void *context)
{
    struct shift *shift = context;
    struct shift copy = *shift;

    assert(copy.fd >= 0 && handling < 0);
    free(shift);
    handling = copy.fd;
    copy.function(fd, what, copy.context);
    handling = -1;
}

static struct shift *reader_of(const struct event *event)
{
    struct shift *shift;

    pthread_mutex_lock(&readers_mutex);
    is_called = 1;
    if (readers == NULL)
        readers = hash_map_create();
    shift = hash_map_get_u64(readers, (uintptr_t)event);
    if (shift == NULL) {
        shift = memory_allocate_zeroed(sizeof(*shift));
        hash_map_put_u64(readers, (uintptr_t)event, shift);
    }
    pthread_mutex_unlock(&readers_mutex);
    return shift;
}

/* The function that is called instead, and its context. */
static host_timer_function *take_over(const struct event *event, int fd, short what,
                                      host_timer_function *function, void **context)
{
    struct shift made = {.function = function, .context = *context, .fd = fd}, *shift;
    host_timer_function *held;

    if (fd >= 0 && what == (EVENT_READ | EVENT_PERSIST)) {
        shift = reader_of(event);
    } else if (fd < 0 && what == EVENT_WRITE &&
               (held = host_pull_holds(*context, context)) != NULL) {
        return held;
    } else if (fd < 0 && what == EVENT_WRITE && reading >= 0) {
        shift = memory_allocate(sizeof(*shift));
        made.fd = reading;
    } else {
        return function;
    }
    *shift = made;
    *context = shift;
    return fd >= 0 ? on_readable : on_message;
}

__attribute__((visibility("default"))) int host_timer_assign(struct event *event,
                                                             struct event_base *base, int fd,
                                                             short what,
                                                             host_timer_function *function,
                                                             void *context)
{
    int is_timer = fd < 0 && what == 0;

    host_timer_function *other;

    pthread_once(&found, library_find);
    if (is_timer && library.event_bytes != NULL &&
        (other = host_group_timer(event, context, library.event_bytes())) != NULL)
        function = other;
    if (is_timer && library.visit_all != NULL && library.remove != NULL && base != NULL &&
        is_waited_for(base, event))
        (void)library.remove(event);
    function = take_over(event, fd, what, function, &context);
    return library.assign(event, base, fd, what, function, context);
}

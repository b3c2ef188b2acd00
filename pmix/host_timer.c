/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_timer.h"

#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

#include "pmix/host_group.h"

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
    return library.assign(event, base, fd, what, function, context);
}

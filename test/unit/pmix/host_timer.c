/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plugin's event_assign in front of the libevent that libpmix is linked to.  A timer that is set up
 * while it runs makes libevent 2.1 alone run in circles in its loop.
 */
#include "config.h"

#include "pmix/host_timer.h"
#include "test/support/tap.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define HANG_S 20

/* Of libevent, as libpmix sees it. */
static struct {
    struct event_base *(*base_new)(void);
    void (*base_free)(struct event_base *base);
    size_t (*event_bytes)(void);
    int (*add)(struct event *event, const struct timeval *timeout);
    int (*loop)(struct event_base *base, int flags);
    int (*assign)(struct event *event, struct event_base *base, int fd, short what,
                  host_timer_function *function, void *context);
} libevent;

static int find_all(void *plugin)
{
    libevent.base_new = dlsym(plugin, "event_base_new");
    libevent.base_free = dlsym(plugin, "event_base_free");
    libevent.event_bytes = dlsym(plugin, "event_get_struct_event_size");
    libevent.add = dlsym(plugin, "event_add");
    libevent.loop = dlsym(plugin, "event_base_loop");
    libevent.assign = dlsym(plugin, "event_assign");
    return libevent.base_new != NULL && libevent.base_free != NULL &&
           libevent.event_bytes != NULL && libevent.add != NULL && libevent.loop != NULL &&
           libevent.assign != NULL;
}

static void on_time(int fd, short what, void *context)
{
    int *fired = context;

    (*fired)++;
}

static struct event *event_room(void)
{
    struct event *event = malloc(libevent.event_bytes());

    /* libpmix's memory is not cleared either. */
    memset((void *)event, 0xa5, libevent.event_bytes());
    return event;
}

static void set(struct event_base *base, struct event *event, int ms, int *fired)
{
    struct timeval limit = {.tv_usec = ms * 1000L};

    is_int(libevent.assign(event, base, -1, 0, on_time, fired), 0, "a timer is set up");
    is_int(libevent.add(event, &limit), 0, "and started");
}

static void test_again(void)
{
    struct event_base *base = libevent.base_new();
    struct event *event = event_room(), *other = event_room();
    int first = 0, second = 0, others = 0;

    set(base, event, 10, &first);
    set(base, other, 30, &others);
    set(base, event, 20, &second);
    is_int(libevent.loop(base, 0), 1, "the loop ends when no timer is left");
    is_int(first, 0, "what the timer was to do at first is not done");
    is_int(second, 1, "what it was to do then is, once");
    is_int(others, 1, "another timer runs as before");
    set(base, event, 1, &first);
    is_int(libevent.loop(base, 0), 1, "one that has run may be set up again");
    is_int(first, 1, "and runs again");
    free(other);
    free(event);
    libevent.base_free(base);
}

static void on_pipe(int fd, short what, void *context)
{
    char byte;

    is_int(read(fd, &byte, 1), 1, "a descriptor is heard");
    *(int *)context = what;
}

/* EV_READ of libevent. */
#define READ_EVENT 0x02

static void test_descriptor(void)
{
    struct event_base *base = libevent.base_new();
    struct event *event = event_room();
    int ends[2], heard = 0;

    if (pipe(ends) < 0 || write(ends[1], "", 1) != 1)
        abort();
    is_int(libevent.assign(event, base, ends[0], READ_EVENT, on_pipe, &heard), 0,
           "a descriptor is set up");
    is_int(libevent.add(event, NULL), 0, "and waited for");
    is_int(libevent.loop(base, 0), 1, "until it is readable");
    is_int(heard, READ_EVENT, "as libevent itself does it");
    close(ends[0]);
    close(ends[1]);
    free(event);
    libevent.base_free(base);
}

int main(void)
{
    const char *directory = getenv("BANYAN_PKGLIBDIR");
    char path[512];
    void *plugin;

    snprintf(path, sizeof(path), "%s/pmix_host.so", directory != NULL ? directory : ".libs");
    plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL)
        skip_all("%s", dlerror());
    if (!find_all(plugin))
        skip_all("this libpmix has its event library inside");
    alarm(HANG_S); /* for what takes 31 ms */
    test_again();
    test_descriptor();
    return done_testing();
}

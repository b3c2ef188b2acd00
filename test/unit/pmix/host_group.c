/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which timers of libpmix 4.2.2 the plugin gives another function: those of a collective that has a name, which is a
 * group's.  The objects are laid out as libpmix has them; that they are is what test/system/run_pmix_group.sh shows.
 */
#include "config.h"

#include "pmix/host_timer.h"
#include "test/support/tap.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define EVENT_BYTES_MAX 256

struct class
{
    const char *name;
};

/* The event is in the middle: what follows it is at its end, wherever that is. */
struct object {
    pthread_mutex_t mutex;
    const struct class *class;
    char list_item[48];
    _Alignas(16) char event[EVENT_BYTES_MAX];
};

static struct {
    struct event_base *(*base_new)(void);
    void (*base_free)(struct event_base *base);
    size_t (*event_bytes)(void);
    int (*add)(struct event *event, const struct timeval *timeout);
    int (*loop)(struct event_base *base, int flags);
    int (*assign)(struct event *event, struct event_base *base, int fd, short what,
                  host_timer_function *function, void *context);
    const char *(*version)(void);
} library;

static int find_all(void *plugin)
{
    library.base_new = dlsym(plugin, "event_base_new");
    library.base_free = dlsym(plugin, "event_base_free");
    library.event_bytes = dlsym(plugin, "event_get_struct_event_size");
    library.add = dlsym(plugin, "event_add");
    library.loop = dlsym(plugin, "event_base_loop");
    library.assign = dlsym(plugin, "event_assign");
    library.version = dlsym(plugin, "PMIx_Get_version");
    return library.base_new != NULL && library.base_free != NULL && library.event_bytes != NULL &&
           library.add != NULL && library.loop != NULL && library.assign != NULL &&
           library.version != NULL;
}

static int fired;

static void on_time(int fd, short what, void *context)
{
    fired++;
}

/* 1 if the timer calls its own function. */
static int is_own(const char *class_name, const char *name)
{
    struct class class = {class_name};
    struct event_base *base = library.base_new();
    struct object *object = calloc(1, sizeof(*object));
    size_t end = (library.event_bytes() + 3 + sizeof(name) - 1) / sizeof(name) * sizeof(name);
    struct event *event = (struct event *)object->event;
    struct timeval limit = {.tv_usec = 1000};

    object->class = class_name != NULL ? &class : NULL;
    memcpy(object->event + end, &name, sizeof(name));
    fired = 0;
    is_int(library.assign(event, base, -1, 0, on_time, object), 0, "a timer is set up");
    is_int(library.add(event, &limit), 0, "and started");
    is_int(library.loop(base, 0), 1, "it runs");
    library.base_free(base);
    free(object);
    return fired;
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
    is_int(is_own("pmix_server_trkr_t", NULL), 1, "a fence's");
    is_int(is_own("pmix_server_caddy_t", "name"), 1, "one that is not of a collective");
    is_int(is_own(NULL, "name"), 1, "one without a class");
    is_int(is_own("pmix_server_trkr_t", "name"), strstr(library.version(), "4.2.2") == NULL,
           "a group's, in version 4.2.2 only");
    return done_testing();
}

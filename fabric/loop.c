/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creation costs an epoll descriptor, a timer and libevent's socket pair; locks and libevent's timers
 * are not used.  Signals arrive by a signalfd: no handler or static state remains, so a child forked
 * without exec just forgets its parent's loop and makes its own.  Deferred calls run between two
 * turns of libevent, never inside one.
 */
#include "config.h"

#include "fabric/loop.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>
#include <event2/event_struct.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/time.h"
#include "fabric/loop_private.h"

/* Deferred calls may defer more; descriptors are polled again after this many rounds. */
#define DEFER_ROUNDS_MAX 8

struct deferred {
    loop_function *function;
    void *context;
};

struct loop {
    struct event_base *base;
    struct loop_timers *timers;
    struct event timers_event;
    size_t interests; /* that watches have */
    int stopped;
    struct deferred *deferred; /* FIFO; function NULL = cancelled */
    size_t deferred_count;
    size_t deferred_capacity;
    struct list signals;
    sigset_t signal_set;
    int signal_fd; /* -1 until the first loop_signal_create */
    struct loop_watch *signal_watch;
    pid_t signal_sender;
};

/* Two events, so that a change of one interest costs one epoll_ctl. */
struct loop_watch {
    struct loop *loop;
    struct event read;
    struct event write;
    unsigned int interest;
    loop_watch_function *function;
    void *context;
};

struct loop_signal {
    struct list_link node;
    struct loop *loop;
    int number;
    int was_blocked;
    loop_function *function;
    void *context;
};

static void loop_check(const struct loop *loop)
{
    assert(loop->deferred_count <= loop->deferred_capacity);
    assert((loop->deferred_capacity == 0) == (loop->deferred == NULL));
    assert((loop->signal_fd < 0) == (loop->signal_watch == NULL));
}

static void on_timers(evutil_socket_t fd, short what, void *context)
{
    struct loop *loop = context;

    loop_timers_fired(loop->timers);
}

struct loop_timers *loop_timers_of(struct loop *loop)
{
    return loop->timers;
}

struct loop *loop_create(struct error *error)
{
    struct event_config *config = event_config_new();
    struct loop *loop;
    struct event_base *base = NULL;
    struct loop_timers *timers = loop_timers_create();

    if (config != NULL) {
        event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
        event_config_set_flag(config, EVENT_BASE_FLAG_IGNORE_ENV);
        base = event_base_new_with_config(config);
        event_config_free(config);
    }
    if (base == NULL || timers == NULL) {
        error_set(error, errno > 0 ? -errno : -ENOMEM, "cannot create an event loop: %s",
                  strerror(errno));
        loop_timers_destroy(timers);
        if (base != NULL)
            event_base_free(base);
        return NULL;
    }
    loop = memory_allocate_zeroed(sizeof(*loop));
    loop->base = base;
    loop->timers = timers;
    event_assign(&loop->timers_event, base, loop_timers_fd(timers), EV_READ | EV_PERSIST, on_timers,
                 loop);
    event_add(&loop->timers_event, NULL);
    loop->signal_fd = -1;
    list_init(&loop->signals);
    sigemptyset(&loop->signal_set);
    return loop;
}

void loop_destroy(struct loop *loop)
{
    struct list_link *node;

    if (loop == NULL)
        return;
    while ((node = list_first(&loop->signals)) != NULL)
        loop_signal_destroy(list_entry(node, struct loop_signal, node));
    loop_watch_destroy(loop->signal_watch);
    if (loop->signal_fd >= 0)
        close(loop->signal_fd);
    event_del(&loop->timers_event);
    event_base_free(loop->base);
    loop_timers_destroy(loop->timers);
    free(loop->deferred);
    free(loop);
}

static void run_deferred(struct loop *loop)
{
    for (int round = 0; round < DEFER_ROUNDS_MAX && loop->deferred_count > 0; round++) {
        size_t count = loop->deferred_count;
        for (size_t i = 0; i < count; i++) {
            struct deferred call = loop->deferred[i];
            loop->deferred[i].function = NULL;
            if (call.function != NULL)
                call.function(call.context);
        }
        assert(count <= loop->deferred_count); /* calls may be added, none is removed */
        loop->deferred_count -= count;
        memmove(loop->deferred, loop->deferred + count,
                loop->deferred_count * sizeof(*loop->deferred));
    }
}

/* One turn of libevent; it sleeps only if nothing is deferred. */
static int turn(struct loop *loop)
{
    /* EVLOOP_NONBLOCK alone would not return while a descriptor stays ready. */
    int flags = loop->deferred_count > 0 ? EVLOOP_ONCE | EVLOOP_NONBLOCK : EVLOOP_ONCE;
    int are_timed = loop_timers_arm(loop->timers);

    if (!are_timed && loop->interests == 0 && loop->deferred_count == 0)
        return -EDEADLK; /* nothing is left that could wake the loop */
    if (event_base_loop(loop->base, flags) < 0)
        return errno > 0 ? -errno : -EIO;
    loop_timers_run(loop->timers);
    return 0;
}

int loop_run(struct loop *loop)
{
    int rc = 0;

    loop_check(loop);
    run_deferred(loop);
    while (rc == 0 && !loop->stopped) {
        rc = turn(loop);
        run_deferred(loop);
        loop_check(loop);
    }
    loop->stopped = 0;
    return rc;
}

void loop_stop(struct loop *loop)
{
    loop->stopped = 1;
}

uint64_t loop_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void on_ready(evutil_socket_t fd, short what, void *context)
{
    struct loop_watch *watch = context;

    watch->function(watch->context, fd, what & EV_WRITE ? LOOP_WRITE : LOOP_READ);
}

struct loop_watch *loop_watch_create(struct loop *loop, int fd, unsigned int interest,
                                     loop_watch_function *function, void *context)
{
    struct loop_watch *watch = memory_allocate(sizeof(*watch));

    assert(loop != NULL && function != NULL);
    watch->loop = loop;
    watch->function = function;
    watch->context = context;
    watch->interest = 0;
    event_assign(&watch->read, loop->base, fd, EV_READ | EV_PERSIST, on_ready, watch);
    event_assign(&watch->write, loop->base, fd, EV_WRITE | EV_PERSIST, on_ready, watch);
    loop_watch_set(watch, interest);
    return watch;
}

static void set_event(struct loop *loop, struct event *event, unsigned int was, unsigned int wanted)
{
    if (wanted != 0 && was == 0) {
        event_add(event, NULL);
        loop->interests++;
    } else if (wanted == 0 && was != 0) {
        assert(loop->interests > 0);
        event_del(event);
        loop->interests--;
    }
}

void loop_watch_set(struct loop_watch *watch, unsigned int interest)
{
    assert((interest & ~(unsigned int)(LOOP_READ | LOOP_WRITE)) == 0);
    set_event(watch->loop, &watch->read, watch->interest & LOOP_READ, interest & LOOP_READ);
    set_event(watch->loop, &watch->write, watch->interest & LOOP_WRITE, interest & LOOP_WRITE);
    watch->interest = interest;
}

void loop_watch_destroy(struct loop_watch *watch)
{
    if (watch == NULL)
        return;
    loop_watch_set(watch, 0);
    free(watch);
}

void loop_defer(struct loop *loop, loop_function *function, void *context)
{
    assert(function != NULL);
    if (loop->deferred_count == loop->deferred_capacity) {
        loop->deferred_capacity = loop->deferred_capacity * 2 + 8;
        loop->deferred =
            memory_resize(loop->deferred, loop->deferred_capacity * sizeof(*loop->deferred));
    }
    loop->deferred[loop->deferred_count].function = function;
    loop->deferred[loop->deferred_count].context = context;
    loop->deferred_count++;
}

void loop_defer_cancel(struct loop *loop, void *context)
{
    for (size_t i = 0; i < loop->deferred_count; i++)
        if (loop->deferred[i].context == context)
            loop->deferred[i].function = NULL;
}

static struct loop_signal *find_signal(struct loop *loop, int number)
{
    struct list_link *node;
    struct list_link *spare;

    list_for_each(&loop->signals, node, spare)
    {
        struct loop_signal *signal = list_entry(node, struct loop_signal, node);
        if (signal->number == number)
            return signal;
    }
    return NULL;
}

/* One signal per call: the function may destroy any loop_signal, the rest stay readable. */
static void on_signal(void *context, int fd, unsigned int ready)
{
    struct loop *loop = context;
    struct signalfd_siginfo info;
    struct loop_signal *signal;

    if (read(fd, &info, sizeof(info)) != sizeof(info))
        return;
    signal = find_signal(loop, (int)info.ssi_signo);
    loop->signal_sender = (pid_t)info.ssi_pid;
    if (signal != NULL)
        signal->function(signal->context);
}

pid_t loop_signal_sender(const struct loop *loop)
{
    return loop->signal_sender;
}

struct loop_signal *loop_signal_create(struct loop *loop, int number, loop_function *function,
                                       void *context)
{
    struct loop_signal *signal;
    sigset_t one;
    sigset_t before;
    int fd;

    assert(number > 0 && function != NULL);
    assert(find_signal(loop, number) == NULL);
    sigaddset(&loop->signal_set, number);
    fd = signalfd(loop->signal_fd, &loop->signal_set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0) {
        sigdelset(&loop->signal_set, number);
        return NULL;
    }
    if (loop->signal_watch == NULL)
        loop->signal_watch = loop_watch_create(loop, fd, LOOP_READ, on_signal, loop);
    loop->signal_fd = fd;
    sigemptyset(&one);
    sigaddset(&one, number);
    sigprocmask(SIG_BLOCK, &one, &before);
    signal = memory_allocate(sizeof(*signal));
    *signal = (struct loop_signal){
        .loop = loop, .number = number, .function = function, .context = context};
    signal->was_blocked = sigismember(&before, number) == 1;
    list_append(&loop->signals, &signal->node);
    return signal;
}

void loop_signal_destroy(struct loop_signal *signal)
{
    sigset_t one;

    if (signal == NULL)
        return;
    list_remove(&signal->node);
    sigdelset(&signal->loop->signal_set, signal->number);
    signalfd(signal->loop->signal_fd, &signal->loop->signal_set, 0);
    if (!signal->was_blocked) {
        sigemptyset(&one);
        sigaddset(&one, signal->number);
        sigprocmask(SIG_UNBLOCK, &one, NULL);
    }
    free(signal);
}

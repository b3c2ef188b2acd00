/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One timer of the system for all timers of a loop.  libevent's own count in a clock that ticks every
 * 4 ms: when one is due, the process wakes up several times until that clock has seen it, and an idle
 * daemon is noticed by what it wakes up for.  The descriptor is only ever set to something earlier, or
 * when it has fired, so a deadline that is put off again and again costs no system call.
 *
 * A timer with a window runs in the first turn of the loop that lies in it, after the descriptors'
 * callbacks, whatever has caused that turn; only the end of its window wakes the loop.
 *
 * Setting and cancelling cost O(log timers); a turn costs a look at the clock, and at each window.
 */
#include "config.h"

#include "fabric/loop_private.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/time.h"

#define NOT_SET SIZE_MAX

struct loop_timer {
    struct loop_timers *timers;
    size_t index; /* in the heap, or NOT_SET */
    uint64_t early_ns;
    uint64_t deadline_ns;
    struct list_link window; /* linked if early_ns is before deadline_ns */
    loop_function *function;
    void *context;
};

struct loop_timers {
    int fd;
    uint64_t armed_ns; /* what fd is set to; UINT64_MAX: nothing */
    int fired;
    struct loop_timer **heap; /* by deadline, the parent of i at (i - 1) / 2 */
    size_t count;
    size_t capacity;
    struct list windows; /* by the time at which they were set */
};

struct loop_timers *loop_timers_create(void)
{
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    struct loop_timers *timers;

    if (fd < 0)
        return NULL;
    timers = memory_allocate_zeroed(sizeof(*timers));
    timers->fd = fd;
    timers->armed_ns = UINT64_MAX;
    list_init(&timers->windows);
    return timers;
}

void loop_timers_destroy(struct loop_timers *timers)
{
    if (timers == NULL)
        return;
    close(timers->fd);
    free(timers->heap);
    free(timers);
}

int loop_timers_fd(const struct loop_timers *timers)
{
    return timers->fd;
}

/* ---- The heap ---- */

static void put(struct loop_timers *timers, size_t index, struct loop_timer *timer)
{
    assert(index < timers->count);
    timers->heap[index] = timer;
    timer->index = index;
}

/* Moves the timer from an index that is free to where it belongs. */
static void settle(struct loop_timers *timers, size_t index, struct loop_timer *timer)
{
    while (index > 0 && timers->heap[(index - 1) / 2]->deadline_ns > timer->deadline_ns) {
        put(timers, index, timers->heap[(index - 1) / 2]);
        index = (index - 1) / 2;
    }
    while (2 * index + 1 < timers->count) {
        size_t child = 2 * index + 1;
        if (child + 1 < timers->count &&
            timers->heap[child + 1]->deadline_ns < timers->heap[child]->deadline_ns)
            child++;
        if (timers->heap[child]->deadline_ns >= timer->deadline_ns)
            break;
        put(timers, index, timers->heap[child]);
        index = child;
    }
    put(timers, index, timer);
}

static void insert(struct loop_timers *timers, struct loop_timer *timer)
{
    if (timers->count == timers->capacity) {
        timers->capacity = timers->capacity * 2 + 8;
        timers->heap = memory_resize(timers->heap, timers->capacity * sizeof(*timers->heap));
    }
    timers->count++;
    settle(timers, timers->count - 1, timer);
}

static void unset(struct loop_timer *timer)
{
    struct loop_timers *timers = timer->timers;
    struct loop_timer *last;

    if (timer->index == NOT_SET)
        return;
    assert(timers->heap[timer->index] == timer);
    if (list_is_linked(&timer->window))
        list_remove(&timer->window);
    last = timers->heap[--timers->count];
    if (last != timer)
        settle(timers, timer->index, last);
    timer->index = NOT_SET;
}

/* ---- Turns of the loop ---- */

void loop_timers_fired(struct loop_timers *timers)
{
    timers->fired = 1;
}

static void run(struct loop_timer *timer)
{
    unset(timer);
    timer->function(timer->context);
}

/* The next one due, or the oldest of those whose window has begun. */
static struct loop_timer *next_due(struct loop_timers *timers, uint64_t now_ns)
{
    struct list_link *node;
    struct list_link *spare;

    if (timers->count > 0 && timers->heap[0]->deadline_ns <= now_ns)
        return timers->heap[0];
    list_for_each(&timers->windows, node, spare)
    {
        struct loop_timer *timer = list_entry(node, struct loop_timer, window);
        if (timer->early_ns <= now_ns)
            return timer;
    }
    return NULL;
}

/* What a callback sets for a time that has passed may run in the same turn, but not without end. */
void loop_timers_run(struct loop_timers *timers)
{
    uint64_t now_ns;

    if (timers->count == 0)
        return;
    now_ns = loop_now_ns();
    for (size_t left = timers->count; left > 0; left--) {
        struct loop_timer *timer = next_due(timers, now_ns);
        if (timer == NULL)
            return;
        run(timer);
    }
}

int loop_timers_arm(struct loop_timers *timers)
{
    uint64_t first_ns = timers->count > 0 ? timers->heap[0]->deadline_ns : UINT64_MAX;
    struct itimerspec when = {{0, 0}, {0, 0}};
    int rc;

    if (timers->fired || first_ns < timers->armed_ns) {
        if (first_ns != UINT64_MAX) {
            /* All zero would disarm it. */
            when.it_value.tv_sec = (time_t)(first_ns / NS_PER_S);
            when.it_value.tv_nsec = (long)(first_ns % NS_PER_S) + (first_ns == 0);
        }
        rc = timerfd_settime(timers->fd, TFD_TIMER_ABSTIME, &when, NULL);
        assert(rc == 0);
        timers->armed_ns = first_ns;
        timers->fired = 0;
    }
    return timers->count > 0;
}

/* ---- What others use ---- */

struct loop_timer *loop_timer_create(struct loop *loop, loop_function *function, void *context)
{
    struct loop_timer *timer = memory_allocate_zeroed(sizeof(*timer));

    assert(loop != NULL && function != NULL);
    timer->timers = loop_timers_of(loop);
    timer->index = NOT_SET;
    list_link_init(&timer->window);
    timer->function = function;
    timer->context = context;
    return timer;
}

void loop_timer_set(struct loop_timer *timer, uint64_t deadline_ns)
{
    loop_timer_set_between(timer, deadline_ns, deadline_ns);
}

void loop_timer_set_between(struct loop_timer *timer, uint64_t early_ns, uint64_t deadline_ns)
{
    assert(early_ns <= deadline_ns);
    unset(timer);
    timer->early_ns = early_ns;
    timer->deadline_ns = deadline_ns;
    insert(timer->timers, timer);
    if (early_ns < deadline_ns)
        list_append(&timer->timers->windows, &timer->window);
}

void loop_timer_cancel(struct loop_timer *timer)
{
    unset(timer);
}

void loop_timer_destroy(struct loop_timer *timer)
{
    if (timer == NULL)
        return;
    unset(timer);
    free(timer);
}

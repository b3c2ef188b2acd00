/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one event loop of a process, on libevent, which is used nowhere else.  Single-threaded; other
 * threads wake it through a descriptor that they own.  Callbacks must not block.  A child forked
 * without exec closes its inherited descriptors, forgets its parent's loop (never destroys it) and
 * makes its own.
 */
#ifndef FABRIC_LOOP_H
#define FABRIC_LOOP_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct loop;
struct loop_watch;
struct loop_timer;
struct loop_signal;

#define LOOP_READ  1u
#define LOOP_WRITE 2u

typedef void loop_watch_function(void *context, int fd, unsigned int ready);
typedef void loop_function(void *context);

struct loop *loop_create(struct error *error);
void loop_destroy(struct loop *loop);
/* Runs until loop_stop; calls deferred until then still run.  A stop before the run ends it at
 * once. -EDEADLK if nothing is watched, timed or deferred. */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop);
/* CLOCK_MONOTONIC in nanoseconds, read afresh. */
uint64_t loop_now_ns(void);

/* Level-triggered.  fd remains the caller's; destroy the watch before closing it.  interest 0
 * pauses. */
struct loop_watch *loop_watch_create(struct loop *loop, int fd, unsigned int interest,
                                     loop_watch_function *function, void *context);
void loop_watch_set(struct loop_watch *watch, unsigned int interest);
void loop_watch_destroy(struct loop_watch *watch); /* NULL is fine; safe inside callbacks */

/* One-shot; may be set again.  Created idle. */
struct loop_timer *loop_timer_create(struct loop *loop, loop_function *function, void *context);
void loop_timer_set(struct loop_timer *timer, uint64_t deadline_ns); /* of loop_now_ns */
/* The same, but from early_ns on it runs as soon as something else wakes the loop: what is done every
 * few seconds then causes no additional wake-up. */
void loop_timer_set_between(struct loop_timer *timer, uint64_t early_ns, uint64_t deadline_ns);
void loop_timer_cancel(struct loop_timer *timer);
void loop_timer_destroy(struct loop_timer *timer);
/* The process that sent the signal being delivered; 0 if it is not visible from here. */
pid_t loop_signal_sender(const struct loop *loop);

/* Runs function once, after the callbacks of this turn and before the loop sleeps. */
void loop_defer(struct loop *loop, loop_function *function, void *context);
/* Drops pending deferred calls with this context. */
void loop_defer_cancel(struct loop *loop, void *context);

/* One watcher per signal and process.  The signal is blocked while it is watched, so a child must
 * clear its signal mask before exec; NULL if the system has no descriptor left. */
struct loop_signal *loop_signal_create(struct loop *loop, int number, loop_function *function,
                                       void *context);
void loop_signal_destroy(struct loop_signal *signal);

#endif

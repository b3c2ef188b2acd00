/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libpmix's timers, put in front of libevent: in version 4.2.2 each process that connects with a time limit
 * sets the timer of the node's one operation, also while it runs.  To set up an event anew that libevent has in
 * its heap corrupts the heap, and the thread of libpmix then runs in circles for ever.
 *
 * libpmix finds this event_assign before libevent's, for it is loaded as a dependency of this shared object;
 * one that has an event library inside does not, and is left as it is.
 *
 * Cost: O(events of libpmix) for each timer; O(1) for each other event.
 */
#ifndef PMIX_HOST_TIMER_H
#define PMIX_HOST_TIMER_H

struct event;
struct event_base;

typedef void host_timer_function(int fd, short what, void *context);

/* libevent 2's event_assign, by its name for the linker: sets up an event that is not waited for.  A timer
 * that runs is stopped before. */
int host_timer_assign(struct event *event, struct event_base *base, int fd, short what,
                      host_timer_function *function, void *context) __asm__("event_assign");

#endif

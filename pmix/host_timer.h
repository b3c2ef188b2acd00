/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Intercepts libevent's event_assign for libpmix's timers: in version 4.2.2 each process that
 * connects with a time limit sets the timer of the node's one operation, even while it is pending.
 * Reinitialising an event that is in libevent's heap corrupts the heap, and libpmix's thread then
 * loops forever.
 *
 * By the same way libpmix's thread can be asked on which connection the message came that it handles
 * (host_timer_reader), which no upcall says: a message is handled by an event that is made while the connection is
 * read.
 *
 * libpmix finds this event_assign before libevent's, since it is loaded as a dependency of this
 * shared object; one with a built-in event library does not, and is not affected.
 *
 * Cost: O(events of libpmix) for each timer; O(1) for each other event, and some bytes for each connection.
 */
#ifndef PMIX_HOST_TIMER_H
#define PMIX_HOST_TIMER_H

struct event;
struct event_base;

typedef void host_timer_function(int fd, short what, void *context);

/* libevent 2's event_assign, by its linker name: initialises an event that is not pending.  A
 * pending timer is stopped first. */
int host_timer_assign(struct event *event, struct event_base *base, int fd, short what,
                      host_timer_function *function, void *context) __asm__("event_assign");

/* On libpmix's thread: the descriptor from which the message was read that is being handled; -1: none. */
int host_timer_reader(void);
/* 1 if libpmix's events come here. */
int host_timer_is_called(void);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timers of a loop (fabric/loop_timer.c) as fabric/loop.c sees them.
 */
#ifndef FABRIC_LOOP_PRIVATE_H
#define FABRIC_LOOP_PRIVATE_H

#include "fabric/loop.h"

struct loop_timers;

/* NULL: errno says why. */
struct loop_timers *loop_timers_create(void);
/* Its timers may only be destroyed after that. */
void loop_timers_destroy(struct loop_timers *timers);
/* Readable when the first deadline is reached. */
int loop_timers_fd(const struct loop_timers *timers);
/* The descriptor was readable: it has to be set again. */
void loop_timers_fired(struct loop_timers *timers);
/* Runs what is due, each timer at most once. */
void loop_timers_run(struct loop_timers *timers);
/* Before the loop sleeps: sets the descriptor to the first deadline, if that comes earlier than what it is set to.
 * 1: there is a deadline; 0: no timer is set. */
int loop_timers_arm(struct loop_timers *timers);
struct loop_timers *loop_timers_of(struct loop *loop);

#endif

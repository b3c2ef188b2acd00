/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All pairs of processes, in rounds of pairs that have no process in common, as in a tournament: so all pairs are
 * measured (pair_worker.h) in O(processes) rounds, and no process takes part in two measurements at a time.  Pure.
 */
#ifndef LAUNCH_EXEC_PAIR_ROUNDS_H
#define LAUNCH_EXEC_PAIR_ROUNDS_H

#include <stdint.h>

#define PAIR_NONE UINT32_MAX

/* How many rounds there are for that many processes: one less, or as many if the number is odd. */
uint32_t pair_rounds_count(uint32_t processes);
/* Whom a process meets in a round; PAIR_NONE: nobody.  Over all rounds it meets each other one once. O(1). */
uint32_t pair_rounds_peer(uint32_t processes, uint32_t round, uint32_t process);

#endif

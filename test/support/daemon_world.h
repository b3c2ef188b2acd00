/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A random world of whole daemons, judged by test/support/daemon_checker.h.  From its seed follow the
 * machine, several clients and their jobs, which overlap, the failures of processes, what users want,
 * clients that hang up or detach, daemons that die or are stopped for a while, places that come and leave.
 * All jobs are ended at 20 s; at 34 s everything must be at rest; then everyone leaves.
 */
#ifndef TEST_SUPPORT_DAEMON_WORLD_H
#define TEST_SUPPORT_DAEMON_WORLD_H

#include <stdbool.h>
#include <stdint.h>

/* Of all worlds: one in which nothing happens tests nothing. */
struct daemon_totals {
    uint32_t worlds, jobs, well, failed, wished, refused, lost, gone, detached, stall_lines, fences;
    uint32_t hurt, stopped, grown, shrunk;
};

/* Adds to the totals.  wrong: what is not right, "" if all is. */
void daemon_world_run(uint64_t seed, bool verbose, struct daemon_totals *totals, char wrong[512]);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether a process that has not answered still makes progress: the difference between one that hangs and one
 * that is slow, on whatever machine.  It hangs if it has used a lot of processor time since it was asked, or if all of its
 * threads have slept at every look since then.  Time alone says nothing: the machine may be busy, and the
 * process or this one stopped for a while.
 *
 * Cost: a look reads one file in /proc per thread.
 */
#ifndef LAUNCH_RANK_PMI_WATCH_H
#define LAUNCH_RANK_PMI_WATCH_H

#include <stdint.h>
#include <sys/types.h>

struct pmi_watch_limits {
    uint32_t sleeping_looks; /* in a row */
    uint32_t busy_ms;        /* of processor time */
};

struct pmi_watch {
    struct pmi_watch_limits limits;
    pid_t pid;
    uint64_t asked_cpu_ms;
    uint64_t last_cpu_ms;
    uint32_t sleeping_looks;
};

enum pmi_watch_finding {
    PMI_WATCH_GOES_ON,
    PMI_WATCH_SLEEPS, /* forever */
    PMI_WATCH_SPINS,
};

/* It is asked now. */
void pmi_watch_ask(struct pmi_watch *watch, pid_t pid);
/* It has not answered yet.  A process that has exited goes on: its end is reported otherwise. */
enum pmi_watch_finding pmi_watch_look(struct pmi_watch *watch);

#endif

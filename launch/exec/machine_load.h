/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How busy this machine has been since it was started, and how much of its memory is in use.
 */
#ifndef LAUNCH_EXEC_MACHINE_LOAD_H
#define LAUNCH_EXEC_MACHINE_LOAD_H

#include <stdint.h>

struct machine_load {
    uint32_t cpus;
    uint64_t busy_ticks; /* of all CPUs */
    uint64_t idle_ticks;
    uint64_t memory_kib;
    uint64_t used_kib; /* what new programs cannot have */
};

/* What cannot be read is 0. */
struct machine_load machine_load_now(void);
/* The same of the texts of /proc/stat and /proc/meminfo (proc(5)). */
void machine_load_parse_stat(const char *text, struct machine_load *load);
void machine_load_parse_memory(const char *text, struct machine_load *load);

#endif

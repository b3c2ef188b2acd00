/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In what state a process of this machine is.
 */
#ifndef LAUNCH_EXEC_PROCESS_STAT_H
#define LAUNCH_EXEC_PROCESS_STAT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The letter in /proc/PID/stat (proc(5)), or 0 if there is no such process. */
uint8_t process_stat_state(pid_t pid);
/* 1 if it has ended, or is ending: it was killed, and the kernel closes its files, one at a time as others may see.
 * Also if there is no such process. */
int process_stat_is_exiting(pid_t pid);
/* Its memory that is not swapped out, in KiB; 0 if there is no such process. */
uint64_t process_stat_memory_kib(pid_t pid);
/* The CPU time of all its threads so far; -ESRCH if there is no such process. */
int process_stat_cpu_ns(pid_t pid, uint64_t *ret_ns);

/* The name of the function of the kernel in which it waits; "" if it does not, or that cannot be known. */
void process_stat_channel(pid_t pid, char *text, size_t text_bytes);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For tests that start processes: all that carry one setting in their environment are found again,
 * whoever their parent is by now.  Ended ones that nobody has waited for are not counted.
 */
#ifndef TEST_SUPPORT_PROCESSES_H
#define TEST_SUPPORT_PROCESSES_H

#include <stddef.h>
#include <stdint.h>

/* How many living processes but the caller have exactly this "NAME=value". */
size_t processes_count(const char *setting);
/* Waits until there are as many as wanted (or at least that many); the milliseconds it took, or -1
 * when the patience is over. */
int64_t processes_wait(const char *setting, size_t wanted, uint32_t patience_ms);
int64_t processes_wait_at_least(const char *setting, size_t wanted, uint32_t patience_ms);
/* SIGKILL to all of them. */
void processes_kill(const char *setting);
/* A setting that no other process has. */
const char *processes_setting(void);

#endif

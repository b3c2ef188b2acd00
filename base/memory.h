/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * malloc and friends that log a line and abort instead of returning NULL, also for 0 bytes: no memory
 * is fail-stop (doc/architecture.rst, "What the code relies on").  The caller owns what they return
 * and gives it to free().
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stddef.h>

void *memory_allocate(size_t bytes); /* not zeroed */
void *memory_allocate_zeroed(size_t bytes);
void *memory_resize(void *memory, size_t bytes);
void *memory_copy(const void *data, size_t bytes);
char *memory_copy_string(const char *text);
char *memory_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif

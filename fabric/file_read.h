/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A whole file in memory.  Its size is not asked for: files of /proc have none, and others may grow
 * while they are read.
 */
#ifndef FABRIC_FILE_READ_H
#define FABRIC_FILE_READ_H

#include <stddef.h>

#include "base/buffer.h"

/* Appends what can be read from fd up to its end: 0, -EFBIG if that is more than bytes_max, or the
 * system's answer; contents then has the bytes_max that fit, or what was read before. */
int file_read_fd(int fd, size_t bytes_max, struct buffer *contents);
/* The same of the file of that name, which is opened and closed. */
int file_read(const char *path, size_t bytes_max, struct buffer *contents);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files that output is written to, of which there may be thousands, one for each rank: they are
 * found by path, created (and emptied) when they are first opened, with directories that are
 * missing, and at most OUTPUT_FILES_OPEN_MAX are open at once.  One that is opened again is
 * appended to.  Only files are written, never a directory, a pipe or a terminal.
 */
#ifndef LAUNCH_CLI_CLIENT_OUTPUT_FILES_H
#define LAUNCH_CLI_CLIENT_OUTPUT_FILES_H

#include <stddef.h>

#include "base/error.h"

#define OUTPUT_FILES_OPEN_MAX 64u

struct output_files;
struct output_file;

/* Before anything is started: creates (and empties) the file of a pattern that is one path, or looks
 * at the directory of one that is many.  -errno and an error that names the file. */
int output_files_prepare(const char *pattern, struct error *error);
struct output_files *output_files_create(void);
/* The user pointers are not touched. */
void output_files_destroy(struct output_files *files);
/* The file of that path, open or not. */
struct output_file *output_files_find(struct output_files *files, const char *path);
/* Walks all files in the order in which they were found: begin with *cursor = 0; NULL at the end. */
struct output_file *output_files_next(const struct output_files *files, size_t *cursor);
/* The caller's pointer, NULL at first. */
void **output_files_user(struct output_file *file);
const char *output_files_path(const struct output_file *file);
/* Its descriptor, until the next call, or -errno; an error of one that was closed for it is
 * reported by output_files_close. */
int output_files_open(struct output_files *files, struct output_file *file);
/* Closes all; -errno and an error that names the file if what was written may not be there. */
int output_files_close(struct output_files *files, struct error *error);

#endif

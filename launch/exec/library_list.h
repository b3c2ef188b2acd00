/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shared libraries of a program, as its own loader finds them.  Blocks: it runs the loader.
 */
#ifndef LAUNCH_EXEC_LIBRARY_LIST_H
#define LAUNCH_EXEC_LIBRARY_LIST_H

#include <limits.h>

#include "base/buffer.h"

/* 1 if it is a regular file that may be executed. */
int library_list_is_program(const char *path);
/* As a process is started: a word with a slash is relative to the directory, others are searched in
 * search, which has the form of PATH.  1 if found. */
int library_list_find(const char *word, const char *directory, const char *search,
                      char path[PATH_MAX]);
/* The program's dynamic loader; 0 if it has none: a script, or statically linked. */
int library_list_loader(const char *path, char loader[PATH_MAX]);
/* What the loader lists, in out; returns its wait status, or -errno.  directory: NULL: the current one. */
int library_list_run(const char *loader, const char *path, char *const *environment,
                     const char *directory, struct buffer *out);
/* Of such a list: the libraries that were not found, separated by commas. */
void library_list_missing(struct buffer *list, struct buffer *ret_missing);
/* Runs a command and collects its stdout and stderr in out.  Returns the wait status, or -errno. */
int library_list_command(char *const *argv, char *const *environment, const char *directory,
                         struct buffer *out);

#endif

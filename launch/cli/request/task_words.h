/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The words of a task: a line split as a shell does it, but without expanding anything; GNU parallel's
 * replacement strings; and words written so that a shell reads them again.
 */
#ifndef LAUNCH_CLI_REQUEST_TASK_WORDS_H
#define LAUNCH_CLI_REQUEST_TASK_WORDS_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/* Words of a line: blanks separate them, '...' and "..." and a backslash quote, # begins a comment where a
 * word could begin.  *ret_words: NULL at its end, of task_words_free; no words at all are fine. */
int task_words_split(const char *line, char ***ret_words, uint32_t *ret_count, struct error *error);
void task_words_free(char **words);
/* The words of a command with an argument put in for {}, {.} (without extension), {/} (base name), {//}
 * (directory), {/.} (base name without extension) and {#} (number); appended where there is none of the
 * first five. */
char **task_words_replace(char *const *command, const char *argument, uint32_t number);
/* On one line, words quoted where they need it. */
void task_words_print(char *const *words, struct buffer *out);

#endif

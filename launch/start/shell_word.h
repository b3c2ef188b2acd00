/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Words of a command that a shell on another machine reads: each comes out there as it went in,
 * whether the shell is of Bourne's kind or C's.
 */
#ifndef LAUNCH_START_SHELL_WORD_H
#define LAUNCH_START_SHELL_WORD_H

#include "base/buffer.h"

/* Appends the word, in quotes where it needs them. */
void shell_word_put(struct buffer *out, const char *word);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion of banyan's command lines by bash, zsh and fish: a script for the shell, made from the tables of
 * options that parse command lines, so that the two cannot differ.  What the value of an option may be is
 * read from its name in the help text ("FILE|none": a file, or the word) and its choices.  Pure: tables
 * in, text out.
 */
#ifndef LAUNCH_CLI_OPTION_COMPLETION_H
#define LAUNCH_CLI_OPTION_COMPLETION_H

#include <stddef.h>

#include "base/buffer.h"
#include "launch/cli/option/options.h"

struct completion_verb {
    const char *name;
    const char *summary;
    const char *words; /* what follows the options, written like the value of one; NULL: nothing */
    const struct option_rule *rules; /* of rows with the same name the first counts; NULL: none */
};

struct completion_shell {
    const char *name;
    void (*print)(const struct completion_verb *verbs, size_t count, struct buffer *out);
};

#define COMPLETION_SHELLS 3

extern const struct completion_shell completion_shells[COMPLETION_SHELLS];

#endif

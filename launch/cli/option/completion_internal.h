/* SPDX-License-Identifier: BSD-3-Clause */
/* What the scripts for the three shells share. */
#ifndef LAUNCH_CLI_OPTION_COMPLETION_INTERNAL_H
#define LAUNCH_CLI_OPTION_COMPLETION_INTERNAL_H

#include "launch/cli/option/completion.h"

/* What a value may be: one of the words, or what this machine has. */
struct completion_value {
    struct buffer words; /* separated by one blank */
    int files;
    int directories;
    int programs;
};

/* text NULL: nothing is known.  The caller's to fini. */
void completion_value_read(const char *text, const char *choices,
                           struct completion_value *ret_value);
void completion_value_fini(struct completion_value *value);

/* Whether the row is an option, and no earlier one has its name. */
int completion_is_option(const struct option_rule *rules, const struct option_rule *rule);
/* The text up to what explains it further, for a script in single quotes; a backslash precedes each
 * character of `special`. */
void completion_put_summary(const char *text, const char *special, struct buffer *out);
/* The whole text, likewise. */
void completion_put_quoted(const char *text, const char *special, struct buffer *out);

void completion_bash_print(const struct completion_verb *verbs, size_t count, struct buffer *out);
void completion_zsh_print(const struct completion_verb *verbs, size_t count, struct buffer *out);
void completion_fish_print(const struct completion_verb *verbs, size_t count, struct buffer *out);

#endif

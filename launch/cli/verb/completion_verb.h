/* SPDX-License-Identifier: BSD-3-Clause */
/* `banyan completion`: the script by which a shell completes banyan's command lines. */
#ifndef LAUNCH_CLI_VERB_COMPLETION_VERB_H
#define LAUNCH_CLI_VERB_COMPLETION_VERB_H

#include "base/buffer.h"
#include "launch/cli/option/completion.h"

/* verbs: all of banyan.  argv[0] is the verb.  Returns the exit status. */
int completion_verb(const struct completion_verb *verbs, size_t count, int argc, char **argv);
void completion_verb_help(struct buffer *out);
const struct option_rule *completion_verb_rules(void);

#endif

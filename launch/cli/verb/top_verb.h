/* SPDX-License-Identifier: BSD-3-Clause */
/* `banyan top`: what the nodes and jobs of an instance use, again and again on a terminal. */
#ifndef LAUNCH_CLI_VERB_TOP_VERB_H
#define LAUNCH_CLI_VERB_TOP_VERB_H

#include "base/buffer.h"
#include "launch/cli/option/options.h"

/* Returns the exit status. */
int top_verb(int argc, char **argv);
void top_verb_help(struct buffer *out);
const struct option_rule *top_verb_rules(void);

#endif

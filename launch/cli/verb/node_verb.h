/* SPDX-License-Identifier: BSD-3-Clause */
/* `banyan node`: the nodes of an instance: list, add, drain, resume, remove. */
#ifndef LAUNCH_CLI_VERB_NODE_VERB_H
#define LAUNCH_CLI_VERB_NODE_VERB_H

#include "base/buffer.h"
#include "launch/cli/option/options.h"

/* argv[0] is the verb.  Returns the exit status. */
int node_verb(int argc, char **argv);
void node_verb_help(struct buffer *out);
const struct option_rule *node_verb_rules(void);

#endif

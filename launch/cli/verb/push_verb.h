/* SPDX-License-Identifier: BSD-3-Clause */
/* `banyan push`: files for the nodes of an instance, where all of its jobs find them. */
#ifndef LAUNCH_CLI_VERB_PUSH_VERB_H
#define LAUNCH_CLI_VERB_PUSH_VERB_H

#include "base/buffer.h"
#include "launch/cli/option/options.h"

int push_verb(int argc, char **argv);
void push_verb_help(struct buffer *out);
const struct option_rule *push_verb_rules(void);

#endif

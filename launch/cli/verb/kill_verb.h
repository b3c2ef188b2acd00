/* SPDX-License-Identifier: BSD-3-Clause */
/* `banyan kill` and `banyan signal`: end jobs of an instance, or send signals to some of their ranks. */
#ifndef LAUNCH_CLI_VERB_KILL_VERB_H
#define LAUNCH_CLI_VERB_KILL_VERB_H

#include "base/buffer.h"
#include "launch/cli/option/options.h"

/* argv[0] is the verb.  Both return the exit status: that of the first job that there is not, else 0. */
int kill_verb(int argc, char **argv);
int kill_verb_signal(int argc, char **argv);
void kill_verb_help(struct buffer *out);
void kill_verb_help_signal(struct buffer *out);
const struct option_rule *kill_verb_rules(void);
const struct option_rule *kill_verb_rules_signal(void);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* `banyan status` and `banyan ps`: an instance, its jobs and their processes (instance_report.h). */
#ifndef LAUNCH_CLI_VERB_PS_VERB_H
#define LAUNCH_CLI_VERB_PS_VERB_H

#include "base/buffer.h"
#include "launch/cli/option/options.h"

/* argv[0] is the verb.  Both return the exit status. */
int ps_verb(int argc, char **argv);
int ps_verb_status(int argc, char **argv);
void ps_verb_help(struct buffer *out);
void ps_verb_help_status(struct buffer *out);
const struct option_rule *ps_verb_rules(void);
const struct option_rule *ps_verb_rules_status(void);

#endif

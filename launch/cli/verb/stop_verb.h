/* SPDX-License-Identifier: BSD-3-Clause */
/* `banyan stop`: ends an instance and its jobs, and waits until its root has exited. */
#ifndef LAUNCH_CLI_VERB_STOP_VERB_H
#define LAUNCH_CLI_VERB_STOP_VERB_H

#include "base/buffer.h"
#include "launch/cli/option/options.h"

/* argv[0] is the verb.  Returns the exit status. */
int stop_verb(int argc, char **argv);
void stop_verb_help(struct buffer *out);
const struct option_rule *stop_verb_rules(void);

#endif

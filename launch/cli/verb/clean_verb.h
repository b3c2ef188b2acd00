/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `banyan clean`: removes what dead instances of this user have left on this machine
 * (launch/doctor/leftovers.h), or only lists it.
 */
#ifndef LAUNCH_CLI_VERB_CLEAN_VERB_H
#define LAUNCH_CLI_VERB_CLEAN_VERB_H

#include "base/buffer.h"
#include "launch/cli/option/options.h"

/* argv[0] is the verb.  Returns the exit status; 1 if something could not be removed. */
int clean_verb(int argc, char **argv);
void clean_verb_help(struct buffer *out);
const struct option_rule *clean_verb_rules(void);

#endif

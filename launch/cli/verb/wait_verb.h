/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `banyan wait` and `banyan attach`: wait for jobs of an instance, which somebody else has run; the latter also prints what
 * they print from now on.  To end either of them ends no job.
 */
#ifndef LAUNCH_CLI_VERB_WAIT_VERB_H
#define LAUNCH_CLI_VERB_WAIT_VERB_H

#include "base/buffer.h"
#include "launch/cli/option/options.h"

/* argv[0] is the verb.  Both return the highest exit status of the jobs. */
int wait_verb(int argc, char **argv);
int wait_verb_attach(int argc, char **argv);
void wait_verb_help(struct buffer *out);
void wait_verb_help_attach(struct buffer *out);
const struct option_rule *wait_verb_rules(void);
const struct option_rule *wait_verb_rules_attach(void);

#endif

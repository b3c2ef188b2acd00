/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `banyan fabric`: the model of a fabric, its levels, and what paths through it cost.
 */
#ifndef LAUNCH_CLI_VERB_FABRIC_VERB_H
#define LAUNCH_CLI_VERB_FABRIC_VERB_H

#include "base/buffer.h"
#include "launch/cli/option/options.h"
#include "launch/cli/request/request.h"

/* argv[0] is the verb.  Appends the output. */
int fabric_verb(int argc, char *const *argv, const struct request_ops *ops, struct buffer *out,
                struct error *error);
void fabric_verb_help(struct buffer *out);
const struct option_rule *fabric_verb_rules(void);

#endif

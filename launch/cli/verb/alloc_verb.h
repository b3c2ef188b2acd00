/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `banyan alloc`: shows the nodes that a run with the same options would have, and starts nothing.
 */
#ifndef LAUNCH_CLI_VERB_ALLOC_VERB_H
#define LAUNCH_CLI_VERB_ALLOC_VERB_H

#include "base/buffer.h"
#include "launch/cli/option/options.h"
#include "launch/cli/request/request.h"

/* argv[0] is the verb.  Appends the output. */
int alloc_verb(int argc, char *const *argv, const struct request_ops *ops, struct buffer *out,
               struct error *error);
void alloc_verb_help(struct buffer *out);
const struct option_rule *alloc_verb_rules(void);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `banyan tree`: the tree of an instance's daemons, or the one that a run with the same options would have.
 * Starts nothing.
 */
#ifndef LAUNCH_CLI_VERB_TREE_VERB_H
#define LAUNCH_CLI_VERB_TREE_VERB_H

#include "base/buffer.h"
#include "launch/cli/option/options.h"
#include "launch/cli/request/request.h"

/* argv[0] is the verb.  Appends the output. */
int tree_verb(int argc, char *const *argv, const struct request_ops *ops, struct buffer *out,
              struct error *error);
void tree_verb_help(struct buffer *out);
const struct option_rule *tree_verb_rules(void);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `banyan config`: what the files and variables say, for each option of banyan run, and where.
 */
#ifndef LAUNCH_CLI_VERB_CONFIG_VERB_H
#define LAUNCH_CLI_VERB_CONFIG_VERB_H

#include "launch/cli/option/options.h"
#include "launch/cli/request/request.h"

int config_verb(int argc, char *const *argv, const struct request_ops *ops, struct buffer *out,
                struct error *error);
void config_verb_help(struct buffer *out);
const struct option_rule *config_verb_rules(void);

#endif

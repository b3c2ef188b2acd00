/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `banyan map`: prints where a run with the same options would put its processes, on the actual
 * nodes or on a described machine, and starts nothing.
 */
#ifndef LAUNCH_CLI_VERB_MAP_VERB_H
#define LAUNCH_CLI_VERB_MAP_VERB_H

#include "base/buffer.h"
#include "launch/cli/option/options.h"
#include "launch/cli/request/request.h"

/* argv[0] is the verb.  Appends the output. */
int map_verb(int argc, char *const *argv, const struct request_ops *ops, struct buffer *out,
             struct error *error);
void map_verb_help(struct buffer *out);
const struct option_rule *map_verb_rules(void);

#endif

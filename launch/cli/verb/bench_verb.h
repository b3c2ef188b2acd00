/* SPDX-License-Identifier: BSD-3-Clause */
/* `banyan bench`: has the daemons of an instance measure their tree, and reports. */
#ifndef LAUNCH_CLI_VERB_BENCH_VERB_H
#define LAUNCH_CLI_VERB_BENCH_VERB_H

#include "base/buffer.h"
#include "launch/cli/option/options.h"

int bench_verb(int argc, char **argv);
void bench_verb_help(struct buffer *out);
const struct option_rule *bench_verb_rules(void);

#endif

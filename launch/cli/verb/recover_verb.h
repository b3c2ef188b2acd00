/* SPDX-License-Identifier: BSD-3-Clause */
/* `banyan recover`: another root for an instance whose root has died. */
#ifndef LAUNCH_CLI_VERB_RECOVER_VERB_H
#define LAUNCH_CLI_VERB_RECOVER_VERB_H

#include "base/buffer.h"
#include "launch/cli/option/options.h"

const struct option_rule *recover_verb_rules(void);
void recover_verb_help(struct buffer *out);
/* Returns the exit status. */
int recover_verb(int argc, char **argv);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `banyan sim`: whole daemons of a machine of any size in one process and in virtual time
 * (launch/sim/sim.h), with operations, a network and faults of the user's choice.
 */
#ifndef LAUNCH_CLI_SIM_SIMULATE_H
#define LAUNCH_CLI_SIM_SIMULATE_H

#include "base/buffer.h"
#include "launch/cli/option/options.h"

/* argv[0] is the verb.  Returns the exit status: 0, 1 if something failed in the simulated world,
 * 125 if nothing could be simulated. */
int simulate_verb(int argc, char **argv);
void simulate_help(struct buffer *out);
const struct option_rule *simulate_rules(void);

#endif

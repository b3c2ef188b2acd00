/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line `banyan VERB ...`.
 */
#ifndef LAUNCH_CLI_VERB_COMMAND_H
#define LAUNCH_CLI_VERB_COMMAND_H

/* Returns the exit status. */
int command_main(int argc, char **argv);

#endif

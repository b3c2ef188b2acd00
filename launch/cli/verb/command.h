/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line `banyan VERB ...`.
 */
#ifndef LAUNCH_CLI_VERB_COMMAND_H
#define LAUNCH_CLI_VERB_COMMAND_H

/* banyan itself failed, or was asked for something wrong (design.md, "Errors"). */
#define COMMAND_STATUS_FAILED 125

/* Returns the exit status. */
int command_main(int argc, char **argv);

#endif

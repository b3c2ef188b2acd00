/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the daemons of a run are started: what --starter and --ssh-agent say; else by forking, where
 * all nodes are this machine; else as the scheduler whose job the nodes are of has it, if its
 * command is there; else by ssh.
 */
#ifndef LAUNCH_CLI_REQUEST_RUN_STARTER_H
#define LAUNCH_CLI_REQUEST_RUN_STARTER_H

#include "base/error.h"
#include "launch/cli/request/run_nodes.h"

/* Sets starter, agent and start_timeout_s of the instance; its radix where the starter has a limit
 * and the settings say nothing. */
int run_starter_choose(const struct run_settings *settings, const struct run_world *world,
                       const struct run_nodes *nodes, struct instance_spec *instance,
                       struct error *error);
/* As --starter says it. */
const char *run_starter_name(enum starter_kind kind);

#endif

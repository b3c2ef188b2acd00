/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the daemons of a run are started: as --starter and --ssh-agent say; else by forking, if all
 * nodes are this machine; else by the scheduler of the job that has the nodes, if its command is
 * installed; else by ssh.
 */
#ifndef LAUNCH_CLI_REQUEST_REQUEST_STARTER_H
#define LAUNCH_CLI_REQUEST_REQUEST_STARTER_H

#include "base/error.h"
#include "launch/cli/request/request_nodes.h"

/* Sets starter, agent and start_timeout_s of the instance; its radix if the starter has a limit and
 * the settings do not give one. */
int request_starter_choose(const struct request_settings *settings, const struct request_ops *ops,
                           const struct request_nodes *nodes, struct instance_spec *instance,
                           struct error *error);
/* The name as in --starter. */
const char *request_starter_name(enum starter_kind kind);

#endif

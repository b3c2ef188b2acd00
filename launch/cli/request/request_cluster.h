/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the configuration's clusters (alloc/site.h) say about how a run starts on nodes that are named by their
 * cluster.  What the command line gives has precedence.
 */
#ifndef LAUNCH_CLI_REQUEST_REQUEST_CLUSTER_H
#define LAUNCH_CLI_REQUEST_REQUEST_CLUSTER_H

#include "alloc/allocation.h"
#include "alloc/site.h"
#include "base/error.h"
#include "launch/cli/request/request_settings.h"

/* The agent of a cluster's starter ssh, "ssh -p 2222", for the caller to free(); NULL: the default. */
char *request_cluster_agent(const struct site *site, const struct site_section *section);
/* Sets in settings the starter, and the agent, of the clusters that have the nodes; *ret_agent is the caller's
 * to free() when the settings are no longer used.  -EINVAL if clusters want different ones, or if the starter
 * does not call nodes by their address.  O(runs of names). */
int request_cluster_starter(const struct site *site, const struct allocation *allocation,
                            struct request_settings *settings, char **ret_agent,
                            struct error *error);
/* The text of --tmpdir (alloc/node_text.h) after the directories of the clusters that have the nodes, so that
 * it has precedence; given NULL: none.  NULL if there is neither; the caller's to free(). */
char *request_cluster_tmpdir(const struct site *site, const struct allocation *allocation,
                             const char *given);

#endif

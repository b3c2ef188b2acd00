/* SPDX-License-Identifier: BSD-3-Clause */
/* `banyan node add`: which nodes are asked for, and what is said if they do not come up. */
#ifndef LAUNCH_CLI_VERB_NODE_ADD_H
#define LAUNCH_CLI_VERB_NODE_ADD_H

#include "launch/cli/verb/instance_verb.h"

/* -EINVAL unless exactly one of words, a file and the scheduler says which nodes. */
int node_add_check(const struct instance_settings *settings, char *const *words,
                   struct error *error);
/* Words are as those of --host; or a file has them (else NULL).  ret_nodes is an empty one. */
int node_add_find(const char *file, char *const *words, struct allocation *ret_nodes,
                  struct error *error);
int node_add(struct instance_client *client, const struct instance_settings *settings,
             char *const *words, struct error *error);

#endif

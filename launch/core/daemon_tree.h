/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connects a daemon's core to its endpoint in the tree (overlay/endpoint.h): upcalls become events, the
 * core's operations on the tree become calls.
 */
#ifndef LAUNCH_CORE_DAEMON_TREE_H
#define LAUNCH_CORE_DAEMON_TREE_H

#include "launch/core/daemon_core.h"
#include "overlay/endpoint.h"

/* The context is the core. */
extern const struct endpoint_events daemon_tree_events;

void daemon_tree_attach(struct daemon_core *core, struct endpoint *endpoint);

#endif

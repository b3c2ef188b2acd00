/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What makes a process a separate "node" on this machine (--virtual-nodes): a loopback address, a
 * TMPDIR, and, where the system allows it, its own host name and /dev/shm.  Cost: about
 * 0.25 ms for the name spaces.
 */
#ifndef LAUNCH_EXEC_VIRTUAL_NODE_H
#define LAUNCH_EXEC_VIRTUAL_NODE_H

#include "base/error.h"

#define VIRTUAL_NODE_PREFIX     "v"
#define VIRTUAL_NODE_TEXT_BYTES 16 /* "127.255.255.255" and NUL */

/* The loopback address of v1, v2, ...: 127.1.0.0 plus the number.  Root (NULL) and names of another
 * form have 127.0.0.1.  Never fails. */
void virtual_node_address(const char *name, char text[VIRTUAL_NODE_TEXT_BYTES]);
/* Turns the calling process into that node.  TMPDIR (base/name) is made if base is not NULL and put
 * into the environment; only that can fail. */
int virtual_node_enter(const char *name, const char *base, struct error *error);
/* 1 if host name and /dev/shm are this node's own. */
int virtual_node_is_isolated(void);

#endif

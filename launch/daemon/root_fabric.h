/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The root's model of the network between the nodes of the instance (--fabric-topology): of what the file or shape
 * describes, the NICs of nodes that live.  The file is looked at once a second, and nodes come and go; each change makes
 * another model.  In an instance that stays it is also a file in the session directory, SESSION_FABRIC_FILE, which is replaced
 * as a whole: libbanyan-fabric follows it (doc/scheduler.rst).
 *
 * Cost: nothing without the option; else O(NICs) memory at the root, as fabric_model.h says, twice, and O(NICs) time for
 * each change.
 */
#ifndef LAUNCH_DAEMON_ROOT_FABRIC_H
#define LAUNCH_DAEMON_ROOT_FABRIC_H

#include "fabric/topology/fabric_model.h"
#include "launch/daemon/daemon_internal.h"

struct root_fabric;

/* After the session's directory has been made.  NULL and no error without the option; an error: the description cannot
 * be read. */
int root_fabric_open(struct daemon *daemon, struct error *error);
void root_fabric_close(struct daemon *daemon);
/* As it is now.  Has the file looked at: what has changed there follows in a moment.  NULL: no node that lives is described, or nothing is. */
const struct fabric_model *root_fabric_model(struct daemon *daemon);

#endif

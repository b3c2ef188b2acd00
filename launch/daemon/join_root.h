/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The starter `join`: banyan starts nothing.  The root writes a token for each node into a file, and
 * waits until somebody has run `banyand --join` with it there (Kubernetes, a batch system that we do
 * not know, by hand).  A daemon that proves its token on the root's own port gets its boot record,
 * once, and finds its parent as one does that a one-shot starter has started (launch/start/one_shot.h).
 *
 * The file has mode 0600 and is removed when all have joined or the root ends.
 */
#ifndef LAUNCH_DAEMON_JOIN_ROOT_H
#define LAUNCH_DAEMON_JOIN_ROOT_H

#include <stdint.h>

#include "fabric/link_set.h"

struct daemon;
struct join_root;

extern const struct link_guests join_root_guests; /* context: struct join_root * */

/* Before the links are opened, and while the record still has the secret. */
struct join_root *join_root_create(struct daemon *daemon);
/* Writes the file and tells the user; the wait begins.  If it cannot be written nobody can come: the
 * error says why. */
int join_root_start(struct join_root *join, struct error *error);
/* The daemon of a place is up.  join may be NULL. */
void join_root_linked(struct join_root *join, uint32_t place);
void join_root_destroy(struct join_root *join); /* NULL is fine */

#endif

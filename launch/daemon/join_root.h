/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The starter `join`: banyan does not start the daemons.  The root writes a file with a token for each
 * node and waits until `banyand --join` has been run with it on all of them (by Kubernetes, by a batch
 * system that banyan does not know, by hand).  A daemon that proves on the root's port that it has a
 * token gets its boot record, once, and finds its parent like one that was started by a one-shot starter
 * (launch/start/one_shot.h).
 *
 * The file has mode 0600 and is removed when all daemons have joined or the root ends.
 */
#ifndef LAUNCH_DAEMON_JOIN_ROOT_H
#define LAUNCH_DAEMON_JOIN_ROOT_H

#include <stdint.h>

#include "fabric/link_set.h"

struct daemon;
struct join_root;

extern const struct link_guests join_root_guests; /* context: struct join_root * */

/* Must be called before the links are opened, while the record still has the secret. */
struct join_root *join_root_create(struct daemon *daemon);
/* Writes the file and asks the user to start the daemons.  Without the file none can join: the error
 * says why it cannot be written. */
int join_root_start(struct join_root *join, struct error *error);
/* The daemon of a place has joined.  join may be NULL. */
void join_root_linked(struct join_root *join, uint32_t place);
void join_root_destroy(struct join_root *join); /* NULL is fine */

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `banyand --join`: a daemon that somebody starts with a token (launch/start/join_token.h).  Until it has its
 * boot record it blocks, with a limit of time; signals end it with a line.
 */
#ifndef LAUNCH_DAEMON_JOIN_DAEMON_H
#define LAUNCH_DAEMON_JOIN_DAEMON_H

#include "base/error.h"
#include "launch/proto/boot.h"

struct daemon;

struct join_request {
    const char *path;      /* of the file with the token, "-": stdin */
    const char *node_name; /* whose line it is if there are several; NULL: this host's name */
};

/* Reads the token, proves it to the root, and fills in the record, which is initialised. */
int join_daemon_fetch(const struct join_request *request, struct boot_record *record,
                      struct error *error);
/* SIGINT, SIGTERM and SIGHUP end the daemon in order from now on, as the death of its node. */
void join_daemon_watch_signals(struct daemon *daemon);

#endif

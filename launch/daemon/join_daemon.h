/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `banyand --join`: a daemon that a user starts with a token (launch/start/join_token.h).  Until it has
 * its boot record it blocks, with a time limit; a signal ends it with a message.
 */
#ifndef LAUNCH_DAEMON_JOIN_DAEMON_H
#define LAUNCH_DAEMON_JOIN_DAEMON_H

#include "base/error.h"
#include "launch/proto/boot.h"

struct daemon;

struct join_request {
    const char *path;      /* of the token file; "-": stdin */
    const char *node_name; /* selects the line of the file; NULL: this host's name */
};

/* Reads the token, proves to the root that it has it, and fills in the record, which the caller has
 * initialised. */
int join_daemon_fetch(const struct join_request *request, struct boot_record *record,
                      struct error *error);
/* From now on SIGINT, SIGTERM and SIGHUP end the daemon in order; to the instance its node has died. */
void join_daemon_watch_signals(struct daemon *daemon);

#endif

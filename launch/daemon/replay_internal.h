/* SPDX-License-Identifier: BSD-3-Clause */
/* Of launch/daemon/replay.c and replay_ops.c, which has the operations that are not performed again. */
#ifndef LAUNCH_DAEMON_REPLAY_INTERNAL_H
#define LAUNCH_DAEMON_REPLAY_INTERNAL_H

#include "base/ranges.h"
#include "launch/daemon/replay.h"

struct hash_map;

struct replay_timer {
    enum daemon_timer timer;
    uint32_t job;
    uint64_t deadline_ns;
};

struct replay {
    char *path;         /* of the journal */
    struct buffer text; /* the journal, while it is read */
    struct wire_reader reader;
    uint64_t
        survive_ns; /* how long the nodes do without a root, at least, and at most a lease more */
    uint64_t lease_ns;
    struct journal_record record;
    bool is_ahead; /* record has been read, and is the next one */
    int rc;        /* of the last one read */
    uint64_t bytes;
    uint64_t now_ns;
    struct addresses own;
    struct daemon_core *core;
    struct endpoint *endpoint;
    struct hostlist *added;
    struct hash_map *timers; /* struct replay_timer, by timer and job */
    struct ranges clients;   /* that are connected */
    uint32_t last_client;
};

const struct transport_ops *replay_transport_ops(void);
/* What was posted from within the present step. */
void replay_post(struct replay *replay);
/* The connect to that place, which is being made, failed at once. */
bool replay_is_refused(struct replay *replay, uint32_t place);

#endif

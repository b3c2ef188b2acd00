/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where tools (PMIx 4.1, 17: pps, pquery, debuggers) connect to a node's PMIx server: a separate door
 * (pmi_door.h), as a tool belongs to no job, and the files by which libpmix's tools find it.  They are in the
 * server's directory, which only the user can read:
 *
 *     pmix.HOST.tool.PID          PID: of the server process
 *     pmix.HOST.tool.NAMESPACE    of the server, and of each job that is open in it
 *
 * A tool looks below $TMPDIR for names that begin like this.  All of them name the same address.
 *
 * Cost: a socket, a file for each name; nothing where no job uses PMIx.
 */
#ifndef LAUNCH_RANK_TOOL_DOOR_H
#define LAUNCH_RANK_TOOL_DOOR_H

#include <sys/types.h>

#include "launch/rank/pmi_door.h"

struct tool_door;

struct tool_door_config {
    struct loop *loop;
    const char *directory; /* of the server; the caller's, like namespace */
    const char *namespace; /* of the server */
    uint32_t rank;
    pid_t pid;
    door_function *admit; /* called for tools only */
    void *context;
};

/* NULL if the system has no port left: then there are no tools. */
struct tool_door *tool_door_open(const struct tool_door_config *config);
/* A job is open in the server, and no longer; NULL is fine. */
void tool_door_add_job(struct tool_door *door, uint32_t number, const char *namespace);
void tool_door_remove_job(struct tool_door *door, uint32_t number);
/* The files go with the directory.  NULL is fine. */
void tool_door_close(struct tool_door *door);

#endif

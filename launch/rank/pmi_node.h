/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The PMIx server of this node: the process that hosts libpmix (pmi_process.h), forked when the
 * first job needs it (fork_self.h) and used by all jobs of the instance that run here.  When it dies or
 * hangs the jobs that it serves fail, and the next job opened gets a new one; one that has grown is
 * replaced once no job is open.  It dies with the daemon.
 *
 * Cost: nothing until the first job is opened, then a message and its answer in 10 s.
 */
#ifndef LAUNCH_RANK_PMI_NODE_H
#define LAUNCH_RANK_PMI_NODE_H

#include <stdint.h>

#include "base/error.h"
#include "fabric/loop.h"
#include "launch/exec/session.h"
#include "launch/rank/pmi_watch.h"
#include "pmix/pmi.h"

#define PMI_NODE_SERVER_NAME "banyan-pmix" /* as ps shows it */

/* A server that uses more memory after its last job is not used again; after one client of a small
 * job it uses 7 to 17 MiB, and each job leaves some kB. */
#define PMI_NODE_GROWN_KIB (32u * 1024)

/* So often libpmix is asked whether it still does something while a job is open, and one that does not
 * answer is looked at.  Its longest known task, to register 100,000 local ranks, takes 15 s. */
#define PMI_NODE_CHECK_MS       10000u
#define PMI_NODE_SLEEPING_LOOKS 3u
#define PMI_NODE_BUSY_MS        60000u

/* libpmix forgets a job in less than a millisecond, one of 16,384 ranks in 10 to 30. */
#define PMI_NODE_CLOSE_MS 2000u

struct pmi_node;

struct pmi_node_config {
    struct loop *loop;
    const struct session *session;
    const char *session_id;
    const char *node_name;
    uint32_t place;
    int (*server_main)(void); /* pmi_process_main; its socket is standard input */
    /* 0: as PMI_NODE_CHECK_MS and its like say; a test has less patience. */
    uint32_t check_ms;
    struct pmi_watch_limits limits;
    uint32_t grown_kib; /* 0: PMI_NODE_GROWN_KIB */
};

/* Watches SIGCHLD on the loop: one per process. */
struct pmi_node *pmi_node_create(const struct pmi_node_config *config);
/* Open jobs get no callback.  Blocks, for PMI_NODE_CLOSE_MS at most, until a server that still runs has
 * forgotten the jobs closed before; it is killed then, and not waited for. */
void pmi_node_destroy(struct pmi_node *node);

/* The namespace by which clients know the current server, or the next one. */
const char *pmi_node_namespace(const struct pmi_node *node);
const char *pmi_node_directory(const struct pmi_node *node);

/* Registers the job with the server, starting it if necessary; ops.opened or ops.lost follows.
 * Negative errno if no descriptor or directory can be made for it. */
int pmi_node_open(struct pmi_node *node, const struct pmi_job *job, const struct pmi_ops *ops,
                  struct error *error);
void pmi_node_close(struct pmi_node *node, uint32_t job);
/* 1 if a server runs and a job is open there. */
int pmi_node_is_used(const struct pmi_node *node);
/* Takes fd. */
void pmi_node_admit(struct pmi_node *node, int fd, const struct pmi_process *process,
                    const void *message, size_t message_bytes);
/* speaker: the node. */
extern const struct pmi_events pmi_node_events;
/* Processes what the server has sent so far: called before the end of a process is reported, so that its finalize comes
 * first.  is_client: of one that was connected: then a server whose process is ending is lost at once, as its clients
 * notice that before its socket here is closed, and would seem to have failed by themselves.  Cost: a file of /proc. */
void pmi_node_catch_up(struct pmi_node *node, int is_client);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The helper's memory, shared by its few files: helper_process.c (loop, requests, reaping),
 * helper_group.c (ending groups).  Maps of processes by id and pid; O(local processes).
 */
#ifndef LAUNCH_EXEC_HELPER_STATE_H
#define LAUNCH_EXEC_HELPER_STATE_H

#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/hash_map.h"
#include "launch/exec/helper_child.h"
#include "launch/exec/helper_process.h"
#include "launch/exec/helper_wire.h"
#include "launch/exec/memory_kills.h"

/* One started process, until it has been reaped. */
struct worker {
    uint64_t id;
    uint32_t group;
    pid_t pid;
    int report_fd; /* -1 once it is known whether exec went well */
    int watched;   /* the loop waits for report_fd */
    int let_go; /* one that stops before its first instruction: it has, and we trace it no more */
    struct list_link starting;
    struct child_start *start;
    int outlives;    /* a daemon that goes on without ours */
    int failed;      /* FAILED was sent instead of STARTED */
    int ended_by_us; /* got a signal to end it */
    int ends_group;  /* of processes, when it fails */
};

/* A job's processes here.  Dying: nothing of it may stay alive. */
struct group {
    struct list_link node;
    uint32_t number;
    uint32_t living; /* workers */
    int sealed;      /* the daemon has named all its processes */
    int ending;      /* no more may be started */
    int killed;      /* SIGKILL is due */
    uint64_t kill_at_ns;
    int cgroup_fd; /* -1: none */
    char *cgroup_path;
    struct memory_kills memory_kills;
};

struct owned_directory {
    struct list_link node;
    char *path;
};

struct helper_state {
    struct helper_setup setup;
    int epoll_fd;
    int signal_fd;
    int null_fd;
    int socket_open;
    struct hash_map *by_id;
    struct hash_map *by_pid;
    uint32_t ends_groups; /* workers that do */
    struct list starting; /* struct worker whose report_fd is not watched yet */
    uint32_t starting_count;
    uint64_t starting_ns; /* when they are looked at, UINT64_MAX: there are none */
    struct list groups;
    struct list directories;
    struct buffer incoming; /* packets of the request that is coming */
    int fds[HELPER_FDS_MAX];
    uint32_t fds_count;
    struct buffer events; /* encoded, not yet sent */
    int sending;          /* the loop waits for room in the socket */
    uint64_t lease_ns;    /* deadline, UINT64_MAX: none */
    int closing;          /* everything is to end */
    int spares_daemons;   /* but not other nodes' daemons */
    uint64_t give_up_ns;  /* when closing */
    int clean;            /* the helper of a node on this machine may have been killed */
    int look;             /* an orphan may be there that must end */
    int awaits_helper;    /* at the end: that of a dead daemon, which is about to end itself */
};

/* helper_process.c */
uint64_t helper_now_ns(void);
void helper_tell(struct helper_state *state, enum helper_event_type type, uint64_t id,
                 int32_t value, uint32_t detail);

/* helper_exit.c: that a worker has ended, by whom, and what it has used. */
void helper_exit_tell(struct helper_state *state, const struct worker *worker, int wait_status,
                      const struct rusage *usage);

/* helper_group.c */
struct group *helper_group_find(struct helper_state *state, uint32_t number);
struct group *helper_group_get(struct helper_state *state, uint32_t number);
void helper_group_seal(struct helper_state *state, uint32_t number);
void helper_group_signal(struct helper_state *state, uint32_t number, int signal_number);
void helper_group_end(struct helper_state *state, uint32_t number, uint32_t grace_ms);
/* By whom a worker was ended that SIGKILL has ended. */
enum helper_end helper_group_killer(struct helper_state *state, uint32_t number);
/* As waitpid for any child, without waiting; what a failed process leaves in its group is killed if it asks for that. */
pid_t helper_group_reap_next(const struct helper_state *state, int *ret_status,
                             struct rusage *ret_usage);
void helper_group_worker_gone(struct helper_state *state, uint32_t number);
void helper_worker_signal(struct worker *worker, int signal_number);
/* SIGKILL to every rank (lease), or to everything that is ours. */
void helper_groups_kill(struct helper_state *state);
void helper_workers_kill(struct helper_state *state);
/* Looks for orphans, kills those that must end, reports groups that are empty. */
void helper_groups_step(struct helper_state *state);
/* When helper_groups_step must run even if no child ends; UINT64_MAX: never. */
uint64_t helper_groups_deadline_ns(const struct helper_state *state);

#endif

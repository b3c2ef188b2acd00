/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The helper: a small process that a daemon forks before it loads anything.  It starts processes
 * (several at once; fork from a small process is 60 times cheaper than from a large one), reaps and
 * reports them, enforces the lease, and, when its daemon dies, kills what is left and removes the
 * daemon's directories.  It is a subreaper, and whatever it adopts of a job
 * (double forks, setsid) it kills with the job.  Daemon and helper watch each other through one
 * SOCK_SEQPACKET pair; descriptors travel in it.  The helper has a session without terminal; each
 * process gets PDEATHSIG, a separate process group and, per job, a cgroup v2 where the system
 * allows; its signals, mask and descriptor limit are as if nobody had touched them.
 *
 * This header is the daemon's side.
 */
#ifndef LAUNCH_EXEC_HELPER_H
#define LAUNCH_EXEC_HELPER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/ranges.h"
#include "fabric/loop.h"
#include "launch/proto/process_limits.h"
#include "launch/proto/start_step.h"

struct helper;
struct usage_rank;

#define HELPER_FDS_MAX    8
#define HELPER_TARGET_MAX 31 /* highest number a descriptor can be given in a process */

struct helper_fd {
    int fd;     /* the caller's; a duplicate travels */
    int target; /* its number in the process */
};

/* A rank's id: below 2^32 there are no jobs, but starters and what else is the caller's. */
#define HELPER_RANK_ID(job, index) ((uint64_t)(job) << 32 | (index))

/* One process to start.  id is the caller's, unique among living ones. */
struct helper_process {
    uint64_t id;
    uint32_t group; /* job number (> 0) of a rank: kill and signal address it; 0: a starter */
    char *const *argv;
    char *const *environment;
    const char *directory;
    const struct helper_fd *fds; /* all others are closed; 0..2 not given are /dev/null */
    uint32_t fds_count;
    const struct ranges *cpus;   /* the kernel's numbers of processors to run on; NULL: all */
    const struct ranges *memory; /* of NUMA nodes to take memory from; NULL: all */
    int memory_is_bound;         /* from nowhere else */
    const struct process_limits *limits; /* NULL: none */
    int is_stopped;                      /* by SIGSTOP, before its first instruction */
    int ends_group; /* when it fails, what it leaves in its process group is killed before EXITED */
    int has_terminal; /* a separate session, whose terminal is its descriptor 0 */
    int more_follow;  /* in later turns of the loop: helper_seal_group ends the group's starts */
};

/* By whom a process was ended, as far as the helper knows. */
enum helper_end {
    HELPER_END_OTHERS,
    HELPER_END_US,     /* the helper had sent it a signal to end it */
    HELPER_END_MEMORY, /* the kernel's out-of-memory killer */
    HELPER_END_MEMORY_NEAR, /* SIGKILL, and that killer has been at work around it since the job's start */
    HELPER_END_COUNT
};

struct helper_events {
    void (*started)(void *context, uint64_t id, pid_t pid);
    /* Could not be started: code is -errno of the step; -EMFILE of START_STEP_FORK: descriptors are
     * short here or in the helper.  text, for the time of the call: of START_STEP_INTERPRETER what the
     * first line names, with what cannot be seen written as in C, or "" if it is the loader; of
     * START_STEP_LIMIT the limit; else "". */
    void (*failed)(void *context, uint64_t id, int code, enum start_step step, const char *text);
    /* wait_status as of waitpid. */
    void (*exited)(void *context, uint64_t id, int wait_status, enum helper_end end,
                   const struct usage_rank *usage);
    /* Every process of the group, also adopted grandchildren, has ended: what was left when the last
     * started one had ended has been killed.  Processes that are given in one turn of the loop count
     * together, and those with more_follow until helper_seal_group; what is started in a group after
     * its end is a new group. */
    void (*group_empty)(void *context, uint32_t group);
    /* The helper was busy (helper_is_busy) and has taken all.  May be NULL. */
    void (*room)(void *context);
    /* The helper itself has died: the daemon must end; its processes are already dead or dying. */
    void (*gone)(void *context);
};

/* What helper_start_daemon runs: daemon_main.  To be set before helper_fork. */
void helper_set_daemon(int (*entry)(const char *virtual_node));

/* Forks it.  Makes the caller a subreaper, too.  Call before libevent, OpenSSL or threads exist.  Returns in the daemon only. */
struct helper *helper_fork(struct error *error);
/* Starts to deliver events on the loop. */
int helper_attach(struct helper *helper, struct loop *loop, const struct helper_events *events,
                  void *context);
pid_t helper_pid(const struct helper *helper);
/* 1 from the `gone` upcall on. */
int helper_is_gone(const struct helper *helper);

/* Every start is answered, by `started` or `failed`.  Never waits: what the socket has no room for is
 * queued, with duplicates of its descriptors for as many as an eighth of their limit; a caller that
 * starts many waits for `room`. */
void helper_start(struct helper *helper, const struct helper_process *process);
/* Requests wait for room in the socket. */
int helper_is_busy(const struct helper *helper);
/* Those that were started with more_follow are all. */
void helper_seal_group(struct helper *helper, uint32_t group);
/* Daemons that are started from now on outlive the caller and its helper, as they would on separate
 * nodes. */
void helper_spare_daemons(struct helper *helper);
/* Starts a daemon without exec: in the child, `banyand` runs on fds 0..2 as if it had been started
 * by an agent (daemon_main with those descriptors).  virtual_node: name, or NULL for STARTER_LOCAL.
 * The virtual node's name space, TMPDIR and loopback address come with it (virtual_node.h). */
void helper_start_daemon(struct helper *helper, uint64_t id, const char *virtual_node,
                         const char *virtual_base, const struct helper_fd *fds, uint32_t fds_count);
/* Inspects this machine, in a separate process: survey_read (survey_read.h), whose answer is written to
 * fd, of which a duplicate travels.  Ends with it. */
void helper_survey(struct helper *helper, uint64_t id, unsigned int want, const char *require,
                   uint32_t node, int fd);
/* Starts the process that stages files (stage_worker.h), connected to fd, of which a duplicate travels. */
void helper_stage(struct helper *helper, uint64_t id, const char *base, const char *cache,
                  uint32_t place, int shares, int fd);
/* Takes the stacks of processes, in a separate process: stack_read (stack_read.h), whose answer is written to fd, of which a
 * duplicate travels. */
void helper_stacks(struct helper *helper, uint64_t id, char *const *words, uint32_t limit_ms,
                   int fd);
/* Sends a signal to every process group of the job / one process's group. */
void helper_signal_group(struct helper *helper, uint32_t group, int number);
void helper_signal(struct helper *helper, uint64_t id, int number);
/* Ends a group: SIGTERM and SIGCONT, SIGKILL after grace_ms (0: at once); group_empty follows, also
 * of a group that has no process. */
void helper_end_group(struct helper *helper, uint32_t group, uint32_t grace_ms);
/* A directory to remove (recursively, not following links, only if it is ours) when all ends, also if the
 * daemon is killed right after this call, with its process group: the call waits until the helper has left
 * that.  So make the directory after it. */
void helper_own_directory(struct helper *helper, const char *path);
/* The same of somebody who is dead: now, and at the end what his last processes have still made. */
void helper_remove_directory(struct helper *helper, const char *path);
/* A request to it has not been read yet. */
int helper_is_behind(const struct helper *helper);
/* Without a renewal within milliseconds from now all processes are killed. */
void helper_lease(struct helper *helper, uint32_t milliseconds);
/* Its standard error is /dev/null from now on: who reads what it was forked with need not wait for its end. */
void helper_detach(struct helper *helper);
/* Orderly end: everything is killed, directories are removed, the helper exits and is reaped.
 * Blocks until then, some milliseconds if nothing hangs; the daemon calls it last, not in an upcall.
 * -EOWNERDEAD if the helper was killed, now or before: its processes are killed nevertheless, the
 * directories are left to the caller. */
int helper_close(struct helper *helper);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The root of an instance as a child of the verb that has forked it: its start, its exit, and the
 * texts that it sends.  It is forked before there is an event loop, and watched by one.
 */
#ifndef LAUNCH_CLI_CLIENT_ROOT_PROCESS_H
#define LAUNCH_CLI_CLIENT_ROOT_PROCESS_H

#include <sys/types.h>

#include "base/error.h"
#include "base/wire.h"
#include "fabric/loop.h"
#include "launch/cli/request/request.h"
#include "launch/job/instance.h"

struct root_process {
    pid_t pid;       /* 0: none was forked */
    int has_ended;   /* and was waited for */
    int wait_status; /* from waitpid, once it has ended */
    int fd;          /* pidfd while it is watched */
    struct loop_watch *watch;
    void (*ended)(void *context);
    void *context;
};

/* Makes the directory of virtual nodes, if the request wants any, and forks the root (root_fork).  On
 * success the channel's descriptor is the caller's, which must call root_process_watch or
 * root_process_give_up. */
int root_process_fork(struct root_process *root, struct run_request *request,
                      enum instance_policy policy, int *ret_channel_fd, struct error *error);
/* ended is called once, after the process was waited for. */
void root_process_watch(struct root_process *root, struct loop *loop, void (*ended)(void *context),
                        void *context);
/* For a root that is not watched: closes the channel, which ends it, and waits for its exit. */
void root_process_give_up(struct root_process *root, int channel_fd);
/* Stops watching; the process continues if it has not ended. */
void root_process_unwatch(struct root_process *root);
/* Sends a signal to it, if it has not ended. */
void root_process_signal(const struct root_process *root, int number);

/* Passes the lines of a CONTROL_TEXT, read after its job's number, to say without their newlines;
 * -EPROTO if it cannot be decoded. */
int root_process_each_line(struct wire_reader *reader, void (*say)(void *context, const char *line),
                           void *context);
/* Prints a whole CONTROL_TEXT, whatever its job, on standard error, each line as one of banyan's.
 * What cannot be decoded is dropped. */
void root_process_print_text(struct wire_reader *reader);

#endif

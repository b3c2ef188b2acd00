/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The root of an instance: place 0, a separate daemon on the machine of the front end.
 */
#ifndef LAUNCH_DAEMON_ROOT_H
#define LAUNCH_DAEMON_ROOT_H

#include <sys/types.h>

#include "alloc/allocation.h"
#include "launch/job/instance.h"
#include "launch/proto/boot.h"
#include "launch/proto/instance_spec.h"

struct replay;

/* What a root begins with. */
struct root_config {
    struct boot_record record; /* taken */
    const struct allocation *roster;
    enum instance_policy policy;
    struct replay *replay; /* NULL, or it goes on from there */
};

/* The life of the root, in its own process; returns the exit status. */
int root_live(struct root_config *config, int channel_fd);
/* Forks a process that begins with life, whose result is its exit status, and connects it to the caller. */
int root_fork_with(int (*life)(void *context, int channel_fd), void *context, pid_t *ret_pid,
                   int *ret_channel_fd, struct error *error);

/* Forks the root, without exec, as a child of the caller, which must not have threads or have used
 * libevent or OpenSSL.  spec and allocation describe the instance; the caller's copy of the secret is
 * wiped.  Returns, in the caller, the root's pid and the caller's end of the control channel (a stream
 * socket), which makes it the instance's first client.  Unless it detaches, the caller waits for the
 * root (waitpid) before it exits, so that nothing is left. */
int root_fork(struct instance_spec *spec, const struct allocation *allocation,
              enum instance_policy policy, pid_t *ret_pid, int *ret_channel_fd,
              struct error *error);

/* The same for an instance whose root has died, from the journal in its session directory (launch/daemon/journal.h):
 * READY comes on the channel when it goes on, and it stays when the caller leaves.  Fails with one line, and
 * without effect, if there is nothing to recover, or the root lives. */
int root_recover_fork(const char *directory, pid_t *ret_pid, int *ret_channel_fd,
                      struct error *error);

#endif

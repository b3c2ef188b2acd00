/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The root of an instance: place 0, a separate daemon on the machine of the front end.
 */
#ifndef LAUNCH_DAEMON_ROOT_H
#define LAUNCH_DAEMON_ROOT_H

#include <sys/types.h>

#include "alloc/allocation.h"
#include "launch/job/instance.h"
#include "launch/proto/instance_spec.h"

/* Forks the root, without exec, as a child of the caller, which must not have threads or have used
 * libevent or OpenSSL.  spec and allocation describe the instance; the caller's copy of the secret is
 * wiped.  Returns, in the caller, the root's pid and the caller's end of the control channel (a stream
 * socket), which makes it the instance's first client.  Unless it detaches, the caller waits for the
 * root (waitpid) before it exits, so that nothing is left. */
int root_fork(struct instance_spec *spec, const struct allocation *allocation,
              enum instance_policy policy, pid_t *ret_pid, int *ret_channel_fd,
              struct error *error);

#endif

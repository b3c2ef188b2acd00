/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The root of an instance: place 0, a daemon of its own where the user is.
 */
#ifndef LAUNCH_DAEMON_ROOT_H
#define LAUNCH_DAEMON_ROOT_H

#include <sys/types.h>

#include "alloc/allocation.h"
#include "launch/job/instance.h"
#include "launch/proto/instance_spec.h"

/* Forks the root (no exec) as a child of the caller, which must have neither threads, nor
 * libevent or OpenSSL started.  spec and allocation are what the instance is made of; the caller's
 * secret is wiped, for the root has it.  Returns in the caller: the root's pid and the caller's end of
 * the control channel (a stream socket), by which it is the instance's first client.  The caller waits
 * for the root's end (waitpid) before it exits itself, so that nothing is left, unless it detaches. */
int root_fork(struct instance_spec *spec, const struct allocation *allocation,
              enum instance_policy policy, pid_t *ret_pid, int *ret_channel_fd,
              struct error *error);

#endif

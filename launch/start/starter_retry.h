/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When an agent that has failed is called again.  The delay doubles with each call up to a limit; a part of it
 * depends on session, place and call, so that the agents of many nodes that failed together (an sshd or a name
 * server that is overloaded) do not return together.  Pure functions: equal arguments, equal delays.
 */
#ifndef LAUNCH_START_STARTER_RETRY_H
#define LAUNCH_START_STARTER_RETRY_H

#include <stdint.h>

#include "base/buffer.h"
#include "launch/proto/instance_spec.h"

/* From the end of the calls-th call (from 1 on) to the next one. */
uint64_t starter_retry_delay_ns(const char *session, uint32_t place, uint32_t calls);
/* An agent that has said this and ended so will do the same again. */
int starter_retry_is_useless(struct buffer *words, int wait_status);

/* A copy for further calls, without the secret; the boot word stays the caller's. */
struct instance_spec *starter_retry_keep(const struct instance_spec *instance);
/* Frees it, if there is one: there are no further calls. */
void starter_retry_forget(struct instance_spec **instance);

#endif

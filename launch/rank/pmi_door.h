/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The socket that the PMIx clients of a node connect to.  Each is accepted here, must belong to the
 * daemon's user according to the kernel, and must have sent its complete first message before it is
 * passed on; so clients that stay silent, send garbage or disconnect cost a descriptor for a while
 * and delay no one.
 *
 * Cost: O(clients that have not sent their first message), at most PMI_DOOR_WAITING_MAX; then the
 * oldest is dropped.
 */
#ifndef LAUNCH_RANK_PMI_DOOR_H
#define LAUNCH_RANK_PMI_DOOR_H

#include <stdint.h>

#include "base/error.h"
#include "fabric/loop.h"
#include "pmix/hello.h"

#define PMI_DOOR_WAITING_MAX 1024u
/* A healthy client sends it at once; on an overloaded machine that may take many seconds. */
#define PMI_DOOR_PATIENCE_NS 60000000000ull

struct door;

/* A client with its first message, which is valid during the call; takes fd. */
typedef void door_function(void *context, int fd, const struct hello *hello, const void *message,
                           size_t message_bytes);

/* NULL if the system has no port or descriptor left.  ret_port: on 127.0.0.1. */
struct door *pmi_door_open(struct loop *loop, door_function *function, void *context,
                           uint16_t *ret_port, struct error *error);
void pmi_door_close(struct door *door); /* NULL is fine */

/* Statuses of libpmix's server, versions 4 and 5. */
#define PMI_DOOR_NOT_PERMITTED (-23)
#define PMI_DOOR_NOT_FOUND     (-46)
#define PMI_DOOR_NOT_SUPPORTED (-47)
/* The first answer of libpmix's server is a status, which PMIx_Init returns in the client.  Closes fd. */
void pmi_door_refuse(int fd, int32_t status);

#endif

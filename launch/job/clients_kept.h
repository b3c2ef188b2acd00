/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the root of an instance keeps for clients that come later: the output of a job without a client, and the ends
 * of the last jobs.  Messages are kept as they are sent.
 *
 * Memory: CLIENTS_KEPT_BYTES_MAX for each such job that runs, and CLIENTS_ENDED_MAX ends with
 * CLIENTS_ENDED_BYTES_MAX of output together; what is over the bound is dropped, the oldest first.
 */
#ifndef LAUNCH_JOB_CLIENTS_KEPT_H
#define LAUNCH_JOB_CLIENTS_KEPT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

#define CLIENTS_KEPT_BYTES_MAX  (1024u * 1024)
#define CLIENTS_ENDED_MAX       1024u
#define CLIENTS_ENDED_BYTES_MAX (16u * 1024 * 1024)

/* Output of a job and of those that it has spawned, in the order in which it came. */
struct clients_kept;

typedef void clients_kept_send(void *context, uint8_t type, const void *payload, size_t bytes);

struct clients_kept *clients_kept_create(void);
void clients_kept_destroy(struct clients_kept *kept); /* takes NULL */
/* The payload of a CONTROL_OUTPUT. */
void clients_kept_add(struct clients_kept *kept, const void *payload, size_t bytes);
/* Sends all of it, and before it, if some was dropped, a CONTROL_TEXT of that job that says so. */
void clients_kept_replay(const struct clients_kept *kept, uint32_t job, clients_kept_send *send,
                         void *context);

/* Jobs that have ended. */
struct clients_ended;

struct clients_ended *clients_ended_create(void);
void clients_ended_destroy(struct clients_ended *ended);
/* end: the payload of its CONTROL_JOB_END, copied; kept: taken, may be NULL. */
void clients_ended_add(struct clients_ended *ended, uint32_t job, const struct buffer *end,
                       struct clients_kept *kept);
/* Sends what is kept of its output, then its end; 0 if it is not, or no longer, known. */
int clients_ended_replay(const struct clients_ended *ended, uint32_t job, clients_kept_send *send,
                         void *context);

#endif

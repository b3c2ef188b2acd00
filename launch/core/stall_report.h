/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who the ranks wait for.  Where an exchange meets, the overlay tells after a while which places it
 * waits for (node_events.missing); that goes to the root, which asks the first of these nodes how
 * their ranks are, and says one line: `fence 3 of job 1: waiting for rank 5 on v6 (alive, stopped in
 * state T); 7 arrived`.  It says it again only when it has changed.
 *
 * A node whose ranks have all ended will never join: asked, it says so to the root, which ends the
 * job, or, if the job goes on without ranks that fail, it stands in for them from then on.
 * Cost: none while operations go on; O(nodes that are named) at the root.
 */
#ifndef LAUNCH_CORE_STALL_REPORT_H
#define LAUNCH_CORE_STALL_REPORT_H

#include <stdint.h>

#include "base/message.h"
#include "base/wire.h"
#include "overlay/node_types.h"

struct daemon_core;
struct stall_report;

#define STALL_NAME_BYTES 64

/* "fence 3 of job 1" */
void stall_report_name(const struct node_key *key, uint32_t job, char text[STALL_NAME_BYTES]);

/* Every daemon: answers JOB_MESSAGE_ROLL of the root; reader stands after the kind. */
int stall_report_answer(struct daemon_core *core, uint32_t id, struct wire_reader *reader);

/* The root. */
struct stall_report *stall_report_create(struct daemon_core *core);
void stall_report_destroy(struct stall_report *report); /* NULL is fine */
/* JOB_MESSAGE_STALLED; reader stands after the kind. */
void stall_report_take(struct stall_report *report, struct wire_reader *reader);
void stall_report_reply(struct stall_report *report, uint32_t id, int status,
                        const struct message *payload);
/* DAEMON_TIMER_STALLS */
void stall_report_due(struct stall_report *report);
/* What was said last of a job, if it still holds; else "". */
const char *stall_report_line(const struct stall_report *report, uint32_t job);
/* Nobody asks about it any more. */
void stall_report_job_ended(struct stall_report *report, uint32_t job);

#endif

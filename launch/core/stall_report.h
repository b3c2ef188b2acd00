/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports which ranks a stalled exchange waits for.  After a while the overlay at the meeting point
 * reports the places it waits for (endpoint_events.missing); this goes to the root, which asks the first
 * of these nodes for the state of their ranks and prints one line: `fence 3 of job 1: waiting for rank
 * 5 on v6 (alive, stopped in state T); 7 arrived`.  It repeats the line only when it has changed.
 *
 * A node whose ranks have all ended will never join.  When asked it answers so, and the root ends the
 * job; or, if the job continues without ranks that fail, the node contributes for them from then on.
 * Cost: none while operations progress; O(nodes named) at the root.
 */
#ifndef LAUNCH_CORE_STALL_REPORT_H
#define LAUNCH_CORE_STALL_REPORT_H

#include <stdint.h>

#include "base/message.h"
#include "base/wire.h"
#include "overlay/endpoint_types.h"

struct daemon_core;
struct stall_report;

#define STALL_NAME_BYTES 64
#define STALL_ASKED_MAX  16 /* nodes asked about an operation */

/* "fence 3 of job 1" */
void stall_report_name(const struct operation_name *key, uint32_t job, char text[STALL_NAME_BYTES]);

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
/* The last line about a job if it is still true, else "". */
const char *stall_report_line(const struct stall_report *report, uint32_t job);
/* Stops reporting about the job. */
void stall_report_job_ended(struct stall_report *report, uint32_t job);

#endif

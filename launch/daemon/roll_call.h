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
#ifndef LAUNCH_DAEMON_ROLL_CALL_H
#define LAUNCH_DAEMON_ROLL_CALL_H

#include "launch/daemon/daemon_internal.h"

struct roll_call;

/* Every daemon. */
void roll_call_missing(struct daemon *daemon, const struct node_key *key, const struct ranges *set,
                       const struct node_missing *missing);
/* Answers JOB_MESSAGE_ROLL; reader stands behind the kind. */
void roll_call_answer(struct daemon *daemon, uint32_t source, uint32_t id,
                      struct wire_reader *reader);
/* The state in /proc/PID/stat, or 0. */
uint8_t roll_call_process_state(pid_t pid);
/* "fence 3 of job 1" */
void roll_call_name(const struct node_key *key, uint32_t job, char *text, size_t text_bytes);

/* The root. */
struct roll_call *roll_call_create(struct daemon *daemon);
void roll_call_destroy(struct roll_call *calls); /* NULL is fine */
/* JOB_MESSAGE_STALLED; reader stands behind the kind. */
void roll_call_stalled(struct roll_call *calls, struct wire_reader *reader);
void roll_call_reply(struct roll_call *calls, uint32_t id, int status,
                     const struct message *payload);
/* What was said last of a job, if it still holds; else "". */
const char *roll_call_line(const struct roll_call *calls, uint32_t job);
/* Nobody asks about it any more. */
void roll_call_job_ended(struct roll_call *calls, uint32_t job);

#endif

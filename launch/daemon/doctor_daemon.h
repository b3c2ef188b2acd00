/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a daemon does in an instance that `banyan doctor` has started, instead of running jobs.  A node
 * that does not start is reported and left out; those that it should have started are started in its
 * stead.  When all that can be there are there, the root asks (JOB_MESSAGE_DOCTOR): each daemon has
 * its node examined by a process of its own (doctor_examine.h), compares its clock with its parent's,
 * and contributes what was found to one gather, which folds equal findings on the way.
 *
 * This is every daemon's part; the root's is in doctor_root.h.
 */
#ifndef LAUNCH_DAEMON_DOCTOR_DAEMON_H
#define LAUNCH_DAEMON_DOCTOR_DAEMON_H

#include <stdint.h>

#include "base/ranges.h"
#include "base/wire.h"
#include "launch/proto/doctor_report.h"
#include "launch/start/starter.h"
#include "overlay/endpoint.h"

struct daemon;
struct doctor_root;

/* A daemon that waits for our clock. */
struct doctor_asker {
    uint32_t place;
    uint32_t id;
};

struct doctor {
    struct daemon *daemon;
    struct doctor_root *root; /* NULL elsewhere than at place 0 */
    unsigned char *secret;    /* the record's is wiped once the children are started */
    struct ranges linked;     /* places that have been linked to ours */
    struct ranges set;        /* who takes part in the gather */
    uint32_t generation;      /* of the gather; 0: nobody has asked yet */
    uint32_t contributed;     /* generation, 0: none */
    struct doctor_report report;
    struct loop_timer *timer; /* both halves must have ended by then */
    /* the process that examines */
    uint32_t process_id;
    int output_fd; /* of what it writes; -1 when it has ended */
    struct loop_watch *output;
    struct buffer input;
    enum doctor_topic topic; /* the check that it makes */
    uint8_t is_examined;
    /* the clock, in ns: ours minus the root's, and how wrong that may be */
    int64_t offset_ns;
    int64_t error_ns;
    uint8_t is_clock_known;
    uint8_t is_clock_reported;
    uint32_t clock_request;
    int64_t clock_asked_ns;
    struct doctor_asker *askers;
    uint32_t askers_count;
};

extern const struct endpoint_events doctor_node_events;
extern const struct starter_events doctor_starter_events;

void doctor_daemon_open(struct daemon *daemon);
void doctor_daemon_close(struct daemon *daemon); /* frees daemon->doctor; NULL is fine */

#endif

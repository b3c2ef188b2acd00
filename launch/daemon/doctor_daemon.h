/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a daemon does in an instance of `banyan doctor`, instead of running jobs.  A node whose daemon
 * does not start is reported, and its parent starts the daemons below it.  When all that can join have
 * joined, the root broadcasts JOB_MESSAGE_DOCTOR: each daemon has its node examined by a separate
 * process (doctor_examine.h), compares its clock with its parent's, and contributes the findings to a
 * gather, which merges equal ones on the way.
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

/* A daemon that waits for the time of our clock. */
struct doctor_asker {
    uint32_t place;
    uint32_t id;
};

struct doctor {
    struct daemon *daemon;
    struct doctor_root *root; /* NULL except at place 0 */
    unsigned char *secret; /* a copy: the record's is wiped when the children have been started */
    struct ranges linked;  /* places that have had a link to this one */
    struct ranges set;     /* members of the gather */
    uint32_t generation;   /* of the gather; 0: not asked yet */
    uint32_t contributed;  /* the generation contributed to last; 0: none */
    struct doctor_report report;
    struct loop_timer *timer; /* limit for examination and clock */
    /* the examining process */
    uint32_t process_id;
    int output_fd; /* to read its findings; -1: it does not run */
    struct loop_watch *output;
    struct buffer input;
    enum doctor_topic topic; /* the check under way */
    uint8_t is_examined;
    /* the clock: ours minus the root's, and the largest error of that */
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

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The process that examines a node for `banyan doctor`: `banyand --examine`, started by the daemon's
 * helper.  It reads a doctor_request from descriptor 0 and writes what it finds to descriptor 1, each
 * finding as soon as it is known, and before each check a line that names it: whatever blocks (a name
 * server, a dead file system) blocks this process only, and its findings so far are reported.
 *
 * The checks are in doctor_examine.c (names, space, limits, leftovers), doctor_network.c (addresses,
 * whom it reaches) and doctor_program.c (libraries).
 */
#ifndef LAUNCH_DOCTOR_DOCTOR_EXAMINE_H
#define LAUNCH_DOCTOR_DOCTOR_EXAMINE_H

#include "launch/proto/doctor_report.h"
#include "launch/proto/doctor_request.h"

/* One message to the daemon: u32 length of the rest; u8 1 and u8 topic: this check begins; u8 0 and a
 * finding (doctor_report_line_encode). */
enum doctor_message { DOCTOR_MESSAGE_FINDING, DOCTOR_MESSAGE_BEGINS };

/* For the checks: reports to the daemon. */
void doctor_tell(enum doctor_topic topic, enum doctor_level level, const char *remedy,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

void doctor_check_network(const struct doctor_request *request);
void doctor_check_tree(const struct doctor_request *request);
void doctor_check_pmix(const struct doctor_request *request);
void doctor_check_mpi(const struct doctor_request *request);
void doctor_check_program(const struct doctor_request *request);
void doctor_check_leftovers(const struct doctor_request *request);

/* Returns the exit status. */
int doctor_examine(void);

#endif

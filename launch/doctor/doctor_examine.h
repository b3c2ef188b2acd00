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

/* One message to the daemon: u32 length of the rest; u8 1 and u8 topic: this check begins; u8 0 and a
 * finding (doctor_report_line_encode). */
enum doctor_message { DOCTOR_MESSAGE_FINDING, DOCTOR_MESSAGE_BEGINS };

/* Returns the exit status. */
int doctor_examine(void);

#endif

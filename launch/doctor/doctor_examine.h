/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The process that examines a node for `banyan doctor`: `banyand --examine`, started by the daemon's
 * helper.  It reads a doctor_request from descriptor 0 and writes to descriptor 1: a message before each
 * check that names it, and each finding as soon as it is known.  A name server or file system that does
 * not respond blocks only this process, and the findings so far are reported.
 *
 * The checks are in doctor_examine.c (names, space, limits, topology) and in the files of
 * doctor_internal.h.
 */
#ifndef LAUNCH_DOCTOR_DOCTOR_EXAMINE_H
#define LAUNCH_DOCTOR_DOCTOR_EXAMINE_H

/* A message to the daemon: u32 length of the rest, u8 kind; then for BEGINS u8 topic of the check, for
 * FINDING what doctor_report_line_encode writes. */
enum doctor_message { DOCTOR_MESSAGE_FINDING, DOCTOR_MESSAGE_BEGINS };

/* Returns the exit status. */
int doctor_examine(void);

#endif

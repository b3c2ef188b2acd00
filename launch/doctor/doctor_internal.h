/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checks that doctor_examine.c runs one at a time and that other files define, and how all
 * report.
 */
#ifndef LAUNCH_DOCTOR_DOCTOR_INTERNAL_H
#define LAUNCH_DOCTOR_DOCTOR_INTERNAL_H

#include "launch/proto/doctor_report.h"
#include "launch/proto/doctor_request.h"

/* doctor_examine.c */
/* Reports to the daemon; remedy may be NULL. */
void doctor_tell(enum doctor_topic topic, enum doctor_level level, const char *remedy,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

/* doctor_network.c */
void doctor_check_network(const struct doctor_request *request);
void doctor_check_tree(const struct doctor_request *request);

/* doctor_program.c */
void doctor_check_pmix(const struct doctor_request *request);
void doctor_check_mpi(const struct doctor_request *request);
void doctor_check_program(const struct doctor_request *request);

/* doctor_kernel.c */
/* Part of the limits: a kernel that starves busy processes. */
void doctor_check_autogroup(void);

/* doctor_leftovers.c */
void doctor_check_leftovers(const struct doctor_request *request);

#endif

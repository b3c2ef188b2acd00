/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The life of `banyan doctor`: forks the root of an instance that examines its nodes
 * (doctor_daemon.h), waits for the report and for the instance's end, and prints what was found.
 */
#ifndef LAUNCH_CLI_VERB_DOCTOR_H
#define LAUNCH_CLI_VERB_DOCTOR_H

#include "launch/cli/request/request.h"

/* The request comes from request_parse_doctor (request.h).  Returns the exit status: 0 if all
 * is well, 1 if there is a problem, 125 if banyan failed, 128+N ended by signal N.  To be called as
 * front_end_run is. */
int doctor_run(struct run_request *request);

#endif

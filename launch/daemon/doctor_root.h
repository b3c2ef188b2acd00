/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The root's part of an examination (launch/daemon/doctor_daemon.h): which daemons did not start, when
 * the nodes are examined, and the report to the front end.
 */
#ifndef LAUNCH_DAEMON_DOCTOR_ROOT_H
#define LAUNCH_DAEMON_DOCTOR_ROOT_H

#include <stdint.h>

#include "base/message.h"
#include "base/wire.h"

struct daemon;
struct doctor;

/* Starts the time limit for the daemons' start. */
void doctor_root_open(struct doctor *doctor);
void doctor_root_close(struct doctor *doctor); /* no effect except at the root */
/* CONTROL_DOCTOR from the front end. */
void doctor_root_asked(struct daemon *daemon, struct wire_reader *reader);
/* All daemons have joined. */
void doctor_root_complete(struct doctor *doctor);
/* A daemon did not start, or has ended. */
void doctor_root_place_failed(struct doctor *doctor, uint32_t place, const char *why);
/* The gather of a generation has ended. */
void doctor_root_result(struct doctor *doctor, uint32_t generation, int status,
                        struct message *payload);
/* A message from another daemon; reader is after its kind. */
void doctor_root_message(struct doctor *doctor, uint8_t kind, struct wire_reader *reader);

#endif

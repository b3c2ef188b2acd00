/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of the control protocol (launch/proto/control.h) on a blocking connection, for verbs that ask an instance
 * and print what it says; what runs jobs has a loop and a channel.
 */
#ifndef LAUNCH_CLI_CLIENT_INSTANCE_MESSAGE_H
#define LAUNCH_CLI_CLIENT_INSTANCE_MESSAGE_H

#include <stdint.h>

#include "base/buffer.h"

#define INSTANCE_PATIENCE_MS 10000

/* -EPIPE if the root has gone. */
int instance_message_send(int fd, uint8_t type, const struct buffer *payload);
/* CONTROL_HELLO, wants: CONTROL_WANTS_*. */
int instance_message_hello(int fd, uint8_t wants);
/* The next message, appended to payload.  -ETIMEDOUT if nothing comes for that time (-1: any), -EPIPE at the end, -EBADMSG. */
int instance_message_read(int fd, int patience_ms, uint8_t *ret_type, struct buffer *payload);

#endif

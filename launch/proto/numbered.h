/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages to a root that others survive (JOB_MESSAGE_NUMBERED), and what it answers (JOB_MESSAGE_TAKEN); the rules
 * are those of launch/core/daemon_core_resend.c.
 */
#ifndef LAUNCH_PROTO_NUMBERED_H
#define LAUNCH_PROTO_NUMBERED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/frame.h"
#include "base/message.h"
#include "base/wire.h"

/* Numbers count the messages of a stream, from 0; there is one for each class of frames. */
#define NUMBERED_STREAMS FRAME_CLASS_COUNT

/* The message with its number; a copy.  O(its bytes). */
struct message *numbered_message(uint8_t stream, uint64_t number, const struct message *inner);
/* All before that number have been taken; again: it has not come, but one after it. */
struct message *numbered_taken_message(uint8_t stream, uint64_t number, bool again);
/* Without their kinds; -EBADMSG.  Of the first the reader then stands at the message. */
int numbered_decode(uint8_t *ret_stream, uint64_t *ret_number, struct wire_reader *reader);
int numbered_taken_decode(uint8_t *ret_stream, uint64_t *ret_number, bool *ret_again,
                          struct wire_reader *reader);

#endif

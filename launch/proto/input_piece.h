/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Input for all processes of a job (JOB_STDIN_ALL), broadcast by the root to the job's nodes as
 * JOB_MESSAGE_STDIN_ALL.  A node contributes to the gather of the piece's generation among `places` when its
 * processes have taken everything up to the end of the piece.  A piece without bytes asks for that again, after
 * the loss of a node: its offset is then the end of an earlier one.
 */
#ifndef LAUNCH_PROTO_INPUT_PIECE_H
#define LAUNCH_PROTO_INPUT_PIECE_H

#include <stdint.h>

#include "base/message.h"
#include "base/ranges.h"
#include "base/wire.h"

#define INPUT_PIECE_BYTES_MAX (64u * 1024)

struct input_piece {
    uint32_t job;
    uint64_t offset;        /* of its first byte in the job's input */
    uint8_t is_end;         /* there is no input after it */
    uint32_t generation;    /* of the gather; 0: nobody reports */
    struct ranges places;   /* that report; owned by the decoded piece */
    struct wire_bytes data; /* inside the message */
};

struct message *input_piece_message(const struct input_piece *piece);
/* After the message's kind; -EBADMSG.  ret_piece is untouched on failure. */
int input_piece_decode(struct input_piece *ret_piece, struct wire_reader *reader);
void input_piece_fini(struct input_piece *piece);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client's side of a transfer of files (doc/stage.rst): hashes, opens, sends what the nodes lack, commits; after the
 * loss of a node it asks again what is lacking.  It works in small slices, and never waits: its caller calls it as
 * long as there is something to do, and passes it the root's answers.
 *
 * Memory: at most STAGE_PACKS_MAX packs are on their way to the root.
 */
#ifndef LAUNCH_CLI_CLIENT_STAGE_SENDER_H
#define LAUNCH_CLI_CLIENT_STAGE_SENDER_H

#include <stdbool.h>

#include "base/error.h"
#include "launch/cli/client/stage_files.h"
#include "launch/proto/control.h"

struct stage_sender;

/* Sends a CONTROL_REQUEST; clears the payload. */
typedef void stage_sender_send(void *context, struct buffer *payload);

struct stage_sender_sums {
    uint32_t nodes;
    uint64_t bytes;      /* of the files, equal content counted once */
    uint64_t sent_bytes; /* to the root, compressed */
};

/* files stay the caller's; job: 0: of the instance. */
struct stage_sender *stage_sender_create(struct stage_files *files, uint32_t job,
                                         stage_sender_send *send, void *context);
void stage_sender_destroy(struct stage_sender *sender); /* NULL is fine */
/* 1: call again, 0: an answer must come first, or it is done; negative: it has failed. */
int stage_sender_work(struct stage_sender *sender, struct error *error);
/* Then there may be something to do. */
int stage_sender_answer(struct stage_sender *sender, const struct control_answer *answer,
                        struct error *error);
bool stage_sender_is_done(const struct stage_sender *sender);
struct stage_sender_sums stage_sender_sums(const struct stage_sender *sender);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* How verbs end: with a text that was asked for on stdout, or with one line of error. */
#ifndef LAUNCH_CLI_VERB_VERB_OUTPUT_H
#define LAUNCH_CLI_VERB_VERB_OUTPUT_H

#include "base/buffer.h"
#include "base/error.h"

/* Prints the error; returns EXIT_STATUS_FAILED. */
int verb_output_fail(const struct error *error);
/* Prints the text and empties it; returns the status, or fails. */
int verb_output_print(struct buffer *text, int status);

#endif

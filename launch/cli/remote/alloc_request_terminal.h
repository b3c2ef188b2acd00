/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pseudo-terminal for a command that requires one (qsub -I) where there is no terminal, as under
 * ssh -T: bytes go unchanged from our stdin to it and from it to our stdout; the end of our stdin
 * becomes Ctrl-D.
 */
#ifndef LAUNCH_CLI_REMOTE_ALLOC_REQUEST_TERMINAL_H
#define LAUNCH_CLI_REMOTE_ALLOC_REQUEST_TERMINAL_H

#include <stddef.h>

#include "base/error.h"

struct alloc_request_terminal {
    int fd; /* our side; -1: not open */
    int is_input_over;
    size_t pending_bytes; /* for the command, not yet taken by it */
    char pending[4096];
};

/* ret_slave is the command's side. */
int alloc_request_terminal_open(struct alloc_request_terminal *terminal, int *ret_slave,
                                struct error *error);
/* In the child: makes the terminal its stdin, its stdout unless that is a terminal, and its
 * controlling terminal. */
int alloc_request_terminal_become(int slave);
/* The events to poll for, on our side and on stdin; 0: do not poll. */
short alloc_request_terminal_wants(const struct alloc_request_terminal *terminal);
int alloc_request_terminal_wants_input(const struct alloc_request_terminal *terminal);
void alloc_request_terminal_take_input(struct alloc_request_terminal *terminal);
/* Call when poll reports our side ready; closes it when the command's side is closed. */
void alloc_request_terminal_ready(struct alloc_request_terminal *terminal, short events);

#endif

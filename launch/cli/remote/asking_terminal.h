/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A terminal for a command that insists on one (qsub -I) where there is none, as behind ssh -T: bytes go
 * from our stdin to it and from it to our stdout as they are; the end of our stdin is Ctrl-D there.
 */
#ifndef LAUNCH_CLI_REMOTE_ASKING_TERMINAL_H
#define LAUNCH_CLI_REMOTE_ASKING_TERMINAL_H

#include <stddef.h>

#include "base/error.h"

struct asking_terminal {
    int fd; /* our side; -1: there is none */
    int is_input_over;
    size_t pending_bytes; /* for the command, not yet taken by it */
    char pending[4096];
};

/* ret_slave is the command's side. */
int asking_terminal_open(struct asking_terminal *terminal, int *ret_slave, struct error *error);
/* In the child: the terminal becomes its stdin, its stdout if that is none, and controls it. */
int asking_terminal_become(int slave);
/* What poll is to wait for, on our side and on stdin; 0: nothing, leave it out. */
short asking_terminal_wants(const struct asking_terminal *terminal);
int asking_terminal_wants_input(const struct asking_terminal *terminal);
void asking_terminal_take_input(struct asking_terminal *terminal);
/* After poll said so of our side; closes it when the command's side is closed. */
void asking_terminal_ready(struct asking_terminal *terminal, short events);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a script for /bin/sh on another machine hands a variable to the program that it starts, so that the value is in no
 * argument: what the arguments of a process hold is seen by every user of its node.
 */
#ifndef LAUNCH_START_SHELL_VARIABLE_H
#define LAUNCH_START_SHELL_VARIABLE_H

enum shell_variable {
    SHELL_VARIABLE_EXPORT, /* by the shell itself */
    SHELL_VARIABLE_ENV, /* by env, as an argument: it would change the shell or its commands, and is no secret */
    SHELL_VARIABLE_IMPOSSIBLE, /* no shell can have a variable of this name */
    SHELL_VARIABLE_COUNT
};

/* Of "NAME=VALUE". */
enum shell_variable shell_variable_of(const char *variable);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The step at which starting a process failed: sent with a negative errno from the helper to the
 * daemon, and in a job's failure from there to the root.
 */
#ifndef LAUNCH_PROTO_START_STEP_H
#define LAUNCH_PROTO_START_STEP_H

enum start_step {
    START_STEP_FORK,
    START_STEP_CHDIR,
    START_STEP_EXEC,
    START_STEP_BIND,
    START_STEP_BIND_MEMORY,
    START_STEP_INTERPRETER, /* the file exists, but not the interpreter in its first line, or its
                             * loader */
    START_STEP_LIMIT,       /* a limit, which the text names, or the nice value */
    /* Steps of the daemon, before it asks the helper. */
    START_STEP_MESSAGE, /* the launch message */
    START_STEP_SERVICES,
    START_STEP_DESCRIPTORS,
    START_STEP_COUNT
};

/* The name for messages. */
const char *start_step_name(enum start_step step);

#endif

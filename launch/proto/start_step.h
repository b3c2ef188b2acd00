/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What could not be done when a process could not be started: goes with a negative errno from the
 * helper to the daemon, and in a failure of a job from there to the root.
 */
#ifndef LAUNCH_PROTO_START_STEP_H
#define LAUNCH_PROTO_START_STEP_H

enum start_step {
    START_STEP_FORK,
    START_STEP_CHDIR,
    START_STEP_EXEC,
    START_STEP_BIND,
    START_STEP_BIND_MEMORY,
    START_STEP_INTERPRETER, /* the file is there; what its first line names, or its loader, is not */
    /* Of the daemon, before the helper is asked. */
    START_STEP_MESSAGE, /* the launch message */
    START_STEP_SERVICES,
    START_STEP_DESCRIPTORS,
    START_STEP_COUNT
};

/* As a person reads it. */
const char *start_step_name(enum start_step step);

#endif

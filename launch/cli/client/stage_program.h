/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that is staged with the closure of its shared libraries: it becomes bin/NAME in the stage directory, its
 * libraries lib/NAME.  Those of the C library stay the node's, since they must fit its loader.
 */
#ifndef LAUNCH_CLI_CLIENT_STAGE_PROGRAM_H
#define LAUNCH_CLI_CLIENT_STAGE_PROGRAM_H

#include "launch/cli/client/stage_files.h"
#include "launch/proto/job_spec.h"

/* Adds the program of an application, which is from then on named by its path in the stage directory. */
int stage_program_add(struct stage_files *files, struct app_spec *app, struct error *error);
/* The nodes are to check whether it and its libraries are found. */
void stage_program_check(struct stage_files *files, const struct app_spec *app, bool is_staged);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What srun can do by its version.  The step of the daemons must leave all of the job to the job's own steps, and get
 * all of it: all CPUs of its nodes, also in a job whose steps have them already.
 */
#ifndef LAUNCH_START_SRUN_VERSION_H
#define LAUNCH_START_SRUN_VERSION_H

/* From 20.11 to 23.02, and of a version that is not known. */
#define SRUN_VERSION_STEP_OPTION "--overlap"

/* The option of such a step by what `srun --version` prints; "": none is needed, for steps share. */
const char *srun_version_step_option(const char *text);

#endif

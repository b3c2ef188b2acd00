/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The instance to which a run goes if its user names none: the only one of the user on this machine that was started
 * in the same scheduler's job as the run, or, where both are in none, in none.  What is of another version of
 * banyan does not count, and of several none is taken: the run makes a new one.
 *
 * Cost: as instance_search.
 */
#ifndef LAUNCH_CLI_CLIENT_INSTANCE_CHOICE_H
#define LAUNCH_CLI_CLIENT_INSTANCE_CHOICE_H

#include <stddef.h>

/* job: "slurm 4711", or "".  NULL if there is none to go to; else the caller frees the directory.  note: a line for a
 * user who wants to know, or "". */
char *instance_choice_find(const char *job, char *note, size_t note_bytes);

#endif

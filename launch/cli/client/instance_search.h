/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which instance a verb is about: the one whose session directory is given, else that of $BANYAN_INSTANCE, else the one
 * that this user has started on this machine in tmpdir.  Of several it is that of the scheduler's job in which the verb
 * is called; else the user must name one.
 *
 * Cost: a look at the user's directory in tmpdir, and a connection to each root there.
 */
#ifndef LAUNCH_CLI_CLIENT_INSTANCE_SEARCH_H
#define LAUNCH_CLI_CLIENT_INSTANCE_SEARCH_H

#include "base/error.h"

/* Calls for each directory of a root of this user that listens or, with is_dead, did before it was killed or the
 * machine was rebooted; tmpdir as below. */
void instance_search_each(const char *tmpdir,
                          void (*found)(void *context, const char *directory, int is_dead),
                          void *context);
/* given: NULL if it is not; job: as source_environment_job says, NULL: none; tmpdir: NULL: $TMPDIR, or /tmp.  The caller frees the directory.  -ENOENT if there is
 * none, -ENOTUNIQ with their directories if there are several. */
int instance_search(const char *given, const char *job, const char *tmpdir, char **ret_directory,
                    struct error *error);

#endif

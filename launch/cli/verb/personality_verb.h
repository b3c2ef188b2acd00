/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * banyan started by the name of another launcher (option/personality.h).  If a daemon of banyan has started
 * it, the scheduler's program of that name is meant, and executed instead.
 */
#ifndef LAUNCH_CLI_VERB_PERSONALITY_VERB_H
#define LAUNCH_CLI_VERB_PERSONALITY_VERB_H

#include "launch/cli/option/personality.h"

/* That of argv[0], which may be a path; NULL for any other name. */
const struct personality *personality_verb_find(const char *path);
/* Returns the exit status, of run if nothing is wrong with the words. */
int personality_verb(const struct personality *personality, int argc, char **argv,
                     int (*run)(int argc, char **argv));

#endif

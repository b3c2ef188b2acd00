/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The machine that the command is typed on, as far as requests ask of it: environment, directory,
 * files, programs, cores, what schedulers have left.  Most is read only when it is asked for.
 */
#ifndef LAUNCH_CLI_VERB_THIS_MACHINE_H
#define LAUNCH_CLI_VERB_THIS_MACHINE_H

#include "base/error.h"
#include "launch/cli/request/request.h"
#include "launch/start/source_environment.h"

#define THIS_MACHINE_NAME_BYTES 256

struct this_machine {
    struct request_ops ops; /* points into the rest; has fresh random bytes for a secret */
    char host_name[THIS_MACHINE_NAME_BYTES];
    char *directory;
    char *banyand;
    struct source_environment *sources;
    struct configured_values configured;
};

/* Must be closed also if it fails, which it does if the system has no random
 * bytes, or a configuration file is invalid. */
int this_machine_open(struct this_machine *machine, struct error *error);
void this_machine_close(struct this_machine *machine);
/* The path of this program, for others to run (free()). */
char *this_machine_banyan(void);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Options of mpirun (Open MPI 4 and 5), prterun, mpiexec.hydra (MPICH and Intel MPI) and srun that
 * banyan does not have by that name: what to type instead, or why there is no equivalent.  Names
 * that banyan has are not listed.  The table is constant and is searched linearly, for a command
 * line that is refused anyway.
 */
#ifndef LAUNCH_CLI_OPTION_FOREIGN_OPTIONS_H
#define LAUNCH_CLI_OPTION_FOREIGN_OPTIONS_H

#include <stddef.h>

struct foreign_option {
    const char *names;  /* without dashes, separated by one blank */
    const char *native; /* the equivalent option; a verb without it ignores this line */
    const char *line;   /* "use ...", or the reason */
};

extern const struct foreign_option foreign_options[];
extern const size_t foreign_options_count;

/* NULL if no other launcher has that name either. */
const struct foreign_option *foreign_options_find(const char *name, size_t name_bytes);

/* names, separated by one blank each, holds the name. */
int foreign_options_has_name(const char *names, const char *name, size_t name_bytes);

#endif

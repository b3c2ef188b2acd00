/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Options of mpirun (Open MPI 4 and 5), prterun, mpiexec.hydra (MPICH and Intel MPI) and srun that
 * banyan does not have by that name: what to type instead, or why there is nothing to type.  Names
 * that banyan has are not here.  The table is constant and is searched from one end to the other, for
 * a command line that is refused anyway.
 */
#ifndef LAUNCH_CLI_OPTION_FOREIGN_OPTIONS_H
#define LAUNCH_CLI_OPTION_FOREIGN_OPTIONS_H

#include <stddef.h>

struct foreign_option {
    const char *names;  /* without dashes, separated by one blank */
    const char *native; /* the option that stands for it; where it is not, the line is of no use */
    const char *line;   /* "use ...", or the reason */
};

extern const struct foreign_option foreign_options[];
extern const size_t foreign_options_count;

/* NULL if no other launcher has that name either. */
const struct foreign_option *foreign_option_find(const char *name, size_t name_bytes);

#endif

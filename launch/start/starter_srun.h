/* SPDX-License-Identifier: BSD-3-Clause */
/* What every call of srun has in common. */
#ifndef LAUNCH_START_STARTER_SRUN_H
#define LAUNCH_START_STARTER_SRUN_H

#include <stdbool.h>

/* Is this "NAME=value" an option of srun by which salloc, sbatch or an outer srun would change our step? */
bool starter_srun_drops(const char *variable);

#endif

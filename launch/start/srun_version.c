/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/start/srun_version.h"

#include <stdio.h>

/* "slurm 23.11.4", "slurm-wlm 22.05.8" */
const char *srun_version_step_option(const char *text)
{
    unsigned int year, month;

    if (sscanf(text, "slurm%*[^ 0-9] %2u.%2u", &year, &month) != 2 &&
        sscanf(text, "slurm %2u.%2u", &year, &month) != 2)
        return SRUN_VERSION_STEP_OPTION;
    if (year * 100 + month >= 2311)
        return "--external-launcher"; /* a special kind of step, which takes nothing */
    return year * 100 + month >= 2011 ? SRUN_VERSION_STEP_OPTION : "";
}

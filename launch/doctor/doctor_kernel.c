/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * With autogroup (sched(7)) each session of processes is one entity for the scheduler, and the ranks of
 * a node are a session.  Linux 6.18 was measured with 64 processes in sessions of 4, half of
 * them busy: some get 0.7 ms of CPU a second where 40 are usual, and ranks take minutes to get through
 * MPI_Init.  Other kernels that were measured do not.
 */
#include "config.h"

#include "launch/doctor/doctor_kernel.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include "launch/doctor/doctor_internal.h"

#define AUTOGROUP_FILE  "/proc/sys/kernel/sched_autogroup_enabled"
#define STARVING_KERNEL 6
#define STARVING_MINOR  18

int doctor_kernel_starves(const char *release, const char *enabled)
{
    unsigned int kernel = 0, minor = 0;

    assert(release != NULL);
    if (enabled == NULL || atoi(enabled) == 0)
        return 0;
    return sscanf(release, "%u.%u", &kernel, &minor) == 2 && kernel == STARVING_KERNEL &&
           minor == STARVING_MINOR;
}

void doctor_check_autogroup(void)
{
    char enabled[16] = "";
    FILE *file = fopen(AUTOGROUP_FILE, "re");
    struct utsname system;
    int has_file = file != NULL && fgets(enabled, sizeof(enabled), file) != NULL;

    if (file != NULL)
        fclose(file);
    if (uname(&system) < 0 || !doctor_kernel_starves(system.release, has_file ? enabled : NULL))
        return;
    doctor_tell(DOCTOR_LIMITS, DOCTOR_NOTE, "as root: sysctl -w kernel.sched_autogroup_enabled=0",
                "Linux %s with autogroup on gives busy processes too little CPU for seconds",
                system.release);
}

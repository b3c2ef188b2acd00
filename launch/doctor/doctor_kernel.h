/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults of kernels that a run suffers from.  A function of two short texts, so that it can be judged
 * for kernels other than this machine's.
 */
#ifndef LAUNCH_DOCTOR_DOCTOR_KERNEL_H
#define LAUNCH_DOCTOR_DOCTOR_KERNEL_H

/* Does a kernel of this release ("6.18.44", as uname(2) says) starve busy processes in sessions of
 * several while sched_autogroup_enabled is on?  enabled: what that file holds, NULL: there is none. */
int doctor_kernel_starves(const char *release, const char *enabled);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CPUs of each process as a scheduler has them, made to pe of the rules once the machines are known.  It
 * may count cores or hardware threads, which only the machines show; and its count is a default, so
 * nothing is refused for it: where it does not fit it is not applied.  doc/placement.rst, Cores.
 */
#ifndef ALLOC_PLACEMENT_CPUS_H
#define ALLOC_PLACEMENT_CPUS_H

#include "alloc/allocation.h"
#include "alloc/placement.h"

/* Sets pe of rules that have cpus and no pe.  A second call changes nothing.  O(kinds x runs). */
void placement_cpus_settle(struct placement *placement, const struct allocation *allocation);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bindings as text: "[BB/../~~/..][../../../..]": brackets for packages, strokes between cores, and for
 * each thread B (bound to it), . (not) or ~ (nobody may use it).
 */
#ifndef ALLOC_PLACEMENT_PRINT_H
#define ALLOC_PLACEMENT_PRINT_H

#include "alloc/placement_local.h"

/* Appends the drawing of a binding on a node, or "not bound". */
void placement_print_layout(const struct placement_map *map, uint32_t node,
                            const struct placement_binding *binding, struct buffer *out);
/* "SK0:NM0:L30:L20:L10:CR0:HT0-1": numbers of the objects of each level that the binding's threads are
 * in, as hwloc counts them; nothing if it is not bound or the machine is not known. */
void placement_print_locality(const struct placement_map *map, uint32_t node,
                              const struct placement_binding *binding, struct buffer *out);
/* Appends the threads as the kernel lists them, and GPUs, "0-3,64-67 gpu 0,1"; "-": not bound. */
void placement_print_binding(const struct placement_binding *binding, struct buffer *out);

#endif

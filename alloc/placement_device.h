/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The devices of a node as its processes take them: GPUs, the nearest of those that fewest have;
 * and NUMA nodes by their distance from a device.  Near is a device on whose threads the process
 * is, then one on the same package, then all others.
 */
#ifndef ALLOC_PLACEMENT_DEVICE_H
#define ALLOC_PLACEMENT_DEVICE_H

#include "alloc/placement_rule.h"
#include "base/error.h"
#include "base/ranges.h"
#include "base/topology.h"

struct device_binder {
    const struct topology *view;
    uint32_t *use;        /* by device */
    uint32_t *numa_order; /* after placement_device_order */
};

void placement_device_init(struct device_binder *binder, const struct topology *view);
void placement_device_fini(struct device_binder *binder);
/* How many there are of a class; GPUs are those of topology_gpus. */
uint32_t placement_device_count(const struct topology *view, enum placement_device device_class);
/* What the process that comes next takes of a class, and where that is. */
struct device_deal {
    uint32_t first;     /* its number in the view */
    struct ranges near; /* logical threads near one of them */
    enum topology_device_kind kind;
    struct ranges numbers; /* among those of their kind */
};
/* Deals `count` devices of the class, those that fewest have, of these the first ones.  Each is taken
 * once, unless `again`.  The caller frees the ranges. */
int placement_device_deal(struct device_binder *binder, enum placement_device device_class,
                          uint32_t count, int again, struct device_deal *ret_deal,
                          struct error *error);
/* Orders the NUMA nodes by their distance from a device of that name. */
int placement_device_order(struct device_binder *binder, const char *name, struct error *error);
/* Takes `count` GPUs for a process on these logical threads: their numbers among those of their
 * vendor.  Each is taken once, unless `again`. */
int placement_device_take(struct device_binder *binder, uint32_t count, int again,
                          const struct ranges *home, enum topology_device_kind *ret_kind,
                          struct ranges *ret_numbers, struct error *error);
/* The variables by which programs of a vendor find their GPUs; NULL: none. */
const char *placement_device_variable(enum topology_device_kind kind);

#endif

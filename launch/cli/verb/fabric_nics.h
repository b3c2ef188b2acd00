/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `banyan fabric --nics`: the NICs of all nodes, as a process on each has found them (launch/exec/nic_worker.h),
 * become a description of the fabric (fabric/topology/fabric_read.h).
 *
 * A NIC is called NODE:DEVICE.  Its link costs 1 if no NIC is faster or its speed is not known, else by how many
 * times the fastest is, rounded.  NICs that are down are not in it.  Planes are libfabric's fabrics, if there are
 * several that are not called like subnets.
 *
 * Cost: O(NICs + topology).
 */
#ifndef LAUNCH_CLI_VERB_FABRIC_NICS_H
#define LAUNCH_CLI_VERB_FABRIC_NICS_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "fabric/topology/fabric_model.h"

/* options: of banyan run.  topology: the switches of nodes, as this model has them; NULL: one for all.  Appends the
 * description as JSON.  Returns the exit status of a run that has failed and said why. */
int fabric_nics_run(const char *const *options, int options_count,
                    const struct fabric_model *topology, struct buffer *out, struct error *error);
/* The description, from what the processes have printed.  -EPROTO, also if one of them has not said all; -E2BIG; -EIO
 * if a node could not say, -ENODEV if one has no NIC that is up, -ENOENT if the topology does not have one: the error
 * names these nodes. */
int fabric_nics_describe(const char *lines, const struct fabric_model *topology, struct buffer *out,
                         struct error *error);
uint16_t fabric_nics_cost(uint64_t speed, uint64_t fastest);

#endif

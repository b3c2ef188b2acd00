/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A model as text that fabric_read_json makes the same model of: vertices, switches and planes have the same numbers.
 * Consecutive NICs of one switch that have their nodes' names, as those of a Slurm file or a shape, are one entry with
 * a hostlist if no more is known of one than of the others.
 *
 * Cost: O(vertices + switches).
 */
#ifndef FABRIC_TOPOLOGY_FABRIC_WRITE_H
#define FABRIC_TOPOLOGY_FABRIC_WRITE_H

#include "fabric/topology/fabric_model.h"

/* Appends the text.  The model is settled and has a vertex. */
void fabric_write_json(const struct fabric_model *model, struct buffer *out);
/* What is known of a NIC, as the "device" of that text. */
void fabric_write_facts(const struct nic_facts *facts, struct buffer *out);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model of the fabric between the nodes of a request, and the order that the tree gets by it
 * (fabric/topology/fabric_order.h).  The model is that of --fabric-topology, or in a job of Slurm that of its
 * topology.conf, if there is one that can be read.
 */
#ifndef LAUNCH_CLI_REQUEST_REQUEST_SHAPE_H
#define LAUNCH_CLI_REQUEST_REQUEST_SHAPE_H

#include "fabric/topology/fabric_model.h"
#include "launch/cli/request/request_nodes.h"

/* Reads a file or a shape ("fat-tree:16x8x4"); text NULL: Slurm's file, -ENOENT if there is none.  option is for
 * messages. */
int request_shape_read(const char *option, const char *text, const struct request_ops *ops,
                       struct fabric_model *ret_model, struct error *error);
/* The model of these nodes: 1 if there is one, which the caller finishes, 0 if not, or an error.  A file of Slurm's
 * that cannot be used is no error: notes, a line for the user, says so. */
int request_shape_find(const struct request_settings *settings, const struct request_ops *ops,
                       const struct request_nodes *nodes, struct fabric_model *ret_model,
                       struct buffer *notes, struct error *error);
/* Gives the allocation the order that the model gives; notes get a line about nodes that it does not know. */
void request_shape_order(const struct fabric_model *model, struct allocation *allocation,
                         struct buffer *notes);
/* Both, unless --no-shape is given.  given: the model of --fabric-topology, if it is; else empty. */
int request_shape_take(const struct request_settings *settings, const struct request_ops *ops,
                       const struct request_nodes *nodes, const struct fabric_model *given,
                       struct allocation *allocation, struct buffer *notes, struct error *error);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A run of banyan itself with one process on each node, whose output is read: for `banyan fabric --measure` and `--nics`
 * and `banyan bench --operation pairs`.  It ends with this process, however that ends.
 */
#ifndef LAUNCH_CLI_VERB_NODE_RUN_H
#define LAUNCH_CLI_VERB_NODE_RUN_H

#include "base/buffer.h"
#include "base/error.h"

struct node_run {
    const char *const *options; /* of banyan run */
    int options_count;
    const char *mpi;          /* its --mpi */
    const char *const *words; /* of banyan in each process, the last NULL */
    const char *what;         /* is done, for errors: "measure" */
};

/* Appends all that the processes print.  Returns the exit status of a run that has failed and said why. */
int node_run_read(const struct node_run *run, struct buffer *out, struct error *error);
/* Of what they have printed: the line after this one. */
const char *node_run_next_line(const char *line);
/* An error about a line that they do not print: -EPROTO. */
int node_run_refuse(const char *what, const char *line, struct error *error);

#endif

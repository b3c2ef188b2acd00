/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the readers of the sources share: asking the world, adding nodes.  All functions that can
 * fail have set the reading's error then.
 */
#ifndef ALLOC_SOURCE_INTERNAL_H
#define ALLOC_SOURCE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "alloc/allocation_builder.h"
#include "alloc/source.h"
#include "alloc/source_text.h"

#define SOURCE_DOMAINS_MAX 4 /* names of more are not compared with short ones */

struct source_reading {
    const struct source_ops *ops;
    struct allocation_builder builder;
    struct source_result *result;
    const char *domains[SOURCE_DOMAINS_MAX]; /* of names so far, as ".site.org", into texts */
    size_t domain_bytes[SOURCE_DOMAINS_MAX];
    size_t domains_count;
    bool skip_launch_node; /* the first node, if it has one slot, is not ours (LSF with CSM) */
    struct error *error;
};

/* The readers that source.c's table names; each its own file or a group of alike. */
int source_read_slurm(struct source_reading *reading);
int source_read_lsf(struct source_reading *reading);
int source_read_pbs(struct source_reading *reading);
int source_read_pals(struct source_reading *reading);
int source_read_grid_engine(struct source_reading *reading);
int source_read_cobalt(struct source_reading *reading);
int source_read_oar(struct source_reading *reading);
int source_read_pjm(struct source_reading *reading);
int source_read_loadleveler(struct source_reading *reading);
int source_read_flux(struct source_reading *reading);
int source_read_condor(struct source_reading *reading);
int source_read_aws_batch(struct source_reading *reading);
int source_read_mpi_operator(struct source_reading *reading);

/* The value of a variable, or NULL if it is not set; "" if it is empty. */
const char *source_reading_variable(const struct source_reading *reading, const char *name);
/* The first of the names (NULL at the end) that is set and not empty, and its value; -EINVAL if
 * there is none.  *ret_name belongs to the caller's list. */
int source_reading_require(const struct source_reading *reading, const char *const *names,
                           const char **ret_name, const char **ret_value);
/* A variable that must be a number if it is set; 0 and *ret_number unchanged if it is not. */
int source_reading_number(const struct source_reading *reading, const char *name, uint32_t minimum,
                          uint32_t maximum, uint32_t *ret_number);
/* Appends the file that a variable names. */
int source_reading_file(const struct source_reading *reading, const char *variable,
                        const char *path, struct buffer *ret_bytes);

/* Appends the hostlist that a variable's text is; also if it then fails for a byte in a name. */
int source_reading_list_parse(struct source_text *text, struct hostlist *list);

/* Adds the node of a word, with slots. */
int source_reading_add(struct source_reading *reading, struct source_text *text,
                       const struct source_word *word, uint32_t slots);
/* Adds the nodes of a list with the slots of the runs, in order; there are at least as many nodes
 * in the runs as in the list.  The error has no place yet. */
int source_reading_add_list(struct source_reading *reading, const struct hostlist *list,
                            const struct slots_run *runs);
/* Adds the nodes of all words that `next` gives, each with slots_each.  Words that follow their like
 * are added as one: most texts are sorted. */
int source_reading_add_repeated(struct source_reading *reading, struct source_text *text,
                                int (*next)(struct source_text *text, struct source_word *ret_word),
                                uint32_t slots_each);
/* Adds what a file lists that the first of the variables that is set names: one node a line, a node
 * again for each slot, times slots_per_line.  *ret_name is the variable. */
int source_reading_add_node_file(struct source_reading *reading, const char *const *variables,
                                 uint32_t slots_per_line, const char **ret_name);
/* Ends a reading: `counts` is the variable or file that the slots are from, or NULL if the source
 * gives nodes only. */
int source_reading_finish(struct source_reading *reading, const char *counts);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a scheduler might ask a plugin which of its free nodes a job should have.  The scheduler opens the
 * plugin with dlopen(3) and takes its `node_selector`.
 */
#ifndef CONTRIB_SCHEDULER_NODE_SELECTOR_H
#define CONTRIB_SCHEDULER_NODE_SELECTOR_H

#include <stddef.h>

/* Routines return 0 or a negative errno with one line in error. */
struct node_selector {
    const char *name;
    int (*open)(const char *topology, void **ret_state, char *error, size_t error_bytes);
    /* Chooses `count` of the free nodes and writes their positions in free_nodes, rising.  Any thread
     * may call it. */
    int (*choose)(void *state, const char *const *free_nodes, size_t free_count, size_t count,
                  size_t *ret_chosen, char *error, size_t error_bytes);
    void (*close)(void *state);
};

extern const struct node_selector node_selector;

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ways to start a daemon on a node, one per enum starter_kind: a const table.
 */
#ifndef LAUNCH_START_STARTER_METHOD_H
#define LAUNCH_START_STARTER_METHOD_H

#include <stdint.h>

#include "alloc/hostlist.h"
#include "launch/exec/helper.h"
#include "launch/proto/instance_spec.h"

struct starter_method {
    const char *name;
    /* One-shot starters only, which start no single daemon.  The names that the index-th call (from
     * 0) starts on; 0 if there are no more calls. */
    int (*select)(uint32_t index, const struct hostlist *names, struct hostlist *ret_selected);
    /* That call, as process id of the helper: a daemon on each of the nodes. */
    void (*start_all)(struct helper *helper, uint32_t id, const struct instance_spec *instance,
                      uint32_t index, const struct hostlist *nodes, const struct helper_fd *fds,
                      uint32_t fds_count);
    /* NULL where the root sees to all.  Starts the daemon of a node as process id of the helper, with fds as its 0, 1 and 2. */
    void (*start)(struct helper *helper, uint32_t id, const struct instance_spec *instance,
                  const char *node_name, const struct helper_fd *fds, uint32_t fds_count);
    /* Starts `banyand --clean` there as process id; 0 if no process was needed for it. */
    int (*clean)(struct helper *helper, uint32_t id, const struct instance_spec *instance,
                 uint32_t place, const char *node_name);
    /* What is run, as the user said it; free(). */
    char *(*program)(const struct instance_spec *instance);
};

const struct starter_method *starter_method_of(enum starter_kind kind);

/* In starter_ssh.c: AGENT HOST COMMAND. */
extern const struct starter_method starter_ssh;
/* One call for all: a step of srun, an application of PALS, flux exec. */
extern const struct starter_method starter_srun;
extern const struct starter_method starter_pals;
extern const struct starter_method starter_flux;

#endif

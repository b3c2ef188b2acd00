/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A separate instance for `banyan bench`: a child `banyan start`, which gets the options that name nodes, tree and
 * fabric.  It ends when it is stopped, with this process, however that ends, and with its signals.
 */
#ifndef LAUNCH_CLI_VERB_BENCH_INSTANCE_H
#define LAUNCH_CLI_VERB_BENCH_INSTANCE_H

#include <sys/types.h>

#include "base/error.h"

struct bench_instance {
    pid_t pid;       /* 0: there is none */
    char *directory; /* owned */
};

/* options: ends with NULL.  1: it has said itself why it did not start. */
int bench_instance_start(struct bench_instance *ret_instance, const char *const *options,
                         struct error *error);
/* Waits until it has ended. */
void bench_instance_stop(struct bench_instance *instance);

#endif

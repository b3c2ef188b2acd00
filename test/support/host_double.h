/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A PMIx host (pmix/host.h) without libpmix: what every scripted host of a test has alike.  A test
 * fills in what its host does when it is told something.
 */
#ifndef TEST_SUPPORT_HOST_DOUBLE_H
#define TEST_SUPPORT_HOST_DOUBLE_H

#include "pmix/host.h"

/* Those of the host that was created last: what the script speaks to. */
extern struct pmi_ops host_double_ops;

/* A table whose host is created, has no descriptor, answers a check, and does nothing when its turn
 * comes or a job closes.  The rest is the test's. */
struct host_table host_double_table(void);

/* What the test answers to `provide`: the key's name as its value. */
void host_double_provide(void *host, uint64_t id, const struct pmi_process *process,
                         const char *key);

#endif

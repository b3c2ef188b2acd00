/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The only dlopen: our own shared objects that carry a heavy library (doc/architecture.rst), opened by
 * full path when first needed and never closed; and the plans that a user gives to `banyan bench`.
 */
#ifndef LAUNCH_EXEC_PLUGIN_H
#define LAUNCH_EXEC_PLUGIN_H

#include "base/error.h"
#include "fabric/banyan/collective.h"
#include "fabric/ofi_table.h"
#include "pmix/fence_client.h"
#include "pmix/host.h"

/* The PMIx host; NULL with one line if it cannot be opened or has another HOST_ABI.  Looks in
 * $BANYAN_PKGLIBDIR, else beside a program that runs from its build tree, else where it was
 * installed. */
const struct host_table *plugin_pmix_host(struct error *error);
/* A client of PMIx. */
const struct fence_client_table *plugin_pmix_client(struct error *error);
/* libfabric's endpoint; its opening alone may take 0.2 s. */
const struct ofi_table *plugin_fabric_ofi(struct error *error);
/* Is it there to be opened? */
int plugin_has_fabric_ofi(void);
/* A shared object of the user; the error names it. */
const struct banyan_collective *plugin_collective(const char *path, struct error *error);

#endif

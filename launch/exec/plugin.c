/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"

#define PLUGIN_PATH_BYTES 4096

/* The table of our shared object name.so, which begins with the number of its interface; what is what
 * it is for people. */
static const void *open_table(const char *name, const char *symbol, uint32_t interface,
                              const char *what, struct error *error)
{
    const char *directory = getenv("BANYAN_PKGLIBDIR");
    char path[PLUGIN_PATH_BYTES];
    void *handle;
    const uint32_t *table;

    snprintf(path, sizeof path, "%s/%s.so", directory ? directory : PKGLIBDIR, name);
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        error_set(error, -ENOENT, "cannot open %s: %s; is banyan installed here?", what, dlerror());
        return NULL;
    }
    table = dlsym(handle, symbol);
    if (!table || *table != interface) {
        error_set(error, -EPROTO, "%s belongs to another version of banyan; install it again",
                  path);
        return NULL;
    }
    log_debug("%s opened: %s", what, path);
    return table;
}

const struct host_table *plugin_pmix_host(struct error *error)
{
    static const struct host_table *opened;

    if (!opened)
        opened = open_table("pmix_host", "host_table", HOST_ABI, "the PMIx host", error);
    return opened;
}

const struct ofi_table *plugin_fabric_ofi(struct error *error)
{
    static const struct ofi_table *opened;

    if (!opened)
        opened = open_table("fabric_ofi", "ofi_table", OFI_ABI, "the way to libfabric", error);
    return opened;
}

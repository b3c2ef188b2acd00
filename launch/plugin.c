/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"

#define PLUGIN_PATH_BYTES 4096

const struct host_table *plugin_pmix_host(struct error *error)
{
    static const struct host_table *opened;
    const char *directory = getenv("BANYAN_PKGLIBDIR");
    char path[PLUGIN_PATH_BYTES];
    const struct host_table *table;
    void *handle;

    if (opened)
        return opened;
    snprintf(path, sizeof path, "%s/pmix_host.so", directory ? directory : PKGLIBDIR);
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        error_set(error, -ENOENT, "cannot open the PMIx host: %s; is banyan installed here?",
                  dlerror());
        return NULL;
    }
    table = dlsym(handle, "host_table");
    if (!table || table->abi != HOST_ABI) {
        error_set(error, -EPROTO, "%s belongs to another version of banyan; install it again",
                  path);
        return NULL;
    }
    log_debug("PMIx host opened: %s", path);
    opened = table;
    return opened;
}

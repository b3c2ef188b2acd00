/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/log.h"
#include "launch/exec/build_tree.h"

/* Where our shared object name.so is: free() it. */
static char *find_object(const char *name)
{
    const char *directory = getenv("BANYAN_PKGLIBDIR");
    char *built = directory == NULL ? build_tree_object(name) : NULL;

    if (built != NULL)
        return built;
    return memory_printf("%s/%s.so", directory != NULL ? directory : PKGLIBDIR, name);
}

/* The table of our shared object name.so, which begins with the number of its interface; what is what
 * it is for people. */
static const void *open_table(const char *name, const char *symbol, uint32_t interface,
                              const char *what, struct error *error)
{
    char *path = find_object(name);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const uint32_t *table = handle != NULL ? dlsym(handle, symbol) : NULL;

    if (handle == NULL) {
        error_set(error, -ENOENT, "cannot open %s: %s; is banyan installed here?", what, dlerror());
    } else if (table == NULL || *table != interface) {
        error_set(error, -EPROTO, "%s belongs to another version of banyan; reinstall it", path);
        table = NULL;
    } else {
        log_debug("%s opened: %s", what, path);
    }
    free(path);
    return table;
}

const struct host_table *plugin_pmix_host(struct error *error)
{
    static const struct host_table *opened;

    if (!opened)
        opened = open_table("pmix_host", "host_table", HOST_ABI, "the PMIx host", error);
    return opened;
}

const struct fence_client_table *plugin_pmix_client(struct error *error)
{
    static const struct fence_client_table *opened;

    if (!opened)
        opened = open_table("pmix_client", "fence_client_table", FENCE_CLIENT_ABI,
                            "the PMIx client", error);
    return opened;
}

const struct ofi_table *plugin_fabric_ofi(struct error *error)
{
    static const struct ofi_table *opened;

    if (!opened)
        opened = open_table("fabric_ofi", "ofi_table", OFI_ABI, "the libfabric plugin", error);
    return opened;
}

int plugin_has_fabric_ofi(void)
{
    char *path = find_object("fabric_ofi");
    int is_there = access(path, F_OK) == 0;

    free(path);
    return is_there;
}

/* A path without a slash would be looked for in directories of the system. */
const struct banyan_collective *plugin_collective(const char *path, struct error *error)
{
    char *found =
        strchr(path, '/') != NULL ? memory_copy_string(path) : memory_printf("./%s", path);
    void *handle = dlopen(found, RTLD_NOW | RTLD_LOCAL);
    const struct banyan_collective *collective =
        handle != NULL ? dlsym(handle, "banyan_collective") : NULL;

    if (handle == NULL) {
        error_set(error, -ENOENT, "cannot open the collective: %s", dlerror());
    } else if (collective == NULL || collective->interface != BANYAN_COLLECTIVE_INTERFACE ||
               collective->name == NULL || collective->plan == NULL) {
        error_set(error, -EPROTO, "%s is not a collective of interface %u: see banyan/collective.h",
                  path, BANYAN_COLLECTIVE_INTERFACE);
        collective = NULL;
    }
    free(found);
    return collective;
}

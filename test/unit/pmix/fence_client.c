/* SPDX-License-Identifier: BSD-3-Clause */
/* The built pmix_client.so (pmix/fence_client.c) without a server. With one: test/system/run_bench_client.sh. */
#include "config.h"

#include "pmix/fence_client.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/tap.h"

/* An init of libpmix 4.2.2 that fails keeps some bytes. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libpmix.so\n";
}

int main(void)
{
    const char *directory = getenv("BANYAN_PKGLIBDIR");
    const struct fence_client_table *table;
    struct fence_client_self self = {.rank = 7, .ranks = 9};
    struct error error = ERROR_NONE;
    char path[512];
    void *plugin;

    snprintf(path, sizeof(path), "%s/pmix_client.so", directory != NULL ? directory : ".libs");
    plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL)
        skip_all("%s", dlerror());
    table = dlsym(plugin, "fence_client_table");
    ok(table != NULL, "it has its table");
    is_uint(table->abi, FENCE_CLIENT_ABI, "of this version");
    /* As a job whose launcher has ended leaves it: libpmix tries to reach that. */
    setenv("PMIX_NAMESPACE", "nobody", 1);
    setenv("PMIX_RANK", "0", 1);
    setenv("PMIX_SERVER_URI41", "nobody.0;tcp4://127.0.0.1:1", 1);
    setenv("PMIX_MCA_ptl_base_max_retries", "1", 1);
    ok(table->open(&self, &error) < 0, "there is no server");
    ok(strncmp(error.text, "cannot join the job by PMIx: ", 29) == 0, "says so: %s", error.text);
    ok(self.rank == 7 && self.ranks == 9, "the rest is untouched");
    return done_testing();
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_allocation.h"

#include <assert.h>
#include <stddef.h>

#include "base/buffer.h"
#include "pmix/host_client.h"
#include "pmix/host_internal.h"

#include <pmix.h>

/* What each directive of the standard asks for; all others, also those of vendors, are no request. */
static const struct {
    pmix_alloc_directive_t directive;
    const char *what;
} requests[] = {
    {PMIX_ALLOC_NEW, "get a new allocation"},
    {PMIX_ALLOC_EXTEND, "extend the allocation"},
    {PMIX_ALLOC_RELEASE, "release a part of the allocation"},
    {PMIX_ALLOC_REAQUIRE, "reacquire a part of the allocation"},
};

#define REQUESTS_COUNT (sizeof(requests) / sizeof(requests[0]))

static const char *request_what(pmix_alloc_directive_t directive)
{
    for (size_t i = 0; i < REQUESTS_COUNT; i++) {
        if (requests[i].directive == directive)
            return requests[i].what;
    }
    return NULL;
}

pmix_status_t host_allocation_upcall(const pmix_proc_t *proc, pmix_alloc_directive_t directive,
                                     const pmix_info_t info[], size_t info_count,
                                     pmix_info_cbfunc_t callback, void *context)
{
    const char *what = request_what(directive);

    assert(info != NULL || info_count == 0);
    if (what == NULL)
        return PMIX_ERR_NOT_SUPPORTED;
    host_client_say(
        proc, memory_printf("PMIx_Allocation_request on %s: cannot %s: the nodes of a running "
                            "banyan do not change: start it with all nodes that are needed\n",
                            host_self()->node_name, what));
    return PMIX_ERR_NOT_SUPPORTED;
}

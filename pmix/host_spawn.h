/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PMIx_Spawn: the upcall, made into a request of the daemon (pmi_spawn.h).
 */
#ifndef PMIX_HOST_SPAWN_H
#define PMIX_HOST_SPAWN_H

#include <pmix_server.h>

pmix_status_t host_spawn_upcall(const pmix_proc_t *proc, const pmix_info_t job_info[],
                                size_t job_info_count, const pmix_app_t apps[], size_t apps_count,
                                pmix_spawn_cbfunc_t callback, void *context);

/* The directives that are obeyed; ends with NULL. */
const char *const *host_spawn_directives(void);

#endif

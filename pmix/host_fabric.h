/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PMIx_Fabric_register and PMIx_Fabric_update (PMIx 4.1, 14.3): the network plane that is meant, the number of its devices
 * and, up to PMI_FABRIC_MATRIX_MAX of them, the matrix of costs, as an array of uint16 row by row.  Nothing is kept of a
 * fabric that is registered, so libpmix alone deregisters it.
 *
 * Cost: a message to the root, and its answer with two bytes for each cost.
 */
#ifndef PMIX_HOST_FABRIC_H
#define PMIX_HOST_FABRIC_H

#include <pmix_server.h>

/* The upcall `fabric`. */
pmix_status_t host_fabric_upcall(const pmix_proc_t *requestor, pmix_fabric_operation_t operation,
                                 const pmix_info_t directives[], size_t directives_count,
                                 pmix_info_cbfunc_t callback, void *context);

#endif

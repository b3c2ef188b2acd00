/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one place where PMIx status codes and negative errno meet.
 */
#ifndef PMIX_HOST_STATUS_H
#define PMIX_HOST_STATUS_H

#include <pmix_common.h>

/* Both are total: what has no counterpart becomes -EIO or PMIX_ERROR. */
int host_status_to_errno(pmix_status_t status);
pmix_status_t host_status_from_errno(int code);

#endif

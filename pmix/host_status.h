/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Translates between PMIx status codes and negative errno, in this place only.
 */
#ifndef PMIX_HOST_STATUS_H
#define PMIX_HOST_STATUS_H

#include <pmix_common.h>

/* Both are total: a value without counterpart becomes -EIO or PMIX_ERROR. */
int host_status_to_errno(pmix_status_t status);
pmix_status_t host_status_from_errno(int code);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_status.h"

#include <errno.h>
#include <stddef.h>

/* In each direction the first row with a code is used. */
static const struct {
    int code;
    pmix_status_t status;
} pairs[] = {
    {0, PMIX_SUCCESS},
    {0, PMIX_OPERATION_SUCCEEDED},
    {-ETIMEDOUT, PMIX_ERR_TIMEOUT},
    {-ENOENT, PMIX_ERR_NOT_FOUND},
    {-ENOTSUP, PMIX_ERR_NOT_SUPPORTED},
    {-ENOSYS, PMIX_ERR_NOT_SUPPORTED},
    {-EINVAL, PMIX_ERR_BAD_PARAM},
    {-ENOMEM, PMIX_ERR_NOMEM},
    {-EPERM, PMIX_ERR_NO_PERMISSIONS},
    {-EACCES, PMIX_ERR_NO_PERMISSIONS},
    {-EEXIST, PMIX_ERR_EXISTS},
    {-EAGAIN, PMIX_ERR_WOULD_BLOCK},
    {-ENOBUFS, PMIX_ERR_OUT_OF_RESOURCE},
    {-EMFILE, PMIX_ERR_OUT_OF_RESOURCE},
    {-EHOSTUNREACH, PMIX_ERR_UNREACH},
    /* A process or a node that took part has ended. */
    {-ESRCH, PMIX_ERR_LOST_CONNECTION},
    {-EHOSTDOWN, PMIX_ERR_LOST_CONNECTION},
    {-ECONNRESET, PMIX_ERR_LOST_CONNECTION},
    {-EPIPE, PMIX_ERR_LOST_CONNECTION},
    {-ECANCELED, PMIX_ERR_JOB_ABORTED},
    {-ENOTCONN, PMIX_ERR_INVALID_OPERATION}, /* to leave a set that one has not joined */
    {-ESHUTDOWN, PMIX_ERR_INIT},
    {-EIO, PMIX_ERROR},
};

#define PAIRS_COUNT (sizeof(pairs) / sizeof(pairs[0]))

int host_status_to_errno(pmix_status_t status)
{
    for (size_t i = 0; i < PAIRS_COUNT; i++) {
        if (pairs[i].status == status)
            return pairs[i].code;
    }
    return -EIO;
}

pmix_status_t host_status_from_errno(int code)
{
    for (size_t i = 0; i < PAIRS_COUNT; i++) {
        if (pairs[i].code == code)
            return pairs[i].status;
    }
    return PMIX_ERROR;
}

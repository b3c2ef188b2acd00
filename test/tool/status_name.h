/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One name for a status, whatever the version of libpmix calls it: its constant's, without PMIX_ERR_ and with hyphens.
 */
#ifndef TEST_TOOL_STATUS_NAME_H
#define TEST_TOOL_STATUS_NAME_H

#include <pmix.h>
#include <stdio.h>
#include <string.h>

/* The result is valid until the next call. */
static inline const char *status_name(pmix_status_t status)
{
    /* Those that 4.2 calls otherwise than 5.0. */
    static const struct {
        pmix_status_t status;
        const char *name;
    } names[] = {
        {PMIX_ERR_JOB_FAILED_TO_MAP, "JOB-FAILED-TO-MAP"},
        {PMIX_ERR_JOB_EXE_NOT_FOUND, "JOB-EXE-NOT-FOUND"},
        {PMIX_ERR_JOB_WDIR_NOT_FOUND, "JOB-WDIR-NOT-FOUND"},
        {PMIX_ERR_JOB_FAILED_TO_LAUNCH, "JOB-FAILED-TO-LAUNCH"},
        {PMIX_ERR_LOST_CONNECTION, "LOST-CONNECTION"},
        {PMIX_ERR_INVALID_CRED, "INVALID-CRED"},
        {PMIX_ERR_NO_PERMISSIONS, "NO-PERMISSIONS"},
    };
    static const char *const prefixes[] = {"PMIX_", "ERR_"};
    static char text[64];
    const char *name = PMIx_Error_string(status);

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].status == status)
            return names[i].name;
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            name += strlen(prefixes[i]);
    snprintf(text, sizeof(text), "%s", name);
    for (char *at = text; *at != '\0'; at++)
        if (*at == '_' || *at == ' ')
            *at = '-';
    return text;
}

#endif

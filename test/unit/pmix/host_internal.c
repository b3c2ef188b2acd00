/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Directives as libpmix hands them on: time limits of each type, up to what 32 bits of milliseconds hold, and those that
 * must be refused.
 */
#include "config.h"

#include "pmix/host_internal.h"
#include "test/support/tap.h"

#include <limits.h>

#include <pmix.h>

#define MS_MAX_S 4294967u /* 49 days, 17 hours */

static uint32_t limit_ms(pmix_data_type_t type, const void *value)
{
    pmix_info_t info[2];
    uint32_t timeout_ms;

    PMIX_INFO_LOAD(&info[0], PMIX_COLLECT_DATA, NULL, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, value, type);
    timeout_ms = host_timeout_ms(info, 2);
    PMIX_INFO_DESTRUCT(&info[0]);
    PMIX_INFO_DESTRUCT(&info[1]);
    return timeout_ms;
}

static uint32_t limit_of(uint32_t seconds)
{
    return limit_ms(PMIX_UINT32, &seconds);
}

static uint32_t limit_of_int(int seconds)
{
    return limit_ms(PMIX_INT, &seconds);
}

static void test_limits(void)
{
    static const char text[] = "7";

    is_uint(host_timeout_ms(NULL, 0), 0, "no directive, no limit");
    is_uint(limit_of(0), 0, "0 s: none");
    is_uint(limit_of_int(-1), 0, "nor less than that");
    is_uint(limit_of_int(2), 2000, "2 s");
    is_uint(limit_of(7), 7000, "7 s");
    is_uint(limit_ms(PMIX_STRING, text), 0, "a text is no number");
    is_uint(limit_of(MS_MAX_S), MS_MAX_S * 1000u, "the longest");
    is_uint(limit_of(MS_MAX_S + 1), UINT32_MAX, "what is longer is cut down, not wrapped");
    is_uint(limit_of_int(INT_MAX), UINT32_MAX, "68 years as well");
    is_uint(limit_of(UINT32_MAX), UINT32_MAX, "and 136");
}

static void test_required(void)
{
    static const char *const known[] = {PMIX_TIMEOUT, NULL};
    pmix_info_t info;

    PMIX_INFO_LOAD(&info, "test.unknown", NULL, PMIX_BOOL);
    is_int(host_refuses(NULL, 0, known), 0, "without directives nothing is refused");
    is_int(host_refuses(&info, 1, known), 0, "nor one that is not known");
    PMIX_INFO_REQUIRED(&info);
    is_int(host_refuses(&info, 1, known), 1, "unless it is required");
    PMIX_LOAD_KEY(info.key, PMIX_TIMEOUT);
    is_int(host_refuses(&info, 1, known), 0, "one that is known may be");
    PMIX_INFO_DESTRUCT(&info);
}

int main(void)
{
    test_limits();
    test_required();
    return done_testing();
}

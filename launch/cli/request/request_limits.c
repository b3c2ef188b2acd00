/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/request_limits.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"

#define UNIT_SHIFT  10
#define UNITS       "KMGT"
#define SHOWN_BYTES 80
#define TEN         10u

static int text_is(const char *text, size_t bytes, const char *word)
{
    return strlen(word) == bytes && memcmp(text, word, bytes) == 0;
}

/* Digits and at most one unit; "unlimited". */
static int parse_amount(const char *text, size_t bytes, uint64_t *ret_amount)
{
    uint64_t amount = 0;
    size_t at = 0;

    if (text_is(text, bytes, "unlimited")) {
        *ret_amount = PROCESS_LIMIT_NONE;
        return 0;
    }
    for (; at < bytes && text[at] >= '0' && text[at] <= '9'; at++) {
        if (amount > (PROCESS_LIMIT_NONE - TEN) / TEN)
            return -ERANGE;
        amount = TEN * amount + (uint64_t)(text[at] - '0');
    }
    if (at == 0 || at + 1 < bytes)
        return -EINVAL;
    if (at < bytes) {
        const char *unit = strchr(UNITS, text[at] >= 'a' ? text[at] - 'a' + 'A' : text[at]);
        unsigned int shift;

        if (unit == NULL || text[at] == '\0')
            return -EINVAL;
        shift = UNIT_SHIFT * (unsigned int)(unit - UNITS + 1);
        if (amount > PROCESS_LIMIT_NONE >> shift)
            return -ERANGE;
        amount <<= shift;
    }
    assert(at <= bytes);
    *ret_amount = amount;
    return 0;
}

/* SOFT[:HARD] */
static int parse_limit(const char *text, struct process_limit *ret_limit)
{
    struct process_limit limit = {.rule = PROCESS_LIMIT_SOFT};
    size_t soft_bytes = strcspn(text, ":");
    int rc = 0;

    if (strcmp(text, "hard") == 0)
        limit.rule = PROCESS_LIMIT_RAISE;
    else
        rc = parse_amount(text, soft_bytes, &limit.soft);
    if (rc == 0 && text[soft_bytes] == ':') {
        limit.rule = PROCESS_LIMIT_BOTH;
        rc = parse_amount(text + soft_bytes + 1, strlen(text + soft_bytes + 1), &limit.hard);
        if (rc == 0 && limit.soft > limit.hard)
            rc = -EDOM;
    }
    assert(limit.rule != PROCESS_LIMIT_KEEP);
    if (rc == 0)
        *ret_limit = limit;
    return rc;
}

static int refuse_name(const char *item, size_t name_bytes, struct error *error)
{
    const char *names[PROCESS_LIMIT_KIND_COUNT];
    char name[SHOWN_BYTES + 1];
    char *list;
    const char *nearest;

    for (unsigned int i = 0; i < PROCESS_LIMIT_KIND_COUNT; i++)
        names[i] = process_limits_name((enum process_limit_kind)i);
    snprintf(name, sizeof(name), "%.*s", (int)name_bytes, item);
    nearest = nearest_word(name, names, PROCESS_LIMIT_KIND_COUNT);
    if (nearest != NULL)
        return error_set(error, -EINVAL, "option --rlimit: unknown limit '%s': did you mean '%s'?",
                         name, nearest);
    list = options_list_join(
        &(struct option_list){.items = names, .count = PROCESS_LIMIT_KIND_COUNT}, ", ");
    error_set(error, -EINVAL, "option --rlimit: unknown limit '%s'; there are %s", name, list);
    free(list);
    return -EINVAL;
}

static int add_limit(const char *item, struct process_limits *limits, struct error *error)
{
    size_t name_bytes = strcspn(item, "=");
    enum process_limit_kind kind = process_limits_find(item, name_bytes);
    int rc;

    if (item[name_bytes] == '\0')
        return error_set(error, -EINVAL, "option --rlimit: '%.*s' is not NAME=SOFT[:HARD]",
                         SHOWN_BYTES, item);
    if (kind == PROCESS_LIMIT_KIND_COUNT)
        return refuse_name(item, name_bytes, error);
    rc = parse_limit(item + name_bytes + 1, &limits->items[kind]);
    if (rc == -EDOM)
        return error_set(error, -EINVAL,
                         "option --rlimit: '%.*s': the soft limit is above the hard one",
                         SHOWN_BYTES, item);
    if (rc < 0)
        return error_set(error, -EINVAL,
                         "option --rlimit: '%.*s': give whole numbers, with K, M, G or T, or "
                         "'unlimited', or 'hard' for the soft limit alone",
                         SHOWN_BYTES, item);
    return 0;
}

static int parse_umask(const char *text, struct process_limits *limits, struct error *error)
{
    size_t digits = strspn(text, "01234567");
    unsigned long mask = strtoul(text, NULL, 8);

    if (digits == 0 || text[digits] != '\0' || mask > PROCESS_UMASK_MAX)
        return error_set(error, -EINVAL,
                         "option --umask: '%.*s' is not an octal number from 0 to 0777",
                         SHOWN_BYTES, text);
    limits->umask = (uint16_t)mask;
    limits->umask_is_set = 1;
    return 0;
}

static int parse_nice(const char *text, struct process_limits *limits, struct error *error)
{
    uint32_t value = 0;
    int is_negative = text[0] == '-';

    if (options_number(text + is_negative, 0, PROCESS_NICE_MAX, &value) < 0)
        return error_set(error, -EINVAL,
                         "option --nice: must be a number from -%d to %d, not '%.*s'",
                         PROCESS_NICE_MAX, PROCESS_NICE_MAX, SHOWN_BYTES, text);
    limits->nice = (int8_t)(is_negative ? -(int)value : (int)value);
    return 0;
}

int request_limits_make(const struct request_settings *settings, struct process_limits *ret_limits,
                        struct error *error)
{
    struct process_limits limits = {.umask = 0};
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < settings->limits.count; i++)
        rc = add_limit(settings->limits.items[i], &limits, error);
    if (rc == 0 && settings->umask != NULL)
        rc = parse_umask(settings->umask, &limits, error);
    if (rc == 0 && settings->nice != NULL)
        rc = parse_nice(settings->nice, &limits, error);
    assert(rc < 0 || limits.umask <= PROCESS_UMASK_MAX);
    if (rc == 0)
        *ret_limits = limits;
    return rc;
}

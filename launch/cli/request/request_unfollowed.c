/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/request_unfollowed.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "launch/cli/request/request_starter.h"

#define KIND(starter)  (1u << (starter))
#define FORKS_HERE     (KIND(STARTER_LOCAL) | KIND(STARTER_VIRTUAL))
#define STARTS_AT_ONCE (KIND(STARTER_SRUN) | KIND(STARTER_PALS) | KIND(STARTER_FLUX))
#define STARTS_NOTHING KIND(STARTER_JOIN)

enum limit { LIMIT_AGENT, LIMIT_RETRIES, LIMIT_BOOT, LIMIT_USER, LIMIT_COUNT };

static const struct starter_limit {
    const char *option;
    unsigned int kinds; /* of starters that cannot follow it */
    const char *why;
} limits[LIMIT_COUNT] = {
    [LIMIT_AGENT] = {"--ssh-agent", FORKS_HERE | STARTS_AT_ONCE | STARTS_NOTHING,
                     "it calls no agent"},
    [LIMIT_RETRIES] = {"--start-retries", FORKS_HERE | STARTS_AT_ONCE | STARTS_NOTHING,
                       "only agents are called again"},
    [LIMIT_BOOT] = {"--boot", FORKS_HERE, "its daemons get the data over a pipe"},
    [LIMIT_USER] = {"the user before '@'", FORKS_HERE | STARTS_AT_ONCE | STARTS_NOTHING,
                    "daemons run as the user of the job"},
};

static bool is_given(enum limit limit, const struct request_settings *settings, const char *user)
{
    switch (limit) {
    case LIMIT_AGENT:
        return settings->agent != NULL;
    case LIMIT_RETRIES:
        return settings->start_retries != RUN_NOT_GIVEN;
    case LIMIT_BOOT:
        return settings->boot != NULL;
    default:
        assert(limit == LIMIT_USER);
        return user[0] != '\0';
    }
}

char *request_unfollowed_tell(const struct request_settings *settings, const char *user,
                              enum starter_kind starter)
{
    struct buffer lines = {0};
    char *text = NULL;

    assert(starter < STARTER_KIND_COUNT && user != NULL);
    for (int i = 0; i < LIMIT_COUNT; i++) {
        if ((limits[i].kinds & KIND(starter)) == 0 || !is_given((enum limit)i, settings, user))
            continue;
        buffer_printf(&lines, "%swarning: %s has no effect with the starter %s: %s",
                      lines.length_bytes > 0 ? "\n" : "", limits[i].option,
                      request_starter_name(starter), limits[i].why);
    }
    if (lines.length_bytes > 0)
        text = memory_copy_string(buffer_string(&lines));
    buffer_fini(&lines);
    return text;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/option/job_word.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "launch/cli/option/options.h"

#define RANK_MAX (UINT32_MAX - 1)

void job_word_fini(struct job_word *word)
{
    ranges_fini(&word->ranks);
}

/* "0-15,20" */
static int parse_ranks(char *text, struct ranges *ranks)
{
    char *part;

    while ((part = strsep(&text, ",")) != NULL) {
        uint32_t first, last;

        if (options_range(part, 0, RANK_MAX, &first, &last) < 0 || first > last)
            return -EINVAL;
        ranges_add(ranks, first, last);
    }
    return 0;
}

int job_word_parse(const char *word, struct job_word *ret_word, struct error *error)
{
    struct job_word parsed = {.job = 0};
    char *text = memory_copy_string(word);
    char *rest = text;
    const char *job = strsep(&rest, ":");
    int rc = options_number(job, 1, UINT32_MAX, &parsed.job);

    if (rc == 0 && rest != NULL)
        rc = parse_ranks(rest, &parsed.ranks);
    free(text);
    if (rc < 0) {
        ranges_fini(&parsed.ranks);
        return error_set(error, -EINVAL,
                         "'%.80s' is no job: expected JOB or JOB:RANKS, such as 7 or 7:0-3,9",
                         word);
    }
    *ret_word = parsed;
    return 0;
}

int job_word_signal(const char *word, uint32_t *ret_number, struct error *error)
{
    const char *name = strncasecmp(word, "SIG", 3) == 0 ? word + 3 : word;

    for (int number = 1; number < NSIG; number++) {
        const char *known = sigabbrev_np(number);

        if (known == NULL || strcasecmp(known, name) != 0)
            continue;
        *ret_number = (uint32_t)number;
        return 0;
    }
    if (options_number(word, 1, NSIG - 1, ret_number) == 0)
        return 0;
    return error_set(error, -EINVAL, "'%.40s' is no signal: expected a name or number, see kill -l",
                     word);
}

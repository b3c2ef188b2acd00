/* SPDX-License-Identifier: BSD-3-Clause */
/* A job of an instance, or some of its ranks, as people write them: "7", "7:3", "7:0-15,20". */
#ifndef LAUNCH_CLI_OPTION_JOB_WORD_H
#define LAUNCH_CLI_OPTION_JOB_WORD_H

#include <stdint.h>

#include "base/error.h"
#include "base/ranges.h"

struct job_word {
    uint32_t job;
    struct ranges ranks; /* none: all; owned */
};

/* -EINVAL with an error that names the word. */
int job_word_parse(const char *word, struct job_word *ret_word, struct error *error);
void job_word_fini(struct job_word *word);
/* "TERM", "SIGTERM" in any case, or "15"; -EINVAL if there is no such signal. */
int job_word_signal(const char *word, uint32_t *ret_number, struct error *error);

#endif

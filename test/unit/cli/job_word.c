/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/option/job_word.h"

#include <errno.h>
#include <string.h>

#include "base/buffer.h"
#include "test/support/tap.h"

static void parses(const char *text, uint32_t job, const char *ranks)
{
    struct job_word word;
    struct buffer printed = {0};
    int rc = job_word_parse(text, &word, NULL);

    if (rc == 0) {
        ranges_print(&word.ranks, &printed);
        ok(word.job == job, "%s: the job", text);
        is_string(buffer_string(&printed), ranks, "%s: its ranks", text);
        job_word_fini(&word);
    } else {
        ok(0, "%s is a job", text);
    }
    buffer_fini(&printed);
}

static void is_refused(const char *text)
{
    struct error error = ERROR_NONE;
    struct job_word word;

    is_int(job_word_parse(text, &word, &error), -EINVAL, "'%s' is no job", text);
    ok(strstr(error.text, "is no job: expected JOB or JOB:RANKS") != NULL, "'%s': and says so",
       text);
}

static void is_signal(const char *text, uint32_t expected)
{
    uint32_t number = 0;

    is_int(job_word_signal(text, &number, NULL), expected > 0 ? 0 : -EINVAL, "'%s'", text);
    is_uint(number, expected, "'%s': the number", text);
}

int main(void)
{
    static const char *const wrong[] = {"",      "0",   "x",    "-1",    "7:",   "7:x",
                                        "7:3-1", "7:,", "7:1,", "7:1:2", "7 :1", "4294967296"};

    parses("7", 7, "");
    parses("7:3", 7, "3");
    parses("4294967295:0-15,20,16", 4294967295u, "0-16,20");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        is_refused(wrong[i]);
    is_signal("TERM", 15);
    is_signal("SIGTERM", 15);
    is_signal("sigusr1", 10);
    is_signal("15", 15);
    is_signal("64", 64);
    is_signal("65", 0);
    is_signal("0", 0);
    is_signal("SIG", 0);
    is_signal("FOO", 0);
    is_signal("", 0);
    return done_testing();
}

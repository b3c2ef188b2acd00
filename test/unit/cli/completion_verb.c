/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/completion_verb.h"
#include "test/support/tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the verb prints on standard output. */
static int run_verb(const char *word, char **ret_text)
{
    static const struct completion_verb verbs[] = {{.name = "stop", .summary = "stop it"}};
    char name[] = "completion", argument[32];
    char *argv[] = {name, argument, NULL};
    FILE *output = stdout;
    size_t bytes = 0;
    int status;

    snprintf(argument, sizeof(argument), "%s", word);
    stdout = open_memstream(ret_text, &bytes);
    status = completion_verb(verbs, 1, 2, argv);
    fclose(stdout);
    stdout = output;
    return status;
}

int main(void)
{
    for (size_t i = 0; i < COMPLETION_SHELLS; i++) {
        struct buffer script = {0};
        char *text = NULL;

        completion_shells[i].print(&(struct completion_verb){.name = "stop", .summary = "stop it"},
                                   1, &script);
        is_int(run_verb(completion_shells[i].name, &text), 0, "%s", completion_shells[i].name);
        is_string(text, buffer_string(&script), "the script for it");
        buffer_fini(&script);
        free(text);
    }
    for (size_t i = 0; i < COMPLETION_SHELLS; i++) {
        struct buffer help = {0};

        completion_verb_help(&help);
        has_string(buffer_string(&help), completion_shells[i].name, "the help names %s",
                   completion_shells[i].name);
        buffer_fini(&help);
    }
    return done_testing();
}

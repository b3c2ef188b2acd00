/* SPDX-License-Identifier: BSD-3-Clause */
/* Options that a starter cannot follow (launch/cli/request/request_unfollowed.c). */
#include "config.h"

#include "launch/cli/request/request_unfollowed.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "launch/cli/request/request_starter.h"
#include "test/support/tap.h"

static void says(const struct request_settings *settings, const char *user,
                 enum starter_kind starter, const char *expected, const char *what)
{
    char *text = request_unfollowed_tell(settings, user, starter);

    is_string(text, expected, "%s, starter %s", what, request_starter_name(starter));
    free(text);
}

#define NO_EFFECT(option, starter, why) \
    "warning: " option " has no effect with the starter " starter ": " why

int main(void)
{
    struct request_settings none = {.start_retries = RUN_NOT_GIVEN};
    struct request_settings agent = {.start_retries = RUN_NOT_GIVEN, .agent = "rsh"};
    struct request_settings all = {.start_retries = 0, .agent = "rsh", .boot = "munge"};

    for (int kind = 0; kind < STARTER_KIND_COUNT; kind++)
        says(&none, "", (enum starter_kind)kind, NULL, "no option");
    says(&all, "me", STARTER_SSH, NULL, "ssh follows all of them");
    says(&agent, "", STARTER_SRUN, NO_EFFECT("--ssh-agent", "srun", "it calls no agent"),
         "an agent");
    says(&agent, "", STARTER_JOIN, NO_EFFECT("--ssh-agent", "join", "it calls no agent"),
         "an agent");
    says(&none, "me", STARTER_FLUX,
         NO_EFFECT("the user before '@'", "flux", "daemons run as the user of the job"), "a user");
    says(&all, "", STARTER_PALS,
         NO_EFFECT("--ssh-agent", "pals", "it calls no agent") "\n" NO_EFFECT(
             "--start-retries", "pals", "only agents are called again"),
         "one line for each");
    says(&all, "", STARTER_VIRTUAL,
         NO_EFFECT("--ssh-agent", "virtual", "it calls no agent") "\n" NO_EFFECT(
             "--start-retries", "virtual",
             "only agents are called again") "\n" NO_EFFECT("--boot", "virtual",
                                                            "its daemons get the data over a pipe"),
         "also three");
    return done_testing();
}

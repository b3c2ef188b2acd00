/* SPDX-License-Identifier: BSD-3-Clause */
/* `banyan recover` (launch/cli/verb/recover_verb.c, launch/cli/client/recover.c): what it refuses, and that it starts nothing then. */
#include "config.h"

#include "launch/cli/verb/recover_verb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/cli/client/recover.h"
#include "test/support/tap.h"

static void refuses(const char *directory, int code, const char *expected, const char *name)
{
    struct error error = ERROR_NONE;

    is_int(recover_run(directory, &error), code, "%s is refused", name);
    ok(strstr(error.text, expected) != NULL, "with one line: %s", error.text);
    ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "and nothing has been started");
}

int main(void)
{
    char scratch[] = "/tmp/recover-XXXXXX";
    struct buffer help = {0};

    ok(mkdtemp(scratch) != NULL, "a directory");
    refuses("/nowhere/at/all", -ENOENT, "cannot recover the instance at /nowhere/at/all", "none");
    refuses(scratch, -ENOENT, "has no journal", "one of no root");
    chmod(scratch, 0755);
    refuses(scratch, -EPERM, "only this user can access", "one that others can read");
    rmdir(scratch);
    recover_verb_help(&help);
    ok(strstr(buffer_string(&help), "--survive") != NULL, "its help says what it needs");
    ok(recover_verb_rules()[0].help != NULL, "it has options");
    buffer_fini(&help);
    return done_testing();
}

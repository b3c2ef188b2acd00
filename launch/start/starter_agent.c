/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/start/starter_agent.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

/* For the real ssh: never ask, no terminal, no X11; and do not become a connection's master, which
 * would outlive us unnoticed.  What the user says in --ssh-agent stands before and wins. */
static const char *const ssh_options[] = {"-oBatchMode=yes", "-oControlMaster=no", "-x", "-T",
                                          NULL};
static const char *const kubectl_shell[] = {"--", "sh", "-c", NULL};
static const char *const plain_shell[] = {"sh", "-c", NULL};

static const struct starter_agent agents[] = {
    {.program = "ssh", .options = ssh_options},
    {.program = "blaunch", .shell = plain_shell},
    {.program = "pbsdsh", .shell = plain_shell, .no_stdin = true, .root_only = true},
    {.program = "qrsh", .root_only = true},
    {.program = "kubectl", .shell = kubectl_shell, .root_only = true},
};

static const struct starter_agent like_rsh = {.program = ""};

const struct starter_agent *starter_agent_find(const char *command)
{
    const char *word = command + strspn(command, " \t");
    size_t bytes = strcspn(word, " \t");

    for (size_t i = bytes; i > 0; i--) {
        if (word[i - 1] != '/')
            continue;
        word += i;
        bytes -= i;
        break;
    }
    for (size_t i = 0; i < sizeof(agents) / sizeof(agents[0]); i++) {
        assert(agents[i].program != NULL);
        if (strlen(agents[i].program) == bytes && memcmp(word, agents[i].program, bytes) == 0)
            return &agents[i];
    }
    return &like_rsh;
}

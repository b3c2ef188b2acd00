/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of programs that start a daemon on one node (launch/start/starter_agent.c). */
#include "config.h"

#include "launch/start/starter_agent.h"

#include "test/support/tap.h"

static void test_rows(void)
{
    static const struct {
        const char *command, *program;
        const char *shell; /* the first of its words */
        int no_stdin, root_only;
    } rows[] = {
        {"ssh", "ssh", NULL, 0, 0},
        {"/usr/bin/ssh -p 2222", "ssh", NULL, 0, 0},
        {"  ssh  -v", "ssh", NULL, 0, 0},
        {"sshpass -e ssh", "", NULL, 0, 0},
        {"/opt/ssh/agent", "", NULL, 0, 0},
        {"", "", NULL, 0, 0},
        {"pbs_tmrsh", "", NULL, 0, 0},
        {"blaunch", "blaunch", "sh", 0, 0},
        {"pbsdsh -h", "pbsdsh", "sh", 1, 1},
        {"qrsh -inherit -V", "qrsh", NULL, 0, 1},
        {"/usr/local/bin/kubectl -n jobs exec -i", "kubectl", "--", 0, 1},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct starter_agent *agent = starter_agent_find(rows[i].command);

        is_string(agent->program, rows[i].program, "'%s'", rows[i].command);
        is_string(agent->shell != NULL ? agent->shell[0] : NULL, rows[i].shell, "its shell");
        is_int(agent->no_stdin, rows[i].no_stdin, "its input");
        is_int(agent->root_only, rows[i].root_only, "where it is called");
    }
    is_string(starter_agent_find("ssh")->options[0], "-oBatchMode=yes", "ssh asks nobody");
}

int main(void)
{
    test_rows();
    return done_testing();
}

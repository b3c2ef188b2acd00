/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs that are called as AGENT NODE COMMAND, by the last part of their path: what each needs beside that.  One that
 * is not listed is called like rsh: it joins the command's words and hands them to a shell.
 */
#ifndef LAUNCH_START_STARTER_AGENT_H
#define LAUNCH_START_STARTER_AGENT_H

#include <stdbool.h>

struct starter_agent {
    const char *program;
    const char *const *options; /* before the node; NULL: none */
    const char *const
        *shell;     /* before the command, if it starts that without a shell; NULL: none */
    bool no_stdin;  /* what it starts gets no input */
    bool root_only; /* only where the root is may it be called */
};

/* The agent of a command line, by its first word; never NULL. */
const struct starter_agent *starter_agent_find(const char *command);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What starts one process of `banyan run --no-daemons` on its node: a script for /bin/sh, which reads it from its standard
 * input, so that the environment in it is in no argument (but what shell_variable.h hands to env).  The script prints a
 * mark, starts the process in a session, and ends as that does.  After the mark each line of its input, the name of a
 * signal, is sent to the session.  When its input ends, also because its sender has ended, it ends the process: SIGTERM,
 * and SIGKILL after the grace.  What the process has left in its session is killed at its end.
 *
 * From the mark on the script ignores SIGHUP and SIGTERM: whatever happens to its agent, it lives as long as the process.
 */
#ifndef LAUNCH_CLI_CLIENT_DIRECT_SCRIPT_H
#define LAUNCH_CLI_CLIENT_DIRECT_SCRIPT_H

#include "base/buffer.h"
#include "launch/proto/job_spec.h"

/* Before it there may be what a login shell prints. */
#define DIRECT_SCRIPT_MARK "BANYAN-STARTED"

struct direct_process {
    uint32_t rank;
    uint32_t size;
    uint32_t local_rank;
    uint32_t local_size;
    const char *node;
};

void direct_script_put(const struct app_spec *app, const struct direct_process *process,
                       uint32_t grace_s, struct buffer *out);

#endif

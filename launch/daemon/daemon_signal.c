/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signals that a daemon receives.  A scheduler that cancels or preempts a job, or ends it at its time
 * limit, sends SIGTERM to the processes that it started, which are the daemons.  Jobs are then ended in
 * order: their processes get SIGTERM, too, and have time to save their state.  Each daemon asks the root
 * for that; the first request is reported to the user, the others have no effect.  Signals that a
 * scheduler forwards (scancel --signal=USR1) are sent to the local ranks.
 */
#include "config.h"

#include "launch/daemon/daemon_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_BYTES 32

struct scheduler {
    const char *variable; /* set in the environment of its jobs */
    const char *name;
};

static const struct scheduler schedulers[] = {
    {"SLURM_JOB_ID", "Slurm"}, {"PBS_JOBID", "PBS"},           {"LSB_JOBID", "LSF"},
    {"FLUX_JOB_ID", "Flux"},   {"PE_HOSTFILE", "Grid Engine"}, {"OAR_JOB_ID", "OAR"},
};

/* The name of a process; 0 if it cannot be read. */
static int process_name(pid_t pid, char name[NAME_BYTES])
{
    char path[32];
    ssize_t bytes = -1;
    int fd;

    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    fd = pid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        bytes = read(fd, name, NAME_BYTES - 1);
        close(fd);
    }
    name[bytes > 0 ? bytes : 0] = 0;
    name[strcspn(name, "\n")] = 0;
    return name[0] != 0;
}

/* The sender's name: a scheduler's, if its process is recognised, or if the sender is not visible from
 * here and we run in a job of that scheduler; else the process's.  "" if that has ended, as kill(1)
 * usually has. */
static void find_sender(const struct daemon *daemon, char name[NAME_BYTES])
{
    pid_t pid = loop_signal_sender(daemon->loop);

    if (process_name(pid, name)) {
        if (strncmp(name, "slurm", 5) == 0 || strcmp(name, "srun") == 0)
            snprintf(name, NAME_BYTES, "Slurm");
        return;
    }
    for (size_t i = 0; pid == 0 && i < sizeof schedulers / sizeof schedulers[0]; i++)
        if (name[0] == 0 && getenv(schedulers[i].variable) != NULL)
            snprintf(name, NAME_BYTES, "%s", schedulers[i].name);
}

static void ask_for_end(struct daemon *daemon, int number)
{
    char sender[NAME_BYTES] = "";
    struct daemon_event event = {.kind = DAEMON_EVENT_SIGNALLED, .number = number, .text = sender};

    daemon_check(daemon);
    find_sender(daemon, sender);
    daemon_core_step(daemon->core, &event);
}

static void on_terminate(void *context)
{
    ask_for_end(context, SIGTERM);
}

static void on_interrupt(void *context)
{
    ask_for_end(context, SIGINT);
}

static void forward_signal(struct daemon *daemon, int number)
{
    struct list_link *node, *spare;

    list_for_each(&daemon->jobs, node, spare)
    {
        if (!daemon_core_is_ending(daemon->core))
            helper_signal_group(daemon->helper, list_entry(node, struct daemon_job, node)->number,
                                number);
    }
}

static void on_user_1(void *context)
{
    forward_signal(context, SIGUSR1);
}

static void on_user_2(void *context)
{
    forward_signal(context, SIGUSR2);
}

void daemon_watch_signals(struct daemon *daemon)
{
    assert(!daemon->is_joiner); /* join_daemon_watch_signals handles those */
    (void)loop_signal_create(daemon->loop, SIGTERM, on_terminate, daemon);
    (void)loop_signal_create(daemon->loop, SIGINT, on_interrupt, daemon);
    (void)loop_signal_create(daemon->loop, SIGUSR1, on_user_1, daemon);
    (void)loop_signal_create(daemon->loop, SIGUSR2, on_user_2, daemon);
}

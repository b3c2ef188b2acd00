/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/fork_self.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "launch/exec/process_title.h"
#include "launch/proto/exit_status.h"

static void keep_only(int fd)
{
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null_fd < 0 || dup2(fd, STDIN_FILENO) < 0 || dup2(null_fd, STDOUT_FILENO) < 0 ||
        dup2(null_fd, STDERR_FILENO) < 0)
        _exit(EXIT_STATUS_FAILED);
    close_range(STDERR_FILENO + 1, ~0u, 0);
}

static void raise_files_limit(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) < 0)
        return;
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
}

/* A scheduler sends the first ones to all that it started: who has work to finish needs us until then. */
static void set_signals(void)
{
    static const int ignored[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    sigset_t none;

    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_DFL);
    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
        (void)signal(ignored[i], SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

pid_t fork_self(const char *name, int fd, int (*entry)(void))
{
    pid_t parent = getpid(), pid;

    assert(fd > STDERR_FILENO && entry != NULL);
    fflush(NULL); /* else what waits in a stream could be written twice */
    pid = fork();
    if (pid != 0)
        return pid < 0 ? -errno : pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != parent)
        _exit(EXIT_STATUS_FAILED);
    (void)setpgid(0, 0);
    process_title_set(name, NULL);
    keep_only(fd);
    raise_files_limit();
    set_signals();
    _exit(entry());
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/remote/proxy_child.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/proto/exit_status.h"

const int proxy_child_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
const size_t proxy_child_signals_count =
    sizeof(proxy_child_signals) / sizeof(proxy_child_signals[0]);

static void become_child(void (*become)(void *context), void *context, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    if (getppid() == parent)
        become(context);
    _exit(EXIT_STATUS_FAILED);
}

void proxy_child_unblock(const struct proxy_child *child)
{
    sigprocmask(SIG_SETMASK, &child->mask, NULL);
}

int proxy_child_fork(struct proxy_child *child, const int *signals, size_t signals_count,
                     void (*become)(void *context), void *context)
{
    pid_t parent = getpid();
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (size_t i = 0; i < signals_count; i++)
        sigaddset(&set, signals[i]);
    *child = (struct proxy_child){.signals_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)};
    sigprocmask(SIG_BLOCK, &set, &child->mask);
    if (child->signals_fd < 0)
        return -errno;
    child->pid = fork();
    if (child->pid == 0)
        become_child(become, context, parent);
    return child->pid < 0 ? -errno : 0;
}

int proxy_child_next_signal(struct proxy_child *child, struct signalfd_siginfo *ret_info)
{
    struct signalfd_siginfo info;

    assert(child->pid > 0);
    while (read(child->signals_fd, &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo == SIGCHLD)
            continue;
        *ret_info = info;
        return (int)info.ssi_signo;
    }
    if (!child->has_ended && waitpid(child->pid, &child->wait_status, WNOHANG) == child->pid)
        child->has_ended = 1;
    return 0;
}

int proxy_child_exit_status(const struct proxy_child *child)
{
    if (!child->has_ended)
        return EXIT_STATUS_FAILED;
    return WIFEXITED(child->wait_status) ? WEXITSTATUS(child->wait_status)
                                         : EXIT_STATUS_SIGNAL + WTERMSIG(child->wait_status);
}

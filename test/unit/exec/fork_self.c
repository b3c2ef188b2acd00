/* SPDX-License-Identifier: BSD-3-Clause */
/* A second process of this program: what it has of its parent, and that it ends with it. */
#include "config.h"

#include "launch/exec/fork_self.h"
#include "test/support/tap.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct seen {
    pid_t pid, parent, group, session;
    int descriptors; /* above standard error */
    int blocked;     /* signals */
    int files_left;  /* of the limit of descriptors */
    char name[16];
};

static int count_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    struct dirent *entry;
    int count = -1; /* the directory's own */

    while (directory != NULL && (entry = readdir(directory)) != NULL)
        count += atoi(entry->d_name) > STDERR_FILENO;
    if (directory != NULL)
        closedir(directory);
    return count;
}

static int report(void)
{
    struct seen seen = {.pid = getpid(), .parent = getppid(), .group = getpgrp()};
    struct rlimit files;
    sigset_t mask;

    seen.session = getsid(0);
    seen.descriptors = count_descriptors();
    sigprocmask(SIG_SETMASK, NULL, &mask);
    for (int number = 1; number < NSIG; number++)
        seen.blocked += sigismember(&mask, number) == 1;
    getrlimit(RLIMIT_NOFILE, &files);
    seen.files_left = (int)(files.rlim_max - files.rlim_cur);
    prctl(PR_GET_NAME, seen.name);
    printf("this goes nowhere\n");
    raise(SIGTERM);
    raise(SIGINT);
    raise(SIGHUP);
    if (write(STDIN_FILENO, &seen, sizeof(seen)) != sizeof(seen))
        return 1;
    return 77;
}

/* Says that it runs, and waits. */
static int linger(void)
{
    if (write(STDIN_FILENO, "x", 1) != 1)
        return 1;
    for (;;)
        pause();
}

static int socket_pair(int ends[2])
{
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
        bail_out("socketpair");
    return ends[1];
}

static void test_child(void)
{
    struct seen seen = {0};
    int ends[2], status;
    sigset_t blocked;
    pid_t pid;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    pid = fork_self("self-of-test", socket_pair(ends), report);
    sigprocmask(SIG_UNBLOCK, &blocked, NULL);
    ok(pid > 0, "it is forked");
    is_int(read(ends[0], &seen, sizeof(seen)), sizeof(seen), "and speaks through its input");
    is_int(waitpid(pid, &status, 0), pid, "it ends");
    is_int(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 77, "with the status of its entry");
    is_int(seen.pid, pid, "its number is the one we know");
    is_int(seen.parent, getpid(), "it is our child");
    is_int(seen.group, pid, "in a process group of its own");
    is_int(seen.session, getsid(0), "but in our session");
    is_int(seen.descriptors, 0, "it has no descriptor of ours");
    is_int(seen.blocked, 0, "no signal is blocked");
    is_int(seen.files_left, 0, "it may open as many files as it can");
    is_string(seen.name, "self-of-test", "it has its name");
    close(ends[0]);
    close(ends[1]);
}

/* By SIGKILL: nobody is there to end it. */
static void test_dies_with_parent(void)
{
    int ends[2], status;
    char byte;
    pid_t parent;

    (void)socket_pair(ends);
    parent = fork();
    if (parent == 0) {
        close(ends[0]);
        if (fork_self("lingers", ends[1], linger) < 0)
            _exit(1);
        for (;;)
            pause();
    }
    close(ends[1]);
    is_int(read(ends[0], &byte, 1), 1, "the child of another runs");
    kill(parent, SIGKILL);
    waitpid(parent, &status, 0);
    is_int(read(ends[0], &byte, 1), 0, "and is gone when that is killed");
    close(ends[0]);
}

int main(void)
{
    test_child();
    test_dies_with_parent();
    return done_testing();
}

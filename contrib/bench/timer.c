/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * timer SECONDS OUTPUT COMMAND [ARGUMENT...]: runs a launcher once and prints
 *
 *     WALL_NS CPU_NS STATUS LEFT
 *
 * WALL_NS: from fork to the end of the command itself. CPU_NS: of all its descendants that have
 * ended, wherever they detached to (the timer is their subreaper). STATUS: exit code, 128 + signal,
 * or "timeout" after SECONDS. LEFT: descendants that were still there a second after the command;
 * they are killed. The command's output and errors go to OUTPUT; its input is empty.
 */
#include "config.h"

#include "contrib/bench/measure.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t children_cpu_ns(void)
{
    struct rusage usage;

    getrusage(RUSAGE_CHILDREN, &usage);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000u +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
}

static pid_t start(char **argv, const char *output)
{
    pid_t pid = fork();
    int fd;

    if (pid != 0)
        return pid;
    setsid();
    fd = open("/dev/null", O_RDONLY);
    dup2(fd, STDIN_FILENO);
    fd = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) {
        perror(output);
        _exit(125);
    }
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    execvp(argv[0], argv);
    dprintf(STDERR_FILENO, "timer: %s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

/* Waits for the command until the deadline; false if it is then still there. */
static bool wait_for(pid_t pid, int timeout_ms, int *ret_status)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    int ready;

    do
        ready = poll(&poll_fd, 1, timeout_ms);
    while (ready < 0 && errno == EINTR);
    close(fd);
    return ready == 1 && waitpid(pid, ret_status, 0) == pid;
}

/* Kills our children, of whom orphans are made ours as their parents die; how many there were. */
static unsigned kill_children(void)
{
    char path[64];
    unsigned count = 0;
    long pid;
    FILE *file;

    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    file = fopen(path, "r");
    if (file == NULL)
        return 0;
    while (fscanf(file, "%ld", &pid) == 1) {
        kill((pid_t)pid, SIGKILL);
        count++;
    }
    fclose(file);
    return count;
}

/* Gives what is left a second to end, then ends it; how many did not by themselves. */
static unsigned reap_rest(void)
{
    uint64_t deadline_ns = now_ns() + 1000000000u;
    unsigned left = 0;

    for (;;) {
        pid_t pid = waitpid(-1, NULL, WNOHANG);

        if (pid < 0)
            return left;
        if (pid > 0)
            continue;
        if (now_ns() > deadline_ns)
            left += kill_children();
        poll(NULL, 0, 2);
    }
}

int main(int argc, char **argv)
{
    uint64_t started_ns, wall_ns;
    int status = 0;
    bool ended;
    pid_t pid;
    unsigned left;

    if (argc < 4) {
        fprintf(stderr, "usage: timer SECONDS OUTPUT COMMAND [ARGUMENT...]\n");
        return 2;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    started_ns = now_ns();
    pid = start(argv + 3, argv[2]);
    ended = wait_for(pid, atoi(argv[1]) * 1000, &status);
    wall_ns = now_ns() - started_ns;
    if (!ended)
        kill_children();
    left = reap_rest();
    printf("%" PRIu64 " %" PRIu64 " ", wall_ns, children_cpu_ns());
    if (ended)
        printf("%d %u\n", WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), left);
    else
        printf("timeout %u\n", left);
    return 0;
}

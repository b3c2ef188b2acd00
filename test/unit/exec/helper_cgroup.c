/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cgroup of a job (launch/exec/helper_cgroup.c) whose processes have made others in it.
 */
#include "config.h"

#include "launch/exec/helper_cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "launch/exec/orphan.h"
#include "test/support/tap.h"

#define DEPTH     40
#define LOOKS_MAX 6000
#define PAUSE_US  10000

static void make(const char *path)
{
    if (mkdir(path, 0755) < 0)
        bail_out("cannot make %s: %s", path, strerror(errno));
}

/* A process that lives there. */
static pid_t inhabit(const char *path)
{
    char *file = memory_printf("%s/cgroup.procs", path);
    int fd = open(file, O_WRONLY | O_CLOEXEC);
    int is_in[2];
    char byte;
    pid_t pid;

    if (fd < 0 || pipe2(is_in, O_CLOEXEC) < 0)
        bail_out("cannot enter %s: %s", path, strerror(errno));
    pid = fork();
    if (pid == 0) {
        if (write(fd, "0", 1) != 1)
            _exit(1);
        (void)!write(is_in[1], "", 1);
        for (;;)
            pause();
    }
    close(fd);
    close(is_in[1]);
    if (read(is_in[0], &byte, 1) != 1)
        bail_out("no process enters %s", path);
    close(is_in[0]);
    free(file);
    return pid;
}

/* As the helper does: until it is removed. */
static int is_removed(const char *path, int fd)
{
    for (int i = 0; i < LOOKS_MAX; i++) {
        if (helper_cgroup_remove(path, fd))
            return 1;
        usleep(PAUSE_US);
    }
    return 0;
}

static void test_nested(char *path, int fd)
{
    char *child = memory_printf("%s/a", path), *other = memory_printf("%s/b c", path);
    char *inner = memory_printf("%s/a/inner", path);
    pid_t pids[3];
    int status;

    make(child);
    make(other);
    make(inner);
    pids[0] = inhabit(inner);
    pids[1] = inhabit(child);
    pids[2] = inhabit(other);
    ok(is_removed(path, fd), "a cgroup with processes in others below it is removed");
    ok(access(path, F_OK) < 0, "and is gone");
    for (int i = 0; i < 3; i++)
        ok(waitpid(pids[i], &status, 0) == pids[i] && WIFSIGNALED(status) &&
               WTERMSIG(status) == SIGKILL,
           "its processes are killed: %d", i);
    free(child);
    free(other);
    free(inner);
}

static void test_deep(char *path, int fd)
{
    char *deep = memory_copy_string(path);

    for (int i = 0; i < DEPTH; i++) {
        char *deeper = memory_printf("%s/d", deep);

        free(deep);
        deep = deeper;
        make(deep);
    }
    ok(is_removed(path, fd), "many levels without a process are removed");
    ok(access(path, F_OK) < 0, "all of them");
    free(deep);
}

int main(void)
{
    static void (*const tests[])(char *path, int fd) = {test_nested, test_deep};
    int fd;

    /* Helpers of other tests take cgroups of what is no helper for left by a dead one. */
    (void)prctl(PR_SET_NAME, HELPER_NAME);
    is_int(helper_cgroup_remove(NULL, -1), 1, "without a cgroup nothing is left");
    for (uint32_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        char *path = helper_cgroup_create(i + 1, &fd);

        if (path == NULL) {
            skip(1, "no cgroup v2 can be made here");
            continue;
        }
        tests[i](path, fd);
        close(fd);
        free(path);
    }
    return done_testing();
}

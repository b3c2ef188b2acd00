/* SPDX-License-Identifier: BSD-3-Clause */
/* The start of one process, without a helper around it: what a refused cgroup costs. */
#include "config.h"

#include "launch/exec/helper_child.h"
#include "test/support/tap.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/exec/helper_cgroup.h"

#define PATH_BYTES 16384
#define STARTS     50
#define STATUS     7

static char path_variable[PATH_BYTES];

/* Forks a shell that exits with STATUS, and waits for it; its wait status. */
static int start_once(int null_fd, int cgroup_fd)
{
    char shell[] = "sh", option[] = "-c", script[] = "exit 7";
    char *argv[] = {NULL, shell, option, script, NULL};
    char *environment[] = {NULL, path_variable, NULL};
    struct child_start *start = helper_child_start_take();
    struct child_failure failure;
    int report_fd = -1, status = 0;
    pid_t pid;

    start->order.argv = argv + 1;
    start->order.environment = environment + 1;
    start->null_fd = null_fd;
    assert(getrlimit(RLIMIT_NOFILE, &start->files) == 0);
    pid = helper_child_spawn(start, cgroup_fd, &report_fd);
    assert(pid > 0 && waitpid(pid, &status, 0) == pid);
    assert(helper_child_result(report_fd, &failure) == 1);
    close(report_fd);
    helper_child_start_give(start);
    return status;
}

/* Any directory is a cgroup that the kernel refuses. */
static void test_refused_cgroup(void)
{
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    int no_cgroup_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    size_t before, after;
    int made_fd = 0, good = 0;

    ok(start_once(null_fd, no_cgroup_fd) == STATUS << 8,
       "a process whose cgroup is refused starts without one");
    ok(helper_cgroup_create(1, &made_fd) == NULL && made_fd == -1, "and no more cgroups are made");
    before = mallinfo2().uordblks;
    for (int i = 0; i < STARTS; i++)
        good += start_once(null_fd, no_cgroup_fd) == STATUS << 8;
    after = mallinfo2().uordblks;
    is_int(good, STARTS, "it is so each time");
    ok(after < before + PATH_BYTES, "and nothing is kept of such a start");
    is_int(open("/", O_RDONLY | O_CLOEXEC), no_cgroup_fd + 1, "nor a descriptor");
    close(no_cgroup_fd + 1);
    close(no_cgroup_fd);
    close(null_fd);
}

/* Its descriptor 0, whatever it is, is to be the terminal of its session. */
static int start_at_terminal(int fd, struct child_failure *ret_failure)
{
    char shell[] = "sh", option[] = "-c", script[] = "exec </dev/tty && [ -t 0 ] && exit 7";
    char *argv[] = {NULL, shell, option, script, NULL};
    char *environment[] = {NULL, path_variable, NULL};
    struct child_start *start = helper_child_start_take();
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    int report_fd = -1, status = 0;
    pid_t pid;

    start->order.argv = argv + 1;
    start->order.environment = environment + 1;
    start->order.request.value = HELPER_START_TERMINAL;
    start->order.request.group = 1;
    start->order.request.targets_count = 1;
    start->fds[0] = fd;
    start->null_fd = null_fd;
    assert(getrlimit(RLIMIT_NOFILE, &start->files) == 0);
    pid = helper_child_spawn(start, -1, &report_fd);
    assert(pid > 0 && waitpid(pid, &status, 0) == pid);
    if (helper_child_result(report_fd, ret_failure) == 1)
        ret_failure->code = 0;
    close(report_fd);
    close(null_fd);
    helper_child_start_give(start);
    return status;
}

static void test_terminal(void)
{
    int master_fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct child_failure failure = {0};
    int fd;

    (void)start_at_terminal(null_fd, &failure);
    is_int(failure.code, -ENOTTY, "what is no terminal cannot be one");
    close(null_fd);
    if (master_fd < 0 || grantpt(master_fd) < 0 || unlockpt(master_fd) < 0) {
        skip(2, "no pseudo-terminals");
        return;
    }
    fd = open(ptsname(master_fd), O_RDWR | O_NOCTTY | O_CLOEXEC);
    is_int(start_at_terminal(fd, &failure), STATUS << 8, "a terminal is that of its session");
    is_int(failure.code, 0, "without a failure");
    close(fd);
    close(master_fd);
}

int main(void)
{
    memset(path_variable, 'x', sizeof(path_variable) - 1);
    memcpy(path_variable, "PATH=/bin:/", strlen("PATH=/bin:/"));
    test_refused_cgroup();
    test_terminal();
    return done_testing();
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/child_limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/support/tap.h"

/* What a process finds once its limits are set. */
struct found {
    long rc;
    char refused[32];
    struct rlimit files;
    struct rlimit cores;
    mode_t mask;
    int nice;
};

static int nice_of(void)
{
    return getpriority(PRIO_PROCESS, 0);
}

/* In a process of its own. */
static struct found set_limits(const struct process_limits *limits)
{
    struct found found = {.rc = 1};
    int ends[2];
    pid_t pid;

    if (pipe(ends) < 0)
        bail_out("no pipe");
    pid = fork();
    if (pid == 0) {
        const char *refused = "";

        found.rc = child_limits_set(limits, &refused);
        strncpy(found.refused, refused, sizeof(found.refused) - 1);
        getrlimit(RLIMIT_NOFILE, &found.files);
        getrlimit(RLIMIT_CORE, &found.cores);
        found.mask = umask(0);
        found.nice = nice_of();
        _exit(write(ends[1], &found, sizeof(found)) == sizeof(found) ? 0 : 1);
    }
    close(ends[1]);
    if (pid < 0 || read(ends[0], &found, sizeof(found)) != (ssize_t)sizeof(found))
        bail_out("no answer");
    close(ends[0]);
    waitpid(pid, NULL, 0);
    return found;
}

static void test_nothing(void)
{
    struct process_limits limits = {.umask = 0};
    struct rlimit files;
    struct found found = set_limits(&limits);
    mode_t mask = umask(0);

    (void)umask(mask);
    getrlimit(RLIMIT_NOFILE, &files);
    is_int(found.rc, 0, "no limits are set");
    is_uint(found.files.rlim_cur, files.rlim_cur, "descriptors");
    is_uint(found.files.rlim_max, files.rlim_max, "and their hard limit are as before");
    is_uint(found.mask, mask, "and so is the mask");
    is_int(found.nice, nice_of(), "and the nice value");
}

static void test_set(void)
{
    struct process_limits limits = {.umask = 027, .umask_is_set = 1, .nice = PROCESS_NICE_MAX};
    struct rlimit files;
    struct found found;

    getrlimit(RLIMIT_NOFILE, &files);
    limits.items[PROCESS_LIMIT_NOFILE] =
        (struct process_limit){.rule = PROCESS_LIMIT_SOFT, .soft = 33};
    limits.items[PROCESS_LIMIT_CORE] =
        (struct process_limit){.rule = PROCESS_LIMIT_BOTH, .soft = 0, .hard = 0};
    found = set_limits(&limits);
    is_int(found.rc, 0, "limits are set");
    is_uint(found.files.rlim_cur, 33, "the soft one");
    is_uint(found.files.rlim_max, files.rlim_max, "without the hard one");
    is_uint(found.cores.rlim_cur, 0, "and both");
    is_uint(found.cores.rlim_max, 0, "at once");
    is_uint(found.mask, 027, "a mask");
    is_int(found.nice, 19, "the nice value ends at 19");
    limits.items[PROCESS_LIMIT_NOFILE] = (struct process_limit){.rule = PROCESS_LIMIT_RAISE};
    found = set_limits(&limits);
    is_uint(found.files.rlim_cur, files.rlim_max, "the soft limit can be raised to the hard one");
}

static void test_refused(void)
{
    struct process_limits limits = {.umask = 0};
    struct rlimit files;
    struct found found;

    getrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_max == RLIM_INFINITY) {
        skip(2, "there is no hard limit of descriptors here");
        return;
    }
    limits.items[PROCESS_LIMIT_NOFILE] =
        (struct process_limit){.rule = PROCESS_LIMIT_SOFT, .soft = files.rlim_max + 1};
    found = set_limits(&limits);
    is_int(found.rc, -EINVAL, "a soft limit above the hard one is refused");
    is_string(found.refused, "nofile", "by its name");
}

int main(void)
{
    test_nothing();
    test_set();
    test_refused();
    return done_testing();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the kernel's counters say of a process that SIGKILL has ended (launch/exec/memory_kills.h).
 */
#include "config.h"

#include "launch/exec/memory_kills.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "test/support/tap.h"

/* The file of a cgroup, in a directory of ours. */
static void write_events(int directory_fd, const char *text)
{
    int fd = openat(directory_fd, "memory.events", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        bail_out("cannot write memory.events: %s", strerror(errno));
    close(fd);
}

static void check_cgroup(int fd)
{
    is_int((int64_t)memory_kills_cgroup(-1), 0, "no cgroup: nothing is known");
    is_int((int64_t)memory_kills_cgroup(fd), 0, "nor of one without the controller");
    write_events(fd, "low 0\nhigh 0\nmax 7\noom 3\noom_kill 2\noom_group_kill 1\n");
    is_int((int64_t)memory_kills_cgroup(fd), 2, "the line of killed processes counts");
    write_events(fd, "oom_kill 18446744073709551615");
    ok(memory_kills_cgroup(fd) == UINT64_MAX,
       "the largest number, as the only line, without an end");
    write_events(fd, "oom 3\noom_group_kill 1\n");
    is_int((int64_t)memory_kills_cgroup(fd), 0, "others do not");
    write_events(fd, "");
    is_int((int64_t)memory_kills_cgroup(fd), 0, "nor does an empty file");
}

static void check_judge(int fd)
{
    struct memory_kills kills;

    write_events(fd, "oom_kill 0\n");
    memory_kills_begin(&kills);
    ok(memory_kills_judge(&kills, fd) != MEMORY_KILL_PROVEN, "killed by somebody else");
    write_events(fd, "oom_kill 2\n");
    is_int(memory_kills_judge(&kills, fd), MEMORY_KILL_PROVEN, "one of two that were killed");
    is_int(memory_kills_judge(&kills, fd), MEMORY_KILL_PROVEN, "the other");
    ok(memory_kills_judge(&kills, fd) != MEMORY_KILL_PROVEN, "a third is none of them");
    if (memory_kills_around() > 0) {
        kills.around = memory_kills_around() - 1;
        is_int(memory_kills_judge(&kills, -1), MEMORY_KILL_NEAR, "one around");
    }
    kills.around = UINT64_MAX;
    is_int(memory_kills_judge(&kills, -1), MEMORY_KILL_NONE, "none at all");
}

int main(void)
{
    char *path = memory_printf("%s/bm.XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    int fd;

    if (mkdtemp(path) == NULL)
        bail_out("cannot make %s: %s", path, strerror(errno));
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    check_cgroup(fd);
    check_judge(fd);
    unlinkat(fd, "memory.events", 0);
    close(fd);
    rmdir(path);
    free(path);
    return done_testing();
}

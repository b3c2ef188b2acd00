/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/task_spawn.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/proto/exit_status.h"

#define PATH_DEFAULT "/bin:/usr/bin"

/* What the child reports: it shares our memory until it has become another program. */
struct spawn_failure {
    volatile int code;
    volatile int is_directory;
};

static const char *path_of(char *const *environment)
{
    for (; *environment != NULL; environment++)
        if (strncmp(*environment, "PATH=", 5) == 0)
            return *environment + 5;
    return PATH_DEFAULT;
}

/* Returns -errno: of the candidate that exists, if there was one. */
static int exec_in_path(const struct task_spawn *spawn)
{
    const char *name = spawn->argv[0];
    const char *path = path_of(spawn->environment);
    size_t name_bytes = strlen(name) + 1;
    char candidate[PATH_MAX];
    int code = -ENOENT;

    for (;;) {
        size_t bytes = strcspn(path, ":");

        if (bytes + 1 + name_bytes <= sizeof(candidate)) {
            memcpy(candidate, path, bytes);
            candidate[bytes] = '/';
            memcpy(candidate + bytes + (bytes > 0), name, name_bytes);
            execve(candidate, spawn->argv, spawn->environment);
            if (errno != ENOENT && errno != ENOTDIR)
                code = -errno;
        }
        if (path[bytes] == '\0')
            return code;
        path += bytes + 1;
    }
}

/* In the child: only system calls, and no memory but its own frames. */
static __attribute__((noreturn)) void become_task(const struct task_spawn *spawn, pid_t worker,
                                                  struct spawn_failure *failure)
{
    const struct sigaction defaults = {.sa_handler = SIG_DFL};
    sigset_t none;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != worker)
        _exit(EXIT_STATUS_FAILED);
    sigaction(SIGPIPE, &defaults, NULL);
    sigaction(SIGUSR1, &defaults, NULL);
    sigaction(SIGUSR2, &defaults, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int target = 0; target < 3; target++)
        dup2(spawn->fds[target], target);
    if (spawn->directory != NULL && chdir(spawn->directory) < 0) {
        failure->is_directory = 1;
        failure->code = -errno;
        _exit(EXIT_STATUS_FAILED);
    }
    if (strchr(spawn->argv[0], '/') == NULL) {
        failure->code = exec_in_path(spawn);
    } else {
        execve(spawn->argv[0], spawn->argv, spawn->environment);
        failure->code = -errno;
    }
    _exit(EXIT_STATUS_FAILED);
}

pid_t task_spawn(const struct task_spawn *spawn, const char **ret_step)
{
    struct spawn_failure failure = {.code = 0};
    pid_t worker = getpid();
    pid_t pid;

    assert(spawn->argv[0] != NULL && spawn->argv[0][0] != '\0');
    for (int i = 0; i < 3; i++)
        assert(spawn->fds[i] > 2); /* else one of them would be lost to another */
    pid = vfork();
    if (pid == 0)
        become_task(spawn, worker, &failure);
    *ret_step = failure.is_directory ? "enter" : "run";
    if (pid < 0)
        return -errno;
    if (failure.code == 0)
        return pid;
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return failure.code;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/node_run.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "launch/exec/task_worker.h"
#include "launch/proto/exit_status.h"

static const char **make_words(const struct node_run *run)
{
    const char *const fixed[] = {"--per-node", "1",    "--mpi", run->mpi,
                                 "--stdin",    "none", "--",    TASK_WORKER_PROGRAM};
    size_t fixed_count = sizeof(fixed) / sizeof(fixed[0]), words_count = 0, count = 0;
    const char **argv;

    while (run->words[words_count] != NULL)
        words_count++;
    argv = memory_allocate((fixed_count + (size_t)run->options_count + words_count + 3) *
                           sizeof(*argv));
    argv[count++] = "banyan";
    argv[count++] = "run";
    for (int i = 0; i < run->options_count; i++)
        argv[count++] = run->options[i];
    for (size_t i = 0; i < fixed_count; i++)
        argv[count++] = fixed[i];
    for (size_t i = 0; i < words_count; i++)
        argv[count++] = run->words[i];
    argv[count] = NULL;
    return argv;
}

static void execute(const struct node_run *run, int out_fd, pid_t parent)
{
    const char **argv = make_words(run);

    prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    if (getppid() != parent)
        _exit(EXIT_STATUS_FAILED);
    if (dup2(out_fd, STDOUT_FILENO) >= 0)
        execv("/proc/self/exe", (char *const *)(uintptr_t)argv);
    fprintf(stderr, "banyan: cannot start banyan run: %s\n", strerror(errno));
    _exit(EXIT_STATUS_FAILED);
}

static int read_all(int fd, struct buffer *out)
{
    ssize_t got;

    do {
        got = read(fd, buffer_reserve(out, 65536), 65536);
        if (got > 0)
            buffer_commit(out, (size_t)got);
    } while (got > 0 || (got < 0 && errno == EINTR));
    return got < 0 ? -errno : 0;
}

int node_run_read(const struct node_run *run, struct buffer *out, struct error *error)
{
    int ends[2], status = 0, rc;
    pid_t parent = getpid(), pid;

    assert(run->mpi != NULL && run->words != NULL);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_set(error, -errno, "cannot make a pipe: %s", strerror(errno));
    pid = fork();
    if (pid == 0)
        execute(run, ends[1], parent);
    close(ends[1]);
    rc = pid < 0 ? -errno : read_all(ends[0], out);
    close(ends[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (rc < 0)
        return error_set(error, rc, "cannot start banyan run: %s", strerror(-rc));
    if (WIFSIGNALED(status))
        return error_set(error, -ECANCELED, "cannot %s: signal %d has ended banyan run", run->what,
                         WTERMSIG(status));
    return WEXITSTATUS(status);
}

const char *node_run_next_line(const char *line)
{
    size_t bytes = strcspn(line, "\n");

    return line + bytes + (line[bytes] == '\n');
}

int node_run_refuse(const char *what, const char *line, struct error *error)
{
    return error_set(error, -EPROTO, "cannot %s: a process has printed '%.*s'", what,
                     (int)strcspn(line, "\n"), line);
}

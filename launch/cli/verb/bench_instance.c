/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/bench_instance.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "launch/cli/verb/this_machine.h"
#include "launch/proto/exit_status.h"

static volatile sig_atomic_t child; /* for the handler */

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

#define SIGNALS_COUNT (sizeof(signals) / sizeof(signals[0]))

static void on_signal(int number)
{
    kill((pid_t)child, SIGTERM);
    while (waitpid((pid_t)child, NULL, 0) < 0 && errno == EINTR)
        ;
    signal(number, SIG_DFL);
    raise(number);
}

/* SIGTERM is not lost if this process has ended before the child could ask for it. */
static void become_start(int write_fd, const char *const *options, pid_t parent)
{
    char *banyan = this_machine_banyan();
    const char **argv;
    size_t count = 0;

    prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    if (getppid() != parent || dup2(write_fd, STDOUT_FILENO) < 0)
        _exit(EXIT_STATUS_FAILED);
    while (options[count] != NULL)
        count++;
    argv = memory_allocate_zeroed((count + 3) * sizeof(*argv));
    argv[0] = "banyan";
    argv[1] = "start";
    memcpy(argv + 2, options, count * sizeof(*argv));
    execv(banyan, (char *const *)(uintptr_t)argv);
    fprintf(stderr, "banyan: cannot run %s start: %s\n", banyan, strerror(errno));
    _exit(EXIT_STATUS_FAILED);
}

/* The first line that it prints is its directory. */
static char *read_line(int fd)
{
    char line[PATH_MAX];
    FILE *stream = fdopen(fd, "r");
    char *directory = NULL;

    assert(stream != NULL);
    if (fgets(line, sizeof(line), stream) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        directory = memory_copy_string(line);
    }
    fclose(stream);
    return directory;
}

int bench_instance_start(struct bench_instance *ret_instance, const char *const *options,
                         struct error *error)
{
    struct bench_instance instance = {.pid = 0};
    pid_t parent = getpid();
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_set(error, -errno, "cannot start an instance: %s", strerror(errno));
    instance.pid = fork();
    if (instance.pid == 0)
        become_start(ends[1], options, parent);
    close(ends[1]);
    if (instance.pid < 0) {
        close(ends[0]);
        return error_set(error, -errno, "cannot start an instance: %s", strerror(errno));
    }
    child = (sig_atomic_t)instance.pid;
    for (size_t i = 0; i < SIGNALS_COUNT; i++)
        signal(signals[i], on_signal);
    assert(child > 0);
    instance.directory = read_line(ends[0]);
    if (instance.directory == NULL) {
        bench_instance_stop(&instance);
        return 1;
    }
    *ret_instance = instance;
    return 0;
}

void bench_instance_stop(struct bench_instance *instance)
{
    if (instance->pid <= 0)
        return;
    kill(instance->pid, SIGTERM);
    while (waitpid(instance->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    for (size_t i = 0; i < SIGNALS_COUNT; i++)
        signal(signals[i], SIG_DFL);
    free(instance->directory);
    *instance = (struct bench_instance){.pid = 0};
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/start/command_output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "fabric/loop.h"
#include "launch/proto/exit_status.h"

#define READ_BYTES      (64u * 1024)
#define WORDS_BYTES_MAX (64u * 1024) /* of stderr: the rest is thrown away */

/* A command that runs, and the ends of its pipes that are ours. */
struct command {
    pid_t pid;
    int out_fd;
    int words_fd;
    struct buffer *out;
    struct buffer words;
    int too_long;
};

static void become_command(const char *const *argv, const int out[2], const int words[2])
{
    int null_fd = open("/dev/null", O_RDWR);

    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0 || dup2(out[1], STDOUT_FILENO) < 0 ||
        dup2(words[1], STDERR_FILENO) < 0)
        _exit(EXIT_STATUS_NOT_FOUND);
    execvp(argv[0], (char *const *)argv);
    dprintf(STDERR_FILENO, "%s\n", strerror(errno));
    _exit(EXIT_STATUS_NOT_FOUND);
}

static int command_start(struct command *command, const char *const *argv)
{
    int out[2], words[2];

    if (pipe2(out, O_CLOEXEC) < 0)
        return -errno;
    if (pipe2(words, O_CLOEXEC) < 0) {
        int rc = -errno;
        close(out[0]);
        close(out[1]);
        return rc;
    }
    command->pid = fork();
    if (command->pid == 0)
        become_command(argv, out, words);
    close(out[1]);
    close(words[1]);
    command->out_fd = out[0];
    command->words_fd = words[0];
    return command->pid < 0 ? -errno : 0;
}

/* Reads what is there; closes at the end of it. */
static void take_from_pipe(int *fd, struct buffer *into, size_t bytes_max, int *ret_too_long)
{
    ssize_t got = read(*fd, buffer_reserve(into, READ_BYTES), READ_BYTES);

    if (got < 0 && errno == EINTR)
        return;
    if (got <= 0) {
        close(*fd);
        *fd = -1;
    } else if (into->length_bytes + (size_t)got <= bytes_max) {
        buffer_commit(into, (size_t)got);
    } else {
        *ret_too_long = 1;
    }
}

/* Until both pipes are at their end: 0, or negative errno. */
static int command_read(struct command *command)
{
    uint64_t end_ns = loop_now_ns() + COMMAND_OUTPUT_MS * NS_PER_MS;
    int ignored;

    while (command->out_fd >= 0 || command->words_fd >= 0) {
        struct pollfd fds[] = {{.fd = command->out_fd, .events = POLLIN},
                               {.fd = command->words_fd, .events = POLLIN}};
        uint64_t now_ns = loop_now_ns();
        int ready = now_ns < end_ns ? poll(fds, 2, (int)((end_ns - now_ns) / NS_PER_MS) + 1) : 0;

        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return ready < 0 ? -errno : -ETIMEDOUT;
        if (fds[0].revents != 0)
            take_from_pipe(&command->out_fd, command->out, COMMAND_OUTPUT_BYTES_MAX,
                           &command->too_long);
        if (fds[1].revents != 0)
            take_from_pipe(&command->words_fd, &command->words, WORDS_BYTES_MAX, &ignored);
        if (command->too_long)
            return -EFBIG;
    }
    return 0;
}

/* The last line that has something in it. */
static const char *last_line(struct buffer *words)
{
    const char *text;
    const char *line;

    while (words->length_bytes > 0 && strchr("\r\n", words->data[words->length_bytes - 1]) != NULL)
        words->length_bytes--;
    text = buffer_string(words);
    line = strrchr(text, '\n');
    return line != NULL ? line + 1 : text;
}

static int command_end(struct command *command, const char *name, int rc, struct error *error)
{
    int wait_status = 0;

    if (rc < 0)
        kill(command->pid, SIGKILL);
    if (command->out_fd >= 0)
        close(command->out_fd);
    if (command->words_fd >= 0)
        close(command->words_fd);
    while (waitpid(command->pid, &wait_status, 0) < 0 && errno == EINTR)
        ;
    if (rc < 0)
        return error_set(error, rc, "%s: %s", name, strerror(-rc));
    if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0)
        return 0;
    if (WIFSIGNALED(wait_status))
        return error_set(error, -EIO, "%s was ended by signal %d", name, WTERMSIG(wait_status));
    rc = WEXITSTATUS(wait_status) == EXIT_STATUS_NOT_FOUND ? -ENOENT : -EIO;
    return error_set(error, rc, "%s exited %d: %s", name, WEXITSTATUS(wait_status),
                     last_line(&command->words));
}

int command_output(const char *const *argv, struct buffer *out, struct error *error)
{
    struct command command = {.out = out, .out_fd = -1, .words_fd = -1};
    int rc = command_start(&command, argv);

    if (rc < 0)
        return error_set(error, rc, "cannot run %s: %s", argv[0], strerror(-rc));
    rc = command_end(&command, argv[0], command_read(&command), error);
    buffer_fini(&command.words);
    return rc;
}

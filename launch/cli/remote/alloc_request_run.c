/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The life of a request for nodes: fork the scheduler's command, read its messages, forward
 * signals.  A plain loop of poll: nothing else runs in this process.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "fabric/loop.h"
#include "launch/cli/remote/alloc_request.h"
#include "launch/cli/remote/alloc_request_terminal.h"
#include "launch/cli/remote/proxy_child.h"
#include "launch/cli/request/request.h"
#include "launch/proto/exit_status.h"

#define PROGRESS_MS 15000
#define LINE_BYTES  512

struct alloc_request {
    struct alloc_request_command command;
    struct alloc_request_terminal terminal;
    struct proxy_child child;
    int words_fd;  /* the command's messages; -1: they go to the user directly, or it has
                    * finished */
    int begun_fd;  /* where the run reports that it has begun */
    pid_t run_pid; /* 0: it has not, or is on another machine */
    int ended_by;  /* the signal that ended the wait, or 0 */
    uint64_t start_ns;
    char line[LINE_BYTES]; /* the beginning of one */
    size_t line_bytes;
    char last[LINE_BYTES]; /* the last whole line, without "salloc: " */
};

/* ---- The command ---- */

/* The two may occupy the target numbers, so they are first moved above those, then put in place,
 * which also keeps them open across exec. */
static int place_pipes(int words_fd, int begun_fd)
{
    assert(words_fd >= 0 && begun_fd >= 0);
    words_fd = fcntl(words_fd, F_DUPFD_CLOEXEC, ASKING_STDERR_FD + 1);
    begun_fd = fcntl(begun_fd, F_DUPFD_CLOEXEC, ASKING_STDERR_FD + 1);
    if (words_fd < 0 || begun_fd < 0 || dup2(STDERR_FILENO, ASKING_STDERR_FD) < 0 ||
        dup2(words_fd, STDERR_FILENO) < 0 || dup2(begun_fd, ASKING_PID_FD) < 0)
        return -errno;
    return 0;
}

/* The command's ends of what it has with us; -1: it has none. */
struct ends {
    const struct alloc_request *request;
    int words_fd;
    int begun_fd;
    int slave;
};

static void exec_command(void *context)
{
    const struct ends *ends = context;
    const struct alloc_request_command *command = &ends->request->command;

    if (ends->words_fd >= 0 && place_pipes(ends->words_fd, ends->begun_fd) < 0)
        return;
    if (ends->slave >= 0 && alloc_request_terminal_become(ends->slave) < 0)
        return;
    proxy_child_unblock(&ends->request->child);
    (void)unsetenv(REQUEST_INSTANCE_VARIABLE); /* it is to run on what it gets */
    execvp(command->words[0], command->words);
    dprintf(STDERR_FILENO, "%s: error: cannot run: %s\n", command->name, strerror(errno));
}

static int start_command(struct alloc_request *request, struct error *error)
{
    struct ends ends = {.request = request, .slave = -1};
    int words[2] = {-1, -1};
    int begun[2] = {-1, -1};
    int rc;

    if (request->command.quiet_errors &&
        (pipe2(words, O_CLOEXEC) < 0 || pipe2(begun, O_CLOEXEC) < 0))
        return error_set(error, -errno, "cannot run %s: %s", request->command.name,
                         strerror(errno));
    if (request->command.wants_terminal &&
        alloc_request_terminal_open(&request->terminal, &ends.slave, error) < 0)
        return -EIO;
    ends.words_fd = words[1];
    ends.begun_fd = begun[1];
    rc = proxy_child_fork(&request->child, proxy_child_signals, proxy_child_signals_count,
                          exec_command, &ends);
    if (rc < 0)
        return error_set(error, rc, "cannot run %s: %s", request->command.name, strerror(-rc));
    if (ends.slave >= 0)
        close(ends.slave);
    if (words[1] >= 0) {
        close(words[1]);
        close(begun[1]);
    }
    request->words_fd = words[0];
    request->begun_fd = begun[0];
    return 0;
}

/* ---- Its messages ---- */

static void take_line(struct alloc_request *request)
{
    const char *line = request->line;
    size_t name_bytes = strlen(request->command.name);
    int is_error;

    if (strncmp(line, request->command.name, name_bytes) == 0 &&
        strncmp(line + name_bytes, ": ", 2) == 0)
        line += name_bytes + 2;
    if (line[0] == '\0')
        return;
    snprintf(request->last, sizeof(request->last), "%s", line);
    /* Success messages are not shown; Slurm prints the second with each allocation since 24.11. */
    if (strstr(line, "Granted job allocation") != NULL ||
        strstr(line, " are ready for job") != NULL)
        return;
    /* The last error before the run explains why it did not start. */
    is_error = strstr(line, "error") != NULL || strstr(line, "fatal") != NULL;
    if (is_error == (request->run_pid != 0) && request->ended_by == 0)
        fprintf(stderr, "banyan: %s: %s\n", request->command.name, line);
}

static void take_words(struct alloc_request *request)
{
    char data[4096];
    ssize_t got = read(request->words_fd, data, sizeof(data));

    assert(request->words_fd >= 0 && request->line_bytes < LINE_BYTES);
    if (got <= 0) {
        close(request->words_fd);
        request->words_fd = -1;
    }
    for (ssize_t i = 0; i < got; i++) {
        if (data[i] == '\n') {
            request->line[request->line_bytes] = '\0';
            request->line_bytes = 0;
            take_line(request);
        } else if (request->line_bytes < LINE_BYTES - 1) {
            request->line[request->line_bytes++] = data[i];
        }
    }
}

static void take_begun(struct alloc_request *request)
{
    char text[32];
    ssize_t got = read(request->begun_fd, text, sizeof(text) - 1);

    assert(request->begun_fd >= 0);
    if (got > 0) {
        text[got] = '\0';
        request->run_pid = (pid_t)strtol(text, NULL, 10);
    }
    close(request->begun_fd);
    request->begun_fd = -1;
}

static void tell_progress(const struct alloc_request *request)
{
    uint64_t waited_s = (loop_now_ns() - request->start_ns) / NS_PER_S;

    if (request->words_fd >= 0 && request->run_pid == 0)
        fprintf(stderr, "banyan: waiting for nodes for %llu s%s%s\n", (unsigned long long)waited_s,
                request->last[0] != '\0' ? ": " : "", request->last);
}

/* ---- Signals ---- */

static int ends_run(int number)
{
    return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

/* The run ends in order if it gets the signal; the command would revoke its nodes.  Signals of the
 * terminal have reached both. */
static void take_signals(struct alloc_request *request)
{
    struct signalfd_siginfo info;
    int number;

    assert(request->child.pid > 0);
    while ((number = proxy_child_next_signal(&request->child, &info)) > 0) {
        if (request->run_pid == 0 && ends_run(number))
            request->ended_by = number;
        if (info.ssi_code != SI_KERNEL)
            kill(request->run_pid > 0 ? request->run_pid : request->child.pid, number);
    }
}

static void serve_command(struct alloc_request *request)
{
    while (!request->child.has_ended || request->words_fd >= 0 || request->terminal.fd >= 0) {
        struct alloc_request_terminal *terminal = &request->terminal;
        int input_fd = alloc_request_terminal_wants_input(terminal) ? STDIN_FILENO : -1;
        struct pollfd fds[] = {
            {.fd = request->child.signals_fd, .events = POLLIN},
            {.fd = request->words_fd, .events = POLLIN},
            {.fd = request->begun_fd, .events = POLLIN},
            {.fd = terminal->fd, .events = alloc_request_terminal_wants(terminal)},
            {.fd = input_fd, .events = POLLIN}};
        /* All output of the command is readable once it has ended; other holders of its stderr are
         * not waited for. */
        int ready = poll(fds, 5, request->child.has_ended ? 0 : PROGRESS_MS);

        if (ready == 0 && request->child.has_ended)
            return;
        if (ready == 0)
            tell_progress(request);
        if (fds[4].revents != 0)
            alloc_request_terminal_take_input(terminal);
        if (fds[3].revents != 0)
            alloc_request_terminal_ready(terminal, fds[3].revents);
        if (fds[2].revents != 0)
            take_begun(request);
        if (fds[1].revents != 0)
            take_words(request);
        if (fds[0].revents != 0)
            take_signals(request);
    }
}

/* ---- The end ---- */

static int status_of(const struct alloc_request *request)
{
    int status = proxy_child_exit_status(&request->child);

    assert(request->child.has_ended);
    if (request->run_pid > 0 || !request->command.quiet_errors)
        return status;
    if (request->ended_by != 0) {
        fprintf(stderr,
                "banyan: ended by signal %d (%s) while waiting for nodes; request withdrawn\n",
                request->ended_by, strsignal(request->ended_by));
        return EXIT_STATUS_SIGNAL + request->ended_by;
    }
    fprintf(stderr, "banyan: no nodes: %s: %s\n", request->command.name,
            request->last[0] != '\0' ? request->last : "it printed nothing");
    return EXIT_STATUS_FAILED;
}

int alloc_request_run(const char *text, int argc, char *const *argv, const char *banyan)
{
    struct alloc_request request = {
        .words_fd = -1, .begun_fd = -1, .terminal = {.fd = -1}, .start_ns = loop_now_ns()};
    struct alloc_request_ops ops = {.banyan = banyan, .has_terminal = isatty(STDIN_FILENO)};
    char *directory = getcwd(NULL, 0);
    struct error error = ERROR_NONE;
    int status = EXIT_STATUS_FAILED;
    int rc;

    ops.directory = directory;
    rc = alloc_request_command_make(&request.command, text, argc, argv, &ops, &error);
    if (rc == 0 && request.command.left != NULL)
        fprintf(stderr,
                "banyan: %s cannot be asked for nodes with %s: checked when the nodes are there\n",
                request.command.name, request.command.left);
    if (rc == 0)
        rc = start_command(&request, &error);
    if (rc == 0) {
        serve_command(&request);
        status = status_of(&request);
    } else {
        fprintf(stderr, "banyan: %s\n", error.text);
    }
    alloc_request_command_fini(&request.command);
    free(directory);
    return status;
}

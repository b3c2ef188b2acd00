/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The life of a request for nodes: fork the scheduler's command, read its messages, forward
 * signals.  A plain loop of poll: nothing else runs in this process.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "fabric/loop.h"
#include "launch/cli/remote/asking.h"
#include "launch/cli/remote/asking_terminal.h"
#include "launch/proto/exit_status.h"

#define PROGRESS_MS 15000
#define LINE_BYTES  512

struct asking {
    struct asking_command command;
    struct asking_terminal terminal;
    pid_t pid;
    int words_fd;  /* the command's messages; -1: they go to the user directly, or it has
                    * finished */
    int begun_fd;  /* where the run reports that it has begun */
    pid_t run_pid; /* 0: it has not, or is on another machine */
    int signals_fd;
    int ended_by; /* the signal that ended the wait, or 0 */
    int has_ended;
    int wait_status;
    uint64_t start_ns;
    char line[LINE_BYTES]; /* the beginning of one */
    size_t line_bytes;
    char last[LINE_BYTES]; /* the last whole line, without "salloc: " */
};

static sigset_t passed_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD};
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        sigaddset(&set, numbers[i]);
    return set;
}

/* ---- The command ---- */

/* The two may occupy the target numbers, so they are first moved above those, then put in place,
 * which also keeps them open across exec. */
static int place_pipes(int words_fd, int begun_fd)
{
    words_fd = fcntl(words_fd, F_DUPFD_CLOEXEC, ASKING_STDERR_FD + 1);
    begun_fd = fcntl(begun_fd, F_DUPFD_CLOEXEC, ASKING_STDERR_FD + 1);
    if (words_fd < 0 || begun_fd < 0 || dup2(STDERR_FILENO, ASKING_STDERR_FD) < 0 ||
        dup2(words_fd, STDERR_FILENO) < 0 || dup2(begun_fd, ASKING_PID_FD) < 0)
        return -errno;
    return 0;
}

static void become(const struct asking_command *command, int words_fd, int begun_fd, int slave,
                   const sigset_t *old_mask, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    if (getppid() != parent)
        _exit(EXIT_STATUS_FAILED);
    if (words_fd >= 0 && place_pipes(words_fd, begun_fd) < 0)
        _exit(EXIT_STATUS_FAILED);
    if (slave >= 0 && asking_terminal_become(slave) < 0)
        _exit(EXIT_STATUS_FAILED);
    sigprocmask(SIG_SETMASK, old_mask, NULL);
    execvp(command->words[0], command->words);
    dprintf(STDERR_FILENO, "%s: error: cannot run: %s\n", command->name, strerror(errno));
    _exit(EXIT_STATUS_FAILED);
}

static int start(struct asking *asking, struct error *error)
{
    sigset_t set = passed_signals();
    pid_t parent = getpid();
    int words[2] = {-1, -1};
    int begun[2] = {-1, -1};
    int slave = -1;
    sigset_t old;

    sigprocmask(SIG_BLOCK, &set, &old);
    asking->signals_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (asking->signals_fd < 0 || (asking->command.quiet_errors &&
                                   (pipe2(words, O_CLOEXEC) < 0 || pipe2(begun, O_CLOEXEC) < 0)))
        return error_set(error, -errno, "cannot run %s: %s", asking->command.name, strerror(errno));
    if (asking->command.wants_terminal &&
        asking_terminal_open(&asking->terminal, &slave, error) < 0)
        return -EIO;
    asking->pid = fork();
    if (asking->pid < 0)
        return error_set(error, -errno, "cannot run %s: %s", asking->command.name, strerror(errno));
    if (asking->pid == 0)
        become(&asking->command, words[1], begun[1], slave, &old, parent);
    if (slave >= 0)
        close(slave);
    if (words[1] >= 0) {
        close(words[1]);
        close(begun[1]);
    }
    asking->words_fd = words[0];
    asking->begun_fd = begun[0];
    return 0;
}

/* ---- Its messages ---- */

static void take_line(struct asking *asking)
{
    const char *line = asking->line;
    size_t name_bytes = strlen(asking->command.name);
    int is_error;

    if (strncmp(line, asking->command.name, name_bytes) == 0 &&
        strncmp(line + name_bytes, ": ", 2) == 0)
        line += name_bytes + 2;
    if (line[0] == '\0')
        return;
    snprintf(asking->last, sizeof(asking->last), "%s", line);
    /* Success messages are not shown; Slurm prints the second with each allocation since 24.11. */
    if (strstr(line, "Granted job allocation") != NULL ||
        strstr(line, " are ready for job") != NULL)
        return;
    /* The last error before the run explains why it did not start. */
    is_error = strstr(line, "error") != NULL || strstr(line, "fatal") != NULL;
    if (is_error == (asking->run_pid != 0) && asking->ended_by == 0)
        fprintf(stderr, "banyan: %s: %s\n", asking->command.name, line);
}

static void take_words(struct asking *asking)
{
    char data[4096];
    ssize_t got = read(asking->words_fd, data, sizeof(data));

    if (got <= 0) {
        close(asking->words_fd);
        asking->words_fd = -1;
    }
    for (ssize_t i = 0; i < got; i++) {
        if (data[i] == '\n') {
            asking->line[asking->line_bytes] = '\0';
            asking->line_bytes = 0;
            take_line(asking);
        } else if (asking->line_bytes < LINE_BYTES - 1) {
            asking->line[asking->line_bytes++] = data[i];
        }
    }
}

static void take_begun(struct asking *asking)
{
    char text[32];
    ssize_t got = read(asking->begun_fd, text, sizeof(text) - 1);

    if (got > 0) {
        text[got] = '\0';
        asking->run_pid = (pid_t)strtol(text, NULL, 10);
    }
    close(asking->begun_fd);
    asking->begun_fd = -1;
}

static void tell_progress(const struct asking *asking)
{
    uint64_t waited_s = (loop_now_ns() - asking->start_ns) / NS_PER_S;

    if (asking->words_fd >= 0 && asking->run_pid == 0)
        fprintf(stderr, "banyan: waiting for nodes for %llu s%s%s\n", (unsigned long long)waited_s,
                asking->last[0] != '\0' ? ": " : "", asking->last);
}

/* ---- Signals ---- */

static int ends(uint32_t number)
{
    return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

/* The run ends in order if it gets the signal; the command would revoke its nodes.  Signals of the
 * terminal have reached both. */
static void take_signals(struct asking *asking)
{
    struct signalfd_siginfo info;

    while (read(asking->signals_fd, &info, sizeof(info)) == sizeof(info)) {
        if (asking->run_pid == 0 && ends(info.ssi_signo))
            asking->ended_by = (int)info.ssi_signo;
        if (info.ssi_signo != SIGCHLD && info.ssi_code != SI_KERNEL)
            kill(asking->run_pid > 0 ? asking->run_pid : asking->pid, (int)info.ssi_signo);
    }
    if (waitpid(asking->pid, &asking->wait_status, WNOHANG) == asking->pid)
        asking->has_ended = 1;
}

static void live(struct asking *asking)
{
    while (!asking->has_ended || asking->words_fd >= 0 || asking->terminal.fd >= 0) {
        struct asking_terminal *terminal = &asking->terminal;
        int input_fd = asking_terminal_wants_input(terminal) ? STDIN_FILENO : -1;
        struct pollfd fds[] = {{.fd = asking->signals_fd, .events = POLLIN},
                               {.fd = asking->words_fd, .events = POLLIN},
                               {.fd = asking->begun_fd, .events = POLLIN},
                               {.fd = terminal->fd, .events = asking_terminal_wants(terminal)},
                               {.fd = input_fd, .events = POLLIN}};
        /* All output of the command is readable once it has ended; other holders of its stderr are
         * not waited for. */
        int ready = poll(fds, 5, asking->has_ended ? 0 : PROGRESS_MS);

        if (ready == 0 && asking->has_ended)
            return;
        if (ready == 0)
            tell_progress(asking);
        if (fds[4].revents != 0)
            asking_terminal_take_input(terminal);
        if (fds[3].revents != 0)
            asking_terminal_ready(terminal, fds[3].revents);
        if (fds[2].revents != 0)
            take_begun(asking);
        if (fds[1].revents != 0)
            take_words(asking);
        if (fds[0].revents != 0)
            take_signals(asking);
    }
}

/* ---- The end ---- */

static int status_of(const struct asking *asking)
{
    int status = WIFEXITED(asking->wait_status)
                     ? WEXITSTATUS(asking->wait_status)
                     : EXIT_STATUS_SIGNAL + WTERMSIG(asking->wait_status);

    if (asking->run_pid > 0 || !asking->command.quiet_errors)
        return status;
    if (asking->ended_by != 0) {
        fprintf(stderr,
                "banyan: ended by signal %d (%s) while waiting for nodes; request withdrawn\n",
                asking->ended_by, strsignal(asking->ended_by));
        return EXIT_STATUS_SIGNAL + asking->ended_by;
    }
    fprintf(stderr, "banyan: no nodes: %s: %s\n", asking->command.name,
            asking->last[0] != '\0' ? asking->last : "it printed nothing");
    return EXIT_STATUS_FAILED;
}

int asking_run(const char *text, int argc, char *const *argv, const char *banyan)
{
    struct asking asking = {.words_fd = -1,
                            .begun_fd = -1,
                            .signals_fd = -1,
                            .terminal = {.fd = -1},
                            .start_ns = loop_now_ns()};
    struct asking_world world = {.banyan = banyan, .has_terminal = isatty(STDIN_FILENO)};
    char *directory = getcwd(NULL, 0);
    struct error error = ERROR_NONE;
    int status = EXIT_STATUS_FAILED;
    int rc;

    world.directory = directory;
    rc = asking_command_make(&asking.command, text, argc, argv, &world, &error);
    if (rc == 0)
        rc = start(&asking, &error);
    if (rc == 0) {
        live(&asking);
        status = status_of(&asking);
    } else {
        fprintf(stderr, "banyan: %s\n", error.text);
    }
    asking_command_fini(&asking.command);
    free(directory);
    return status;
}

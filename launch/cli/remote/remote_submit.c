/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/remote/remote.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/time.h"
#include "fabric/loop.h"
#include "launch/cli/remote/proxy_child.h"
#include "launch/cli/request/request_settings.h"
#include "launch/cli/request/request_words.h"
#include "launch/proto/exit_status.h"
#include "launch/start/shell_word.h"

#define STATUS_SSH_FAILED 255
#define SIGNALS_MAX       3 /* terminating signals after which ssh itself is ended */

struct on_login {
    const char *login;
    const char *command;
    struct proxy_child ssh;
    int input_fd;  /* ssh's end of frames_fd, until it runs */
    int frames_fd; /* ssh's stdin; -1: closed */
    int input_ended;
    uint32_t ends; /* signals that the user sent */
    uint64_t alive_ns;
    struct buffer frames; /* not yet written */
};

const char *remote_submit_wanted(int argc, char *const *argv)
{
    return request_words_value(argc, argv, offsetof(struct request_settings, on));
}

/* ---- The command ---- */

static void put_word(struct buffer *out, const char *word)
{
    shell_word_put(out, word);
    buffer_append_string(out, " ");
}

/* In the directory of the same name, if there is one. */
static void put_script(struct buffer *out, int argc, char *const *argv, const char *banyan)
{
    char *directory = getcwd(NULL, 0);
    int count;
    char **words = request_words_without(argc, argv, offsetof(struct request_settings, on), &count);

    if (directory != NULL) {
        buffer_append_string(out, "cd ");
        put_word(out, directory);
        buffer_append_string(out, "2>/dev/null; ");
    }
    buffer_append_string(out, "exec ");
    put_word(out, banyan);
    buffer_append_string(out, ON_RELAY_VERB " run ");
    for (int i = 1; i < count; i++)
        put_word(out, words[i]);
    free(words);
    free(directory);
}

/* Whatever the login shell is, sh reads the script. */
static void put_command(struct buffer *out, int argc, char *const *argv, const char *banyan)
{
    struct buffer script = {0};

    put_script(&script, argc, argv, banyan);
    buffer_append_string(out, "exec /bin/sh -c ");
    put_word(out, buffer_string(&script));
    buffer_fini(&script);
}

static void exec_ssh(void *context)
{
    const struct on_login *on = context;
    const char *agent = getenv("BANYAN_LOGIN_AGENT");
    const char *words[] = {agent != NULL && agent[0] != '\0' ? agent : "ssh",
                           "-oBatchMode=yes",
                           "-oServerAliveInterval=5",
                           "-oServerAliveCountMax=3",
                           "-T",
                           "-x",
                           on->login,
                           on->command,
                           NULL};

    if (dup2(on->input_fd, STDIN_FILENO) < 0)
        return;
    (void)signal(SIGPIPE, SIG_DFL);
    /* The terminal's signals come to us, and we forward them as frames. */
    setpgid(0, 0);
    proxy_child_unblock(&on->ssh);
    execvp(words[0], (char *const *)words);
    dprintf(STDERR_FILENO, "banyan: cannot run %s: %s\n", words[0], strerror(errno));
    _exit(STATUS_SSH_FAILED);
}

static int fork_ssh(struct on_login *on, struct error *error)
{
    int ends[2], rc;

    (void)signal(SIGPIPE, SIG_IGN);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_set(error, -errno, "cannot start ssh: %s", strerror(errno));
    on->input_fd = ends[0];
    rc = proxy_child_fork(&on->ssh, proxy_child_signals, proxy_child_signals_count, exec_ssh, on);
    close(ends[0]);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    on->frames_fd = ends[1];
    return rc < 0 ? error_set(error, rc, "cannot start ssh: %s", strerror(-rc)) : 0;
}

/* ---- Frames ---- */

static void put_frame(struct on_login *on, enum on_frame kind, const void *data, uint16_t bytes)
{
    unsigned char head[ON_FRAME_BYTES] = {(unsigned char)kind, (unsigned char)(bytes & 255),
                                          (unsigned char)(bytes >> 8)};

    assert(bytes <= ON_DATA_MAX && (bytes == 0 || data != NULL));
    buffer_append(&on->frames, head, sizeof(head));
    buffer_append(&on->frames, data, bytes);
}

static void write_frames(struct on_login *on)
{
    ssize_t written = write(on->frames_fd, on->frames.data, on->frames.length_bytes);

    assert(on->frames_fd >= 0 && on->frames.length_bytes > 0);
    if (written > 0) {
        buffer_consume(&on->frames, (size_t)written);
    } else if (written < 0 && errno != EAGAIN && errno != EINTR) {
        close(on->frames_fd);
        on->frames_fd = -1;
        buffer_clear(&on->frames);
    }
}

static void take_input(struct on_login *on)
{
    char data[ON_DATA_MAX];
    ssize_t got = read(STDIN_FILENO, data, sizeof(data));

    assert(!on->input_ended);
    if (got > 0) {
        put_frame(on, ON_DATA, data, (uint16_t)got);
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        put_frame(on, ON_END, NULL, 0);
        on->input_ended = 1;
    }
}

static void take_signals(struct on_login *on)
{
    struct signalfd_siginfo info;
    int number;

    assert(on->ssh.pid > 0);
    while ((number = proxy_child_next_signal(&on->ssh, &info)) > 0) {
        unsigned char byte = (unsigned char)number;

        put_frame(on, ON_SIGNAL, &byte, 1);
        if (number != SIGUSR1 && number != SIGUSR2 && ++on->ends >= SIGNALS_MAX)
            kill(on->ssh.pid, SIGTERM);
    }
}

static void serve_ssh(struct on_login *on)
{
    while (!on->ssh.has_ended) {
        /* Input is read only when earlier input has left, so that signals never queue after much of
         * it. */
        int wants_input = !on->input_ended && on->frames.length_bytes == 0 && on->frames_fd >= 0;
        struct pollfd fds[] = {
            {.fd = on->ssh.signals_fd, .events = POLLIN},
            {.fd = wants_input ? STDIN_FILENO : -1, .events = POLLIN},
            {.fd = on->frames.length_bytes > 0 ? on->frames_fd : -1, .events = POLLOUT}};
        int ready = poll(fds, 3, ON_ALIVE_MS);

        if (ready < 0 && errno != EINTR)
            return;
        if (loop_now_ns() >= on->alive_ns + ON_ALIVE_MS * NS_PER_MS) {
            on->alive_ns = loop_now_ns();
            put_frame(on, ON_ALIVE, NULL, 0);
        }
        if (fds[0].revents != 0)
            take_signals(on);
        if (fds[1].revents != 0)
            take_input(on);
        if (on->frames_fd >= 0 && on->frames.length_bytes > 0)
            write_frames(on);
    }
}

static int status_of(const struct on_login *on)
{
    int status = proxy_child_exit_status(&on->ssh);

    if (status != STATUS_SSH_FAILED)
        return status;
    fprintf(stderr,
            "banyan: --on %s: ssh exited 255: it could not connect, or lost the connection\n",
            on->login);
    return EXIT_STATUS_FAILED;
}

int remote_submit_run(const char *login, int argc, char *const *argv, const char *banyan)
{
    struct on_login on = {.login = login, .frames_fd = -1, .alive_ns = loop_now_ns()};
    const char *there = getenv("BANYAN_ON");
    struct buffer command = {0};
    struct error error = ERROR_NONE;
    int status = EXIT_STATUS_FAILED;

    put_command(&command, argc, argv, there != NULL && there[0] != '\0' ? there : banyan);
    on.command = buffer_string(&command);
    if (login[0] == '-')
        error_set(&error, -EINVAL, "option --on: '%.80s' is not the name of a machine", login);
    else
        fork_ssh(&on, &error);
    if (error.code == 0) {
        serve_ssh(&on);
        status = status_of(&on);
    } else {
        fprintf(stderr, "banyan: %s\n", error.text);
    }
    buffer_fini(&command);
    buffer_fini(&on.frames);
    return status;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The far side of --on: parent of the run, between it and the frames on stdin.  Input that the run
 * does not read is queued here, up to PENDING_MAX; beyond that no frames are read, and a signal
 * after them waits, until the user ends ssh.
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

#include "base/buffer.h"
#include "base/time.h"
#include "fabric/loop.h"
#include "launch/cli/remote/remote.h"
#include "launch/cli/remote/proxy_child.h"
#include "launch/proto/exit_status.h"

#define PENDING_MAX (1024u * 1024)
#define READ_BYTES  (64u * 1024)
#define GRACE_MS    10000 /* from SIGTERM to SIGKILL when the connection is lost */
#define TURN_MS     1000

struct relay {
    const char **words; /* of the run */
    struct proxy_child run;
    int stdin_fd; /* the run's end of input_fd, until it runs */
    int input_fd; /* the run's stdin; -1: closed */
    int frames_ended;
    int input_ended;
    uint64_t heard_ns;
    uint64_t ended_ns; /* when the run was asked to end; 0: it was not */
    struct buffer frames;
    struct buffer pending; /* for the run's stdin */
};

static void exec_relayed_run(void *context)
{
    const struct relay *relay = context;

    assert(relay->stdin_fd >= 0);
    if (dup2(relay->stdin_fd, STDIN_FILENO) < 0)
        return;
    (void)signal(SIGPIPE, SIG_DFL);
    proxy_child_unblock(&relay->run);
    execv(relay->words[0], (char *const *)relay->words);
    dprintf(STDERR_FILENO, "banyan: cannot run %s: %s\n", relay->words[0], strerror(errno));
}

static const char **make_words(int argc, char *const *argv, const char *banyan)
{
    const char **words = memory_allocate_zeroed((size_t)(argc + 2) * sizeof(*words));

    words[0] = banyan;
    for (int i = 0; i < argc; i++)
        words[i + 1] = argv[i];
    return words;
}

static int fork_relayed_run(struct relay *relay)
{
    static const int signals[] = {SIGHUP, SIGTERM};
    int ends[2], rc;

    (void)signal(SIGPIPE, SIG_IGN);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    relay->stdin_fd = ends[0];
    rc = proxy_child_fork(&relay->run, signals, sizeof(signals) / sizeof(signals[0]),
                          exec_relayed_run, relay);
    close(ends[0]);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
    relay->input_fd = ends[1];
    return rc;
}

/* ---- The run ---- */

static void end_run(struct relay *relay)
{
    assert(relay->run.pid > 0);
    if (relay->ended_ns != 0)
        return;
    relay->ended_ns = loop_now_ns();
    kill(relay->run.pid, SIGTERM);
}

static void close_input(struct relay *relay)
{
    if (relay->input_fd >= 0)
        close(relay->input_fd);
    relay->input_fd = -1;
    buffer_clear(&relay->pending);
}

static void write_input(struct relay *relay)
{
    ssize_t written = write(relay->input_fd, relay->pending.data, relay->pending.length_bytes);

    assert(relay->input_fd >= 0);
    if (written > 0)
        buffer_consume(&relay->pending, (size_t)written);
    else if (written < 0 && errno != EAGAIN && errno != EINTR)
        close_input(relay);
}

/* ---- Frames ---- */

static void take_frame(struct relay *relay, unsigned char kind, const unsigned char *data,
                       size_t bytes)
{
    if (kind == ON_DATA && relay->input_fd >= 0)
        buffer_append(&relay->pending, data, bytes);
    else if (kind == ON_END)
        relay->input_ended = 1;
    else if (kind == ON_SIGNAL && bytes == 1 && data[0] > 0 && data[0] < NSIG)
        kill(relay->run.pid, data[0]);
}

static void take_frames(struct relay *relay)
{
    size_t used = 0;
    ssize_t got = read(STDIN_FILENO, buffer_reserve(&relay->frames, READ_BYTES), READ_BYTES);

    assert(!relay->frames_ended);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        relay->frames_ended = 1;
        end_run(relay);
        return;
    }
    buffer_commit(&relay->frames, (size_t)got);
    relay->heard_ns = loop_now_ns();
    while (relay->frames.length_bytes - used >= ON_FRAME_BYTES) {
        const unsigned char *frame = relay->frames.data + used;
        size_t bytes = frame[1] | (size_t)frame[2] << 8;

        if (relay->frames.length_bytes - used < ON_FRAME_BYTES + bytes)
            break;
        take_frame(relay, frame[0], frame + ON_FRAME_BYTES, bytes);
        used += ON_FRAME_BYTES + bytes;
    }
    assert(used <= relay->frames.length_bytes);
    buffer_consume(&relay->frames, used);
}

/* ---- The life ---- */

static void take_signals(struct relay *relay)
{
    struct signalfd_siginfo info;

    while (proxy_child_next_signal(&relay->run, &info) > 0)
        end_run(relay);
}

static void watch_time(struct relay *relay)
{
    uint64_t now_ns = loop_now_ns();

    if (now_ns >= relay->heard_ns + ON_SILENCE_MS * NS_PER_MS)
        end_run(relay);
    if (relay->ended_ns != 0 && now_ns >= relay->ended_ns + GRACE_MS * NS_PER_MS)
        kill(relay->run.pid, SIGKILL);
}

static void serve_relayed_run(struct relay *relay)
{
    while (!relay->run.has_ended) {
        int takes = !relay->frames_ended && relay->pending.length_bytes < PENDING_MAX;
        struct pollfd fds[] = {
            {.fd = relay->run.signals_fd, .events = POLLIN},
            {.fd = takes ? STDIN_FILENO : -1, .events = POLLIN},
            {.fd = relay->pending.length_bytes > 0 ? relay->input_fd : -1, .events = POLLOUT}};

        if (poll(fds, 3, TURN_MS) < 0 && errno != EINTR)
            return;
        if (fds[0].revents != 0)
            take_signals(relay);
        if (fds[1].revents != 0)
            take_frames(relay);
        if (fds[2].revents != 0)
            write_input(relay);
        if (relay->input_ended && relay->pending.length_bytes == 0)
            close_input(relay);
        watch_time(relay);
    }
}

int remote_relay_run(int argc, char *const *argv, const char *banyan)
{
    struct relay relay = {
        .words = make_words(argc, argv, banyan), .input_fd = -1, .heard_ns = loop_now_ns()};
    int rc = fork_relayed_run(&relay);

    if (rc < 0) {
        fprintf(stderr, "banyan: cannot start the run: %s\n", strerror(-rc));
        return EXIT_STATUS_FAILED;
    }
    free(relay.words);
    serve_relayed_run(&relay);
    close_input(&relay);
    buffer_fini(&relay.frames);
    buffer_fini(&relay.pending);
    return proxy_child_exit_status(&relay.run);
}

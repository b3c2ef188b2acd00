/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/file_watch.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "fabric/file_read.h"
#include "launch/exec/descriptor.h"
#include "launch/exec/fork_self.h"

#define PROCESS_NAME "banyan-watch"
#define PIECE_BYTES  (64u * 1024)

/* Before each text, as both ends are one program. */
struct header {
    int32_t status; /* 0, or why there is no text */
    uint32_t bytes;
};

/* ---- The process that looks ---- */

/* What it is to do: set before it is forked. */
static const char *watched_path;
static uint32_t watched_interval_ms;

struct look {
    struct stat last; /* at the last look */
    struct stat read; /* when it was last read; zero: it may have changed since */
    uint64_t hash;    /* of what was read */
    uint8_t has_text;
};

static int same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           memcmp(&a->st_mtim, &b->st_mtim, sizeof(a->st_mtim)) == 0 &&
           memcmp(&a->st_ctim, &b->st_ctim, sizeof(a->st_ctim)) == 0;
}

/* Changes within one tick of the system's clock, and of the same size, do not show. */
static int is_young(const struct stat *file)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec - file->st_mtim.tv_sec < 2 || now.tv_sec - file->st_ctim.tv_sec < 2;
}

/* This process ends with its caller. */
static void put(const void *data, size_t bytes)
{
    const unsigned char *position = data;

    while (bytes > 0) {
        ssize_t sent = send(STDIN_FILENO, position, bytes, MSG_NOSIGNAL);

        if (sent < 0 && errno != EINTR)
            _exit(EXIT_SUCCESS);
        position += sent > 0 ? (size_t)sent : 0;
        bytes -= sent > 0 ? (size_t)sent : 0;
    }
}

static void look_now(struct look *look, int is_forced)
{
    struct buffer text = {.data = NULL};
    struct header header;
    struct stat now;
    uint64_t hash;
    int is_still;

    if (stat(watched_path, &now) < 0)
        now = (struct stat){.st_size = -errno};
    is_still = is_forced || same_file(&now, &look->last);
    look->last = now;
    if (!is_still || same_file(&now, &look->read))
        return;
    header.status = file_read(watched_path, FILE_WATCH_BYTES_MAX, &text);
    header.bytes = header.status == 0 ? (uint32_t)text.length_bytes : 0;
    hash = hash_bytes(text.data, header.bytes, header.bytes);
    look->read = header.status == 0 && is_young(&now) ? (struct stat){.st_size = 0} : now;
    if (header.status < 0 || !look->has_text || hash != look->hash) {
        put(&header, sizeof(header));
        put(text.data, header.bytes);
    }
    if (header.status == 0) {
        look->hash = hash;
        look->has_text = 1;
    }
    buffer_fini(&text);
}

static int watch_main(void)
{
    struct look look = {.has_text = 0};
    struct pollfd asked = {.fd = STDIN_FILENO, .events = POLLIN};
    char bytes[64];

    for (;;) {
        int is_forced = poll(&asked, 1, (int)watched_interval_ms) > 0;

        if (is_forced && read(STDIN_FILENO, bytes, sizeof(bytes)) <= 0)
            return EXIT_SUCCESS;
        look_now(&look, is_forced);
    }
}

/* ---- Its caller ---- */

struct file_watch {
    const struct file_watch_events *events;
    void *context;
    pid_t pid;
    int fd;
    struct loop_watch *loop_watch;
    struct buffer in;
};

/* Reports the first text that is complete.  1: there was one. */
static int take(struct file_watch *watch)
{
    struct buffer text = {.data = NULL};
    struct header header;

    if (watch->in.length_bytes < sizeof(header))
        return 0;
    memcpy(&header, watch->in.data, sizeof(header));
    if (watch->in.length_bytes < sizeof(header) + header.bytes)
        return 0;
    buffer_append(&text, watch->in.data + sizeof(header), header.bytes);
    buffer_consume(&watch->in, sizeof(header) + header.bytes);
    if (header.status < 0)
        watch->events->failed(watch->context, header.status);
    else
        watch->events->text(watch->context, &text);
    buffer_fini(&text);
    return 1;
}

static void on_readable(void *context, int fd, unsigned int ready)
{
    struct file_watch *watch = context;
    ssize_t got = read(fd, buffer_reserve(&watch->in, PIECE_BYTES), PIECE_BYTES);

    (void)ready;
    assert(fd == watch->fd);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        loop_watch_set(watch->loop_watch, 0);
        watch->events->failed(watch->context, -EPIPE);
        return;
    }
    buffer_commit(&watch->in, (size_t)got);
    while (take(watch))
        continue;
}

struct file_watch *file_watch_create(struct loop *loop, const char *path, uint32_t interval_ms,
                                     const struct file_watch_events *events, void *context,
                                     struct error *error)
{
    struct file_watch *watch;
    int ends[2];
    pid_t pid;

    assert(events->text != NULL && events->failed != NULL && interval_ms > 0);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
        error_set(error, -errno, "cannot follow %s: socket: %s", path, strerror(errno));
        return NULL;
    }
    watched_path = path;
    watched_interval_ms = interval_ms;
    ends[1] = descriptor_move_high(ends[1]);
    pid = fork_self(PROCESS_NAME, ends[1], watch_main);
    close(ends[1]);
    if (pid < 0) {
        error_set(error, pid, "cannot follow %s: fork: %s", path, strerror(-pid));
        close(ends[0]);
        return NULL;
    }
    watch = memory_allocate_zeroed(sizeof(*watch));
    *watch = (struct file_watch){.events = events, .context = context, .pid = pid};
    watch->fd = descriptor_move_high(ends[0]);
    (void)fcntl(watch->fd, F_SETFL, O_NONBLOCK);
    watch->loop_watch = loop_watch_create(loop, watch->fd, LOOP_READ, on_readable, watch);
    return watch;
}

/* If there is no room it has been asked before. */
void file_watch_look(struct file_watch *watch)
{
    (void)!send(watch->fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* One that does not die, as its file system does not answer, is left to who inherits this process's children. */
void file_watch_destroy(struct file_watch *watch)
{
    if (watch == NULL)
        return;
    assert(watch->pid > 0);
    loop_watch_destroy(watch->loop_watch);
    close(watch->fd);
    (void)kill(watch->pid, SIGKILL);
    (void)waitpid(watch->pid, NULL, WNOHANG);
    buffer_fini(&watch->in);
    free(watch);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_listener.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

/* Descriptors that libpmix opens while it starts: 8 in version 4.2.2. */
#define START_DESCRIPTORS 32

_Static_assert(FD_SETSIZE == 8 * sizeof(((struct host_listener *)0)->was_listening),
               "one bit per descriptor of select()");

static int is_listening(int fd)
{
    int value = 0;
    socklen_t bytes = sizeof(value);

    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &bytes) == 0 && value;
}

/* The kernel assigns the lowest free numbers, so that many must be free below FD_SETSIZE. */
int host_listener_prepare(struct host_listener *listener, struct error *error)
{
    unsigned int free_count = 0;

    memset(listener, 0, sizeof(*listener));
    for (int fd = 0; fd < FD_SETSIZE; fd++) {
        if (is_listening(fd))
            listener->was_listening[fd / 8] |= (unsigned char)(1u << fd % 8);
        else if (free_count < START_DESCRIPTORS && fcntl(fd, F_GETFD) < 0)
            free_count++;
    }
    if (free_count < START_DESCRIPTORS)
        return error_set(error, -EMFILE,
                         "cannot start the PMIx server: nearly all descriptors below %d are in "
                         "use, and libpmix's select() cannot go beyond",
                         FD_SETSIZE);
    listener->theirs = -1;
    return 0;
}

/* Wakes the select() in which libpmix still waits for its old socket.  That socket lives as long as
 * the select(), so if the connection is refused it has already returned. */
static void wake_select(const struct sockaddr *address, socklen_t address_bytes)
{
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return; /* its select() has a timeout of 2 s */
    if (connect(fd, address, address_bytes) == 0 || errno == EINPROGRESS)
        shutdown(fd, SHUT_RDWR);
    close(fd);
}

/* libpmix's: the one that did not listen before. */
static int find_theirs(const struct host_listener *listener)
{
    for (int fd = 0; fd < FD_SETSIZE; fd++) {
        if (!(listener->was_listening[fd / 8] >> fd % 8 & 1) && is_listening(fd))
            return fd;
    }
    return -1;
}

/* An epoll set that watches a descriptor, and for which events. */
struct watcher {
    int epoll; /* -1: none */
    struct epoll_event event;
};

/* proc(5): /proc/PID/fdinfo of an epoll set has a line for each watched descriptor. */
static int is_watched(int epoll, int fd, struct epoll_event *ret_event)
{
    char path[64], line[256];
    int found = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", epoll);
    file = fopen(path, "re");
    while (file != NULL && !found && fgets(line, sizeof(line), file) != NULL) {
        unsigned long long data;
        unsigned int events;
        int target;

        found = sscanf(line, "tfd: %d events: %x data: %llx", &target, &events, &data) == 3 &&
                target == fd;
        if (found)
            *ret_event = (struct epoll_event){.events = events, .data.u64 = data};
    }
    if (file != NULL)
        fclose(file);
    return found;
}

/* Version 4 waits in select(), version 5 in its libevent's epoll set, which was made while the server
 * started.  The daemon's own sets do not have the socket. */
static void find_watcher(int fd, struct watcher *ret_watcher)
{
    ret_watcher->epoll = -1;
    for (int candidate = 0; candidate < FD_SETSIZE && ret_watcher->epoll < 0; candidate++) {
        if (is_watched(candidate, fd, &ret_watcher->event))
            ret_watcher->epoll = candidate;
    }
}

int host_listener_hand_over(struct host_listener *listener, int fd, struct error *error)
{
    struct sockaddr_storage address;
    socklen_t address_bytes = sizeof(address);
    struct watcher watcher;

    assert(fd >= 0 && fd != listener->theirs);
    if (listener->theirs < 0)
        listener->theirs = find_theirs(listener);
    if (listener->theirs < 0)
        return error_set(error, -ENOTSUP, "libpmix's listening socket is not found");
    find_watcher(listener->theirs, &watcher);
    /* The old socket leaves an epoll set when it is closed; the new one is added instead. */
    if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ||
        getsockname(listener->theirs, (struct sockaddr *)&address, &address_bytes) < 0 ||
        dup3(fd, listener->theirs, O_CLOEXEC) < 0 ||
        (watcher.epoll >= 0 &&
         epoll_ctl(watcher.epoll, EPOLL_CTL_ADD, listener->theirs, &watcher.event) < 0))
        return error_set(error, -errno, "cannot hand the listening socket to libpmix: %s",
                         strerror(errno));
    if (watcher.epoll < 0)
        wake_select((struct sockaddr *)&address, address_bytes);
    return 0;
}

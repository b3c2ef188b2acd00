/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buffer.h"
#include "fabric/address.h"
#include "fabric/sock_private.h"

/* What the kernel may hold unsent: more would only be out of reach of priorities. */
#define NOTSENT_BYTES_MAX (64 * 1024)
#define BACKLOG           4096

#define SYSTEM_CHOICES_MAX 16 /* ports that the system chose and another took meanwhile */

static void init_operation(struct operation *operation, struct banyan_sock *sock,
                           enum banyan_sock_operation kind)
{
    list_node_init(&operation->node);
    operation->sock = sock;
    operation->kind = kind;
}

/* Registers fd, if there is one, with the set; the sock owns it from then on.  NULL, errno and fd
 * open on failure.  The caller holds the set's lock until the sock is ready for events: they are told
 * only once. */
static struct banyan_sock *create_sock(struct banyan_sock_set *set, int fd, int listening,
                                       void *user)
{
    struct banyan_sock *sock = memory_allocate_zeroed(sizeof(*sock));
    struct epoll_event event = {.data.ptr = sock};

    sock->set = set;
    sock->id = sock_next_id();
    sock->user = user;
    sock->fd = fd;
    sock->listening = listening != 0;
    sock->writable = 1;
    init_operation(&sock->input, sock, BANYAN_SOCK_READ);
    init_operation(&sock->output, sock, BANYAN_SOCK_WRITE);
    init_operation(&sock->close, sock, BANYAN_SOCK_CLOSE);
    event.events = listening ? EPOLLIN : EPOLLIN | EPOLLPRI | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    if (fd >= 0 && epoll_ctl(set->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) {
        free(sock);
        return NULL;
    }
    set->sock_count++;
    return sock;
}

/* A unix socket's read stops where descriptors are passed, and nothing announces that. */
static int is_tcp(int fd)
{
    int protocol = 0;
    socklen_t bytes = sizeof(protocol);

    return getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &bytes) == 0 &&
           protocol == IPPROTO_TCP;
}

/* A sock of a connection that stands. */
static struct banyan_sock *create_connected(struct banyan_sock_set *set, int fd, void *user,
                                            const struct sockaddr *peer, int marks)
{
    struct banyan_sock *sock;

    pthread_mutex_lock(&set->lock);
    sock = create_sock(set, fd, 0, user);
    if (sock != NULL) {
        sock->connected = 1;
        sock->readable = 1;
        sock->marks = marks != 0;
        if (peer != NULL)
            address_from_system(peer, &sock->peer);
    }
    pthread_mutex_unlock(&set->lock);
    return sock;
}

/* A sock whose connect has been started or, with rc, has failed already. */
static struct banyan_sock *create_connecting(struct banyan_sock_set *set, int fd, void *user,
                                             const struct address *peer, int rc)
{
    struct banyan_sock *sock;

    pthread_mutex_lock(&set->lock);
    sock = create_sock(set, fd, 0, user);
    if (sock != NULL) {
        sock->peer = *peer;
        sock->output.kind = BANYAN_SOCK_CONNECT;
        sock->output.state = POSTED;
        sock->connected = rc == 0;
        if (rc != -EINPROGRESS)
            sock_complete(&sock->output, banyan_sock_status_of(-rc), -rc);
    }
    pthread_mutex_unlock(&set->lock);
    return sock;
}

static void set_option(int fd, int level, int option, int value)
{
    (void)setsockopt(fd, level, option, &value, sizeof(value));
}

static void set_stream_options(int fd)
{
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, NOTSENT_BYTES_MAX);
    set_option(fd, SOL_SOCKET, SO_OOBINLINE, 1); /* RFC 6093, 5: no byte leaves the stream */
}

static int fail(struct error *error, const struct address *address, struct banyan_sock_ports ports,
                int code, const char *what)
{
    char text[ADDRESS_TEXT_BYTES];

    address_print(address, text);
    if (code == -EADDRINUSE && ports.first != 0)
        return error_set(error, code, "%s: %s: no port of %u-%u is free", text, what, ports.first,
                         ports.last);
    return error_set(error, code, "%s: %s: %s", text, what, strerror(-code));
}

static void set_port(struct sockaddr_storage *system, uint16_t port)
{
    if (system->ss_family == AF_INET)
        ((struct sockaddr_in *)system)->sin_port = htons(port);
    else
        ((struct sockaddr_in6 *)system)->sin6_port = htons(port);
}

/* Binds to the first free port of the range; -EADDRINUSE if there is none. */
static int bind_range(int fd, struct sockaddr_storage *system, socklen_t bytes,
                      struct banyan_sock_ports ports)
{
    for (unsigned int port = ports.first; port <= ports.last; port++) {
        set_port(system, (uint16_t)port);
        if (bind(fd, (struct sockaddr *)system, bytes) == 0)
            return 0;
        if (errno != EADDRINUSE && errno != EACCES)
            return -errno;
    }
    return -EADDRINUSE;
}

static int open_stream(int family)
{
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -errno;
    set_stream_options(fd);
    return fd;
}

/* A descriptor that listens at exactly this address and port. */
static int listen_at(const struct sockaddr_storage *system, socklen_t bytes)
{
    int fd = open_stream(system->ss_family);
    int rc = 0;

    if (fd < 0)
        return fd;
    set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (system->ss_family == AF_INET6)
        set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    if (bind(fd, (const struct sockaddr *)system, bytes) < 0 || listen(fd, BACKLOG) < 0)
        rc = -errno;
    if (rc == 0)
        return fd;
    close(fd);
    return rc;
}

/* With SO_REUSEADDR two may bind to one port as long as neither listens; only listen tells who has it.
 * So each port of the range is tried to the end, and what the system chose a few times. */
static int listen_in(const struct address *address, struct banyan_sock_ports ports)
{
    struct sockaddr_storage system;
    socklen_t bytes;
    int fd = address_to_system(address, &system, &bytes);

    if (fd < 0)
        return fd;
    if (ports.first == 0) {
        for (int i = 0; i < SYSTEM_CHOICES_MAX; i++) {
            fd = listen_at(&system, bytes);
            if (fd != -EADDRINUSE || address_port(address) != 0)
                break;
        }
        return fd;
    }
    for (unsigned int port = ports.first; port <= ports.last; port++) {
        set_port(&system, (uint16_t)port);
        fd = listen_at(&system, bytes);
        if (fd != -EADDRINUSE && fd != -EACCES)
            return fd;
    }
    return -EADDRINUSE;
}

int banyan_sock_listen(struct banyan_sock_set *set, const struct address *address,
                       struct banyan_sock_ports ports, void *user, struct banyan_sock **ret_sock,
                       struct error *error)
{
    struct banyan_sock *sock = NULL;
    int fd;
    int rc;

    if (address_port(address) != 0)
        ports = (struct banyan_sock_ports){0};
    fd = listen_in(address, ports);
    if (fd < 0)
        return fail(error, address, ports, fd, "cannot listen");
    pthread_mutex_lock(&set->lock);
    sock = create_sock(set, fd, 1, user);
    rc = sock == NULL ? -errno : 0;
    pthread_mutex_unlock(&set->lock);
    if (rc < 0) {
        close(fd);
        return fail(error, address, ports, rc, "cannot listen");
    }
    *ret_sock = sock;
    return 0;
}

/* A descriptor, or -EAGAIN, or what went wrong.  Another thread may close the listener. */
static int accept_now(struct banyan_sock *listener, struct sockaddr_storage *ret_system,
                      socklen_t *ret_bytes)
{
    int fd = -ESHUTDOWN;

    pthread_mutex_lock(&listener->set->lock);
    if (!listener->closing) {
        do
            fd = accept4(listener->fd, (struct sockaddr *)ret_system, ret_bytes,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);
        while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
        if (fd < 0)
            fd = errno == EWOULDBLOCK ? -EAGAIN : -errno;
    }
    pthread_mutex_unlock(&listener->set->lock);
    return fd;
}

int banyan_sock_accept(struct banyan_sock *listener, struct banyan_sock_set *set, void *user,
                       struct banyan_sock **ret_sock, struct error *error)
{
    struct sockaddr_storage system;
    socklen_t bytes = sizeof(system);
    struct banyan_sock *sock;
    int fd = accept_now(listener, &system, &bytes);

    if (fd == -EAGAIN || fd == -ESHUTDOWN)
        return fd;
    if (fd < 0)
        return error_set(error, fd, "cannot accept a connection: %s", strerror(-fd));
    sock = create_connected(set, fd, user, (struct sockaddr *)&system, 0);
    if (sock == NULL) {
        int code = -errno;
        close(fd);
        return error_set(error, code, "cannot accept a connection: %s", strerror(-code));
    }
    *ret_sock = sock;
    return 0;
}

int banyan_sock_listener_pause(struct banyan_sock *listener, int paused)
{
    struct epoll_event event = {.data.ptr = listener, .events = paused ? 0 : EPOLLIN};
    int rc = 0;

    if (!listener->listening)
        return -EINVAL;
    pthread_mutex_lock(&listener->set->lock);
    if (listener->closing)
        rc = -ESHUTDOWN;
    else if (epoll_ctl(listener->set->epoll_fd, EPOLL_CTL_MOD, listener->fd, &event) < 0)
        rc = -errno;
    pthread_mutex_unlock(&listener->set->lock);
    return rc;
}

static uint16_t port_of(const struct sockaddr_storage *system)
{
    return ntohs(system->ss_family == AF_INET ? ((const struct sockaddr_in *)system)->sin_port
                                              : ((const struct sockaddr_in6 *)system)->sin6_port);
}

/* Puts a new stream in the place of the one that fd names. */
static int replace_stream(int fd, int family)
{
    int fresh = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int rc = 0;

    if (fresh < 0)
        return -errno;
    set_stream_options(fresh);
    set_option(fresh, SOL_SOCKET, SO_REUSEADDR, 1);
    if (dup3(fresh, fd, O_CLOEXEC) < 0)
        rc = -errno;
    close(fresh);
    return rc;
}

/* Connects from the first port of the range that is free towards this peer.  The same port may serve
 * several connections, as long as their other ends differ. */
static int connect_from_range(int fd, const struct sockaddr_storage *peer, socklen_t bytes,
                              struct banyan_sock_ports ports)
{
    struct sockaddr_storage own = {.ss_family = peer->ss_family};
    struct banyan_sock_ports left = ports;

    set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    while (left.first <= left.last) {
        int rc = bind_range(fd, &own, bytes, left);
        if (rc < 0 || connect(fd, (const struct sockaddr *)peer, bytes) == 0)
            return rc;
        if (errno != EADDRNOTAVAIL && errno != EADDRINUSE)
            return -errno;
        /* A descriptor is bound once and for all: the next port needs a new one in its place. */
        left.first = (uint16_t)(port_of(&own) + 1);
        rc = left.first != 0 ? replace_stream(fd, peer->ss_family) : -EADDRINUSE;
        if (rc < 0)
            return rc;
    }
    return -EADDRINUSE;
}

/* 0 or -EINPROGRESS when under way, else what stopped it. */
static int start_connect(int fd, const struct address *address, struct banyan_sock_ports ports)
{
    struct sockaddr_storage system;
    socklen_t bytes;
    int rc = address_to_system(address, &system, &bytes);

    if (rc < 0)
        return rc;
    if (ports.first != 0)
        return connect_from_range(fd, &system, bytes, ports);
    return connect(fd, (struct sockaddr *)&system, bytes) < 0 ? -errno : 0;
}

int banyan_sock_connect(struct banyan_sock_set *set, const struct address *address,
                        struct banyan_sock_ports ports, void *user, struct banyan_sock **ret_sock,
                        struct error *error)
{
    int fd = open_stream(address_is_v6(address) ? AF_INET6 : AF_INET);
    int rc = fd < 0 ? fd : start_connect(fd, address, ports);
    struct banyan_sock *sock;

    if (fd < 0 || rc == -EINVAL) {
        if (fd >= 0)
            close(fd);
        return fail(error, address, ports, rc, "cannot connect");
    }
    if (rc < 0 && rc != -EINPROGRESS) {
        close(fd);
        fd = -1;
    }
    sock = create_connecting(set, fd, user, address, rc);
    if (sock == NULL) {
        rc = -errno;
        close(fd);
        return fail(error, address, ports, rc, "cannot connect");
    }
    *ret_sock = sock;
    return 0;
}

int banyan_sock_adopt(struct banyan_sock_set *set, int fd, void *user,
                      struct banyan_sock **ret_sock, struct error *error)
{
    struct sockaddr_storage system;
    socklen_t bytes = sizeof(system);
    int has_peer = getpeername(fd, (struct sockaddr *)&system, &bytes) == 0;
    struct banyan_sock *sock = NULL;

    if (fcntl(fd, F_GETFD) >= 0)
        sock = create_connected(set, fd, user, has_peer ? (struct sockaddr *)&system : NULL,
                                !is_tcp(fd));
    if (sock == NULL)
        return error_set(error, -errno, "cannot adopt descriptor %d: %s", fd, strerror(errno));
    *ret_sock = sock;
    return 0;
}

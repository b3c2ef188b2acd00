/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <assert.h>
#include <errno.h>
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

/* Limit of unsent data in the kernel: priorities no longer apply to it. */
#define NOTSENT_BYTES_MAX (64 * 1024)
#define BACKLOG           4096

#define SYSTEM_CHOICES_MAX 16 /* ports chosen by the system that another process took meanwhile */

static void init_operation(struct operation *operation, struct banyan_sock *sock,
                           enum banyan_sock_operation kind)
{
    list_link_init(&operation->node);
    operation->sock = sock;
    operation->kind = kind;
}

int sock_watch(struct banyan_sock_set *set, int operation, int fd, struct watch *watch,
               uint32_t events)
{
    struct epoll_event event = {.data.ptr = watch, .events = events};

    return epoll_ctl(set->epoll_fd, operation, fd, &event);
}

struct banyan_sock *sock_create(struct banyan_sock_set *set, int fd, int listening, void *user)
{
    struct banyan_sock *sock = memory_allocate_zeroed(sizeof(*sock));

    assert(fd >= 0 || !listening);
    sock->watch = (struct watch){.kind = WATCH_SOCK, .sock = sock};
    sock->set = set;
    sock->id = sock_next_id();
    sock->user = user;
    sock->fd = fd;
    sock->listening = listening != 0;
    sock->writable = 1;
    init_operation(&sock->input, sock, BANYAN_SOCK_READ);
    init_operation(&sock->output, sock, BANYAN_SOCK_WRITE);
    init_operation(&sock->close, sock, BANYAN_SOCK_CLOSE);
    if (fd >= 0 &&
        sock_watch(set, EPOLL_CTL_ADD, fd, &sock->watch, listening ? EPOLLIN : SOCK_WATCHED) < 0) {
        free(sock);
        return NULL;
    }
    set->sock_count++;
    return sock;
}

void sock_free(struct banyan_sock *sock)
{
    assert(sock->closing && sock->fd < 0);
    sock_race_free(sock);
    free(sock->failures);
    free(sock);
}

/* A unix socket's read stops where descriptors are passed, and nothing announces that. */
static int is_tcp(int fd)
{
    int protocol = 0;
    socklen_t bytes = sizeof(protocol);

    return getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &bytes) == 0 &&
           protocol == IPPROTO_TCP;
}

/* A sock for an established connection. */
static struct banyan_sock *create_connected(struct banyan_sock_set *set, int fd, void *user,
                                            const struct sockaddr *peer, int marks)
{
    struct banyan_sock *sock;

    pthread_mutex_lock(&set->lock);
    sock = sock_create(set, fd, 0, user);
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

/* ---- Options ---- */

void sock_set_option(int fd, int level, int option, int value)
{
    (void)setsockopt(fd, level, option, &value, sizeof(value));
}

static void set_stream_options(int fd)
{
    sock_set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    sock_set_option(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, NOTSENT_BYTES_MAX);
    sock_set_option(fd, SOL_SOCKET, SO_OOBINLINE, 1); /* RFC 6093, 5: urgent bytes stay in the
                                                       * stream */
}

int sock_apply_settings(int fd, const struct sock_settings *settings)
{
    const struct {
        int level;
        int name;
        unsigned int value;
    } options[] = {
        {SOL_SOCKET, SO_KEEPALIVE, settings->idle_s != 0},
        {IPPROTO_TCP, TCP_USER_TIMEOUT, settings->user_timeout_ms},
        {IPPROTO_TCP, TCP_KEEPIDLE, settings->idle_s},
        {IPPROTO_TCP, TCP_KEEPINTVL, settings->interval_s},
        {IPPROTO_TCP, TCP_KEEPCNT, settings->probes},
    };
    size_t count = settings->idle_s != 0 ? 5 : 2;

    if (settings->idle_s == 0 && settings->user_timeout_ms == 0 && !settings->changed)
        return 0;
    for (size_t i = 0; i < count; i++)
        if (setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(int)) < 0)
            return -errno;
    return 0;
}

/* The settings stay as they were if the system does not take them. */
static int change_settings(struct banyan_sock *sock, const struct sock_settings *settings)
{
    struct sock_settings before = sock->settings;
    int rc;

    if (sock->closing)
        return -ESHUTDOWN;
    sock->settings = *settings;
    sock->settings.changed = 1;
    rc = sock->fd >= 0 ? sock_apply_settings(sock->fd, &sock->settings)
                       : sock_race_apply_settings(sock);
    if (rc < 0) {
        sock->settings = before;
        before.changed = 1;
        if (sock->fd >= 0)
            (void)sock_apply_settings(sock->fd, &before);
    }
    return rc;
}

int banyan_sock_set_keep_alive(struct banyan_sock *sock, unsigned int idle_s,
                               unsigned int interval_s, unsigned int probes)
{
    struct sock_settings settings;
    int rc;

    if ((idle_s == 0) != (interval_s == 0) || (idle_s == 0) != (probes == 0))
        return -EINVAL;
    pthread_mutex_lock(&sock->set->lock);
    settings = sock->settings;
    settings.idle_s = idle_s;
    settings.interval_s = interval_s;
    settings.probes = probes;
    rc = change_settings(sock, &settings);
    pthread_mutex_unlock(&sock->set->lock);
    return rc;
}

int banyan_sock_set_user_timeout(struct banyan_sock *sock, unsigned int timeout_ms)
{
    struct sock_settings settings;
    int rc;

    pthread_mutex_lock(&sock->set->lock);
    settings = sock->settings;
    settings.user_timeout_ms = timeout_ms;
    rc = change_settings(sock, &settings);
    pthread_mutex_unlock(&sock->set->lock);
    return rc;
}

int sock_fail(struct error *error, const struct address *address, struct banyan_sock_ports ports,
              int code, const char *what)
{
    char text[ADDRESS_TEXT_BYTES];

    address_print(address, text);
    if (code == -EADDRINUSE && ports.first != 0)
        return error_set(error, code, "%s: %s: no free port in %u-%u", text, what, ports.first,
                         ports.last);
    return error_set(error, code, "%s: %s: %s", text, what, strerror(-code));
}

void sock_set_system_port(struct sockaddr_storage *system, uint16_t port)
{
    assert(system->ss_family == AF_INET || system->ss_family == AF_INET6);
    if (system->ss_family == AF_INET)
        ((struct sockaddr_in *)system)->sin_port = htons(port);
    else
        ((struct sockaddr_in6 *)system)->sin6_port = htons(port);
}

int sock_check_ports(struct banyan_sock_ports ports, uint16_t port, struct error *error)
{
    if (ports.first == 0 && ports.last == 0)
        return 0;
    if (ports.first == 0 || ports.first > ports.last)
        return error_set(error, -ERANGE, "%u-%u is not a range of ports", ports.first, ports.last);
    if (port != 0 && (port < ports.first || port > ports.last))
        return error_set(error, -ERANGE, "port %u is not in %u-%u", port, ports.first, ports.last);
    return 0;
}

/* ---- Listening ---- */

int sock_open_stream(int family)
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
    int fd = sock_open_stream(system->ss_family);
    int rc = 0;

    if (fd < 0)
        return fd;
    sock_set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (system->ss_family == AF_INET6)
        sock_set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    if (bind(fd, (const struct sockaddr *)system, bytes) < 0 || listen(fd, BACKLOG) < 0)
        rc = -errno;
    if (rc == 0)
        return fd;
    close(fd);
    return rc;
}

/* With SO_REUSEADDR two sockets may bind to one port as long as neither listens; only listen shows
 * which has it.  So each port of the range is tried up to listen, and a port chosen by the system a
 * few times. */
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
        sock_set_system_port(&system, (uint16_t)port);
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
    int rc = sock_check_ports(ports, address_port(address), error);
    int fd;

    if (rc < 0)
        return rc;
    if (address_port(address) != 0)
        ports = (struct banyan_sock_ports){0};
    fd = listen_in(address, ports);
    if (fd < 0)
        return sock_fail(error, address, ports, fd, "cannot listen");
    pthread_mutex_lock(&set->lock);
    sock = sock_create(set, fd, 1, user);
    rc = sock == NULL ? -errno : 0;
    pthread_mutex_unlock(&set->lock);
    if (rc < 0) {
        close(fd);
        return sock_fail(error, address, ports, rc, "cannot listen");
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
    int fd = listener->listening ? accept_now(listener, &system, &bytes) : -EINVAL;

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
    int rc = 0;

    if (!listener->listening)
        return -EINVAL;
    pthread_mutex_lock(&listener->set->lock);
    if (listener->closing)
        rc = -ESHUTDOWN;
    else if (sock_watch(listener->set, EPOLL_CTL_MOD, listener->fd, &listener->watch,
                        paused ? 0 : EPOLLIN) < 0)
        rc = -errno;
    pthread_mutex_unlock(&listener->set->lock);
    return rc;
}

/* 0 if it is a connected stream socket. */
static int check_adoptable(int fd, struct sockaddr_storage *ret_peer)
{
    socklen_t bytes = sizeof(*ret_peer);
    socklen_t number_bytes = sizeof(int);
    int type;
    int listening;

    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &number_bytes) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &number_bytes) < 0)
        return -errno;
    if (type != SOCK_STREAM)
        return -EPROTOTYPE;
    if (listening)
        return -EINVAL;
    return getpeername(fd, (struct sockaddr *)ret_peer, &bytes) < 0 ? -errno : 0;
}

int banyan_sock_adopt(struct banyan_sock_set *set, int fd, void *user,
                      struct banyan_sock **ret_sock, struct error *error)
{
    struct sockaddr_storage peer;
    struct banyan_sock *sock = NULL;
    int rc = check_adoptable(fd, &peer);

    if (rc == 0) {
        sock = create_connected(set, fd, user, (struct sockaddr *)&peer, !is_tcp(fd));
        rc = sock != NULL ? 0 : -errno;
    }
    if (rc < 0)
        return error_set(error, rc, "cannot adopt descriptor %d: %s", fd,
                         rc == -EINVAL ? "it listens" : strerror(-rc));
    *ret_sock = sock;
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "fabric/address.h"
#include "fabric/sock_private.h"

enum banyan_sock_status banyan_sock_status_of(int system_error)
{
    switch (system_error) {
    case 0:
        return BANYAN_SOCK_OK;
    case ECONNREFUSED:
        return BANYAN_SOCK_REFUSED;
    case ETIMEDOUT:
        return BANYAN_SOCK_TIMED_OUT;
    case ECONNRESET:
    case EPIPE:
        return BANYAN_SOCK_RESET;
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EHOSTDOWN:
    case ENETDOWN:
        return BANYAN_SOCK_UNREACHABLE;
    case ENOBUFS:
    case ENOMEM:
        return BANYAN_SOCK_NO_BUFFERS;
    case EMFILE:
    case ENFILE:
        return BANYAN_SOCK_NO_DESCRIPTORS;
    case EADDRINUSE:
        return BANYAN_SOCK_NO_PORTS;
    case ERANGE:
        return BANYAN_SOCK_BAD_PORTS;
    case EADDRNOTAVAIL:
        return BANYAN_SOCK_NOT_LOCAL;
    case EAFNOSUPPORT:
    case EINVAL:
        return BANYAN_SOCK_BAD_ADDRESS;
    case ECANCELED:
        return BANYAN_SOCK_INTERRUPTED;
    default:
        return BANYAN_SOCK_FAILED;
    }
}

const char *banyan_sock_status_text(enum banyan_sock_status status)
{
    static const char *const texts[BANYAN_SOCK_STATUS_COUNT] = {
        [BANYAN_SOCK_OK] = "success",
        [BANYAN_SOCK_REFUSED] = "connection refused",
        [BANYAN_SOCK_TIMED_OUT] = "timed out",
        [BANYAN_SOCK_RESET] = "connection reset by peer",
        [BANYAN_SOCK_CLOSED_BY_PEER] = "connection closed by peer",
        [BANYAN_SOCK_UNREACHABLE] = "unreachable",
        [BANYAN_SOCK_NO_BUFFERS] = "the system has no buffers left",
        [BANYAN_SOCK_NO_DESCRIPTORS] = "no descriptors left",
        [BANYAN_SOCK_NO_PORTS] = "no free port",
        [BANYAN_SOCK_BAD_PORTS] = "no such port, or not a range of ports",
        [BANYAN_SOCK_NOT_LOCAL] = "no address of this machine",
        [BANYAN_SOCK_BAD_ADDRESS] = "bad address",
        [BANYAN_SOCK_INTERRUPTED] = "interrupted by close",
        [BANYAN_SOCK_FAILED] = "failed",
    };

    return status < BANYAN_SOCK_STATUS_COUNT ? texts[status] : "?";
}

void banyan_sock_describe(const struct banyan_sock_event *event, struct error *ret_error)
{
    char text[ADDRESS_TEXT_BYTES] = "";
    const char *what = event->system_error != 0 && event->status != BANYAN_SOCK_INTERRUPTED
                           ? strerror(event->system_error)
                           : banyan_sock_status_text(event->status);
    int code = event->system_error != 0 ? -event->system_error : 0;

    if (event->status == BANYAN_SOCK_CLOSED_BY_PEER)
        code = -EPIPE;
    if (event->operation == BANYAN_SOCK_CONNECT && event->status != BANYAN_SOCK_OK &&
        event->sock->failures != NULL && event->status != BANYAN_SOCK_INTERRUPTED) {
        error_set(ret_error, code, "%s", event->sock->failures);
        return;
    }
    /* The sock of a close has been freed. */
    if (event->operation != BANYAN_SOCK_CLOSE && event->sock != NULL &&
        event->sock->peer.length_bytes > 0)
        address_print(&event->sock->peer, text);
    error_set(ret_error, code, "%s%s%s", text, text[0] != '\0' ? ": " : "", what);
}

void banyan_sock_describe_code(const struct banyan_sock *sock, int code, struct error *ret_error)
{
    struct banyan_sock_event event = {.sock = (struct banyan_sock *)sock, .system_error = -code};

    event.status = banyan_sock_status_of(-code);
    if (code == -EPIPE) {
        event.status = BANYAN_SOCK_CLOSED_BY_PEER;
        event.system_error = 0;
    }
    banyan_sock_describe(&event, ret_error);
}

/* Another thread may close the sock meanwhile. */
static void lock_set(const struct banyan_sock *sock)
{
    pthread_mutex_lock(&sock->set->lock);
}

static void unlock_set(const struct banyan_sock *sock)
{
    pthread_mutex_unlock(&sock->set->lock);
}

void banyan_sock_set_user(struct banyan_sock *sock, void *user)
{
    lock_set(sock);
    sock->user = user;
    unlock_set(sock);
}

void *banyan_sock_user(const struct banyan_sock *sock)
{
    void *user;

    lock_set(sock);
    user = sock->user;
    unlock_set(sock);
    return user;
}

uint64_t banyan_sock_id(const struct banyan_sock *sock)
{
    return sock->id;
}

int banyan_sock_fd(const struct banyan_sock *sock)
{
    int fd;

    lock_set(sock);
    fd = sock->fd;
    unlock_set(sock);
    return fd;
}

void sock_read_local_address(int fd, struct address *ret_address)
{
    struct sockaddr_storage system;
    socklen_t bytes = sizeof(system);

    *ret_address = (struct address){0};
    if (fd >= 0 && getsockname(fd, (struct sockaddr *)&system, &bytes) == 0)
        address_from_system((struct sockaddr *)&system, ret_address);
}

void banyan_sock_local_address(const struct banyan_sock *sock, struct address *ret_address)
{
    lock_set(sock);
    sock_read_local_address(sock->fd, ret_address);
    unlock_set(sock);
}

const struct address *banyan_sock_peer_address(const struct banyan_sock *sock)
{
    return &sock->peer;
}

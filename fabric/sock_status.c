/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buffer.h"
#include "fabric/address.h"
#include "fabric/sock_private.h"

#define HOST_NAME_BYTES_MAX 255

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
    case EADDRNOTAVAIL:
        return BANYAN_SOCK_NO_PORTS;
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
    /* The sock of a close is no more. */
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

int banyan_sock_describe_host(const char *net, char *text, size_t text_bytes, struct error *error)
{
    char name[HOST_NAME_BYTES_MAX + 1] = "";
    struct addresses addresses;
    struct buffer line = {0};
    int rc = address_local(net, &addresses, error);

    if (rc < 0)
        return rc;
    if (gethostname(name, sizeof(name) - 1) < 0 || name[0] == '\0')
        snprintf(name, sizeof(name), "localhost");
    buffer_append_string(&line, name);
    for (int i = 0; i < addresses.count; i++) {
        char address[ADDRESS_TEXT_BYTES];
        buffer_printf(&line, " %s", address_print(&addresses.items[i], address));
    }
    if (line.length_bytes < text_bytes)
        memcpy(text, buffer_string(&line), line.length_bytes + 1);
    else
        rc = error_set(error, -ENOSPC, "the description of this machine needs %zu bytes, not %zu",
                       line.length_bytes + 1, text_bytes);
    buffer_fini(&line);
    return rc;
}

/* Another thread may close the sock meanwhile. */
static void lock(const struct banyan_sock *sock)
{
    pthread_mutex_lock(&sock->set->lock);
}

static void unlock(const struct banyan_sock *sock)
{
    pthread_mutex_unlock(&sock->set->lock);
}

void banyan_sock_set_user(struct banyan_sock *sock, void *user)
{
    lock(sock);
    sock->user = user;
    unlock(sock);
}

void *banyan_sock_user(const struct banyan_sock *sock)
{
    void *user;

    lock(sock);
    user = sock->user;
    unlock(sock);
    return user;
}

uint64_t banyan_sock_id(const struct banyan_sock *sock)
{
    return sock->id;
}

int banyan_sock_fd(const struct banyan_sock *sock)
{
    int fd;

    lock(sock);
    fd = sock->fd;
    unlock(sock);
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
    lock(sock);
    sock_read_local_address(sock->fd, ret_address);
    unlock(sock);
}

const struct address *banyan_sock_peer_address(const struct banyan_sock *sock)
{
    return &sock->peer;
}

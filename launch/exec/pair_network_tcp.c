/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection for each pair, made by the process that leads, which says the token first. */
#include "config.h"

#include "launch/exec/pair_network.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/time.h"
#include "fabric/loop.h"

#define BUFFER_BYTES (256u * 1024)
#define STRANGER_S   1 /* for who has connected to say who it is */
#define CONNECT_MS   10000

/* What the process that connects says first. */
struct hello {
    unsigned char token[PAIR_TOKEN_BYTES];
    uint32_t rank;
};

struct tcp {
    struct pair_network network;
    int listener;
    int fd;                /* the peer's; -1: none */
    unsigned char *buffer; /* BUFFER_BYTES */
};

static struct tcp *tcp_of(struct pair_network *network)
{
    return (struct tcp *)network;
}

/* ---- Bytes ---- */

/* Sends, or receives, that many; of larger numbers the content does not matter. */
static int move(int fd, void *data, size_t data_bytes, uint64_t bytes, int is_sent)
{
    while (bytes > 0) {
        size_t part = bytes < data_bytes ? (size_t)bytes : data_bytes;
        ssize_t moved = is_sent ? send(fd, data, part, MSG_NOSIGNAL) : recv(fd, data, part, 0);

        if (moved < 0 && errno == EINTR)
            continue;
        if (moved <= 0)
            return moved < 0 ? (errno == EAGAIN ? -ETIMEDOUT : -errno) : -EPIPE;
        bytes -= (uint64_t)moved;
    }
    return 0;
}

static int tcp_send(struct pair_network *network, uint64_t bytes)
{
    return move(tcp_of(network)->fd, tcp_of(network)->buffer, BUFFER_BYTES, bytes, 1);
}

static int tcp_receive(struct pair_network *network, uint64_t bytes)
{
    return move(tcp_of(network)->fd, tcp_of(network)->buffer, BUFFER_BYTES, bytes, 0);
}

/* ---- Connections ---- */

static void set_options(int fd, time_t patience_s)
{
    const struct timeval patience = {.tv_sec = patience_s};
    int one = 1;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

/* In time, or -ETIMEDOUT. */
static int connect_to(const struct address *address)
{
    struct sockaddr_storage system;
    socklen_t bytes, code_bytes = sizeof(int);
    struct pollfd wait = {.events = POLLOUT};
    int code = 0;

    if (address_to_system(address, &system, &bytes) < 0)
        return -EINVAL;
    wait.fd = socket(system.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (wait.fd < 0)
        return -errno;
    if (connect(wait.fd, (struct sockaddr *)&system, bytes) < 0) {
        code = errno;
        if (code == EINPROGRESS) {
            code = poll(&wait, 1, CONNECT_MS) == 1 ? 0 : ETIMEDOUT;
            if (code == 0 && getsockopt(wait.fd, SOL_SOCKET, SO_ERROR, &code, &code_bytes) < 0)
                code = errno;
        }
    }
    if (code != 0) {
        close(wait.fd);
        return -code;
    }
    return wait.fd;
}

/* At the first of its addresses that works. */
static int connect_peer(struct tcp *tcp, uint32_t peer, struct error *error)
{
    char value[PMI1_CLIENT_VALUE_BYTES];
    struct hello hello = {.rank = tcp->network.pmi->rank};
    int fd = -ENOENT;

    if (pair_network_find(tcp->network.pmi, peer, value, error) < 0)
        return error->code;
    for (char *text = strtok(value, ","); text != NULL && fd < 0; text = strtok(NULL, ",")) {
        struct address address;

        if (address_parse(text, &address, NULL) == 0)
            fd = connect_to(&address);
    }
    if (fd < 0)
        return fd;
    (void)fcntl(fd, F_SETFL, 0); /* it was only to connect in time */
    set_options(fd, PAIR_PATIENCE_S);
    memcpy(hello.token, tcp->network.token, sizeof(hello.token));
    (void)move(fd, &hello, sizeof(hello), sizeof(hello), 1);
    return fd;
}

/* Strangers are left alone. */
static int accept_peer(const struct tcp *tcp, uint32_t peer)
{
    struct pollfd wait = {.fd = tcp->listener, .events = POLLIN};
    uint64_t end_ns = loop_now_ns() + PAIR_PATIENCE_S * NS_PER_S;

    for (uint64_t now_ns; (now_ns = loop_now_ns()) < end_ns;) {
        struct hello hello;
        int fd;

        if (poll(&wait, 1, (int)((end_ns - now_ns) / NS_PER_MS) + 1) <= 0)
            continue;
        fd = accept4(tcp->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            continue;
        set_options(fd, STRANGER_S);
        if (recv(fd, &hello, sizeof(hello), MSG_WAITALL) == (ssize_t)sizeof(hello) &&
            hello.rank == peer &&
            memcmp(hello.token, tcp->network.token, sizeof(hello.token)) == 0) {
            set_options(fd, PAIR_PATIENCE_S);
            return fd;
        }
        close(fd);
    }
    return -ETIMEDOUT;
}

static int tcp_meet(struct pair_network *network, uint32_t peer, int leads, struct error *error)
{
    struct tcp *tcp = tcp_of(network);

    assert(tcp->fd < 0);
    tcp->fd = leads ? connect_peer(tcp, peer, error) : accept_peer(tcp, peer);
    return tcp->fd < 0 ? tcp->fd : 0;
}

static void tcp_part(struct pair_network *network)
{
    close(tcp_of(network)->fd);
    tcp_of(network)->fd = -1;
}

/* ---- Its life ---- */

/* On all addresses; returns the port. */
static int open_listener(struct tcp *tcp)
{
    struct sockaddr_in6 own = {.sin6_family = AF_INET6};
    struct sockaddr_in own_v4 = {.sin_family = AF_INET};
    socklen_t bytes = sizeof(own);
    int zero = 0, is_v6 = 1;

    tcp->listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (tcp->listener < 0) {
        is_v6 = 0;
        tcp->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    }
    if (tcp->listener < 0)
        return -errno;
    if (is_v6)
        (void)setsockopt(tcp->listener, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
    if (bind(tcp->listener, is_v6 ? (struct sockaddr *)&own : (struct sockaddr *)&own_v4,
             is_v6 ? sizeof(own) : sizeof(own_v4)) < 0 ||
        listen(tcp->listener, SOMAXCONN) < 0 ||
        getsockname(tcp->listener, (struct sockaddr *)&own, &bytes) < 0)
        return -errno;
    return ntohs(own.sin6_port); /* at the same offset in both forms */
}

static int publish(struct tcp *tcp, struct error *error)
{
    char value[PMI1_CLIENT_VALUE_BYTES] = "", text[ADDRESS_TEXT_BYTES];
    struct addresses own;
    size_t bytes = 0;
    int port = open_listener(tcp);

    if (port < 0)
        return error_set(error, port, "cannot listen: %s", strerror(-port));
    pair_network_addresses(&own);
    for (uint8_t i = 0; i < own.count; i++) {
        address_set_port(&own.items[i], (uint16_t)port);
        address_print(&own.items[i], text);
        if (bytes + strlen(text) + 2 > sizeof(value))
            break;
        bytes +=
            (size_t)snprintf(value + bytes, sizeof(value) - bytes, "%s%s", i > 0 ? "," : "", text);
    }
    return pair_network_publish(tcp->network.pmi, value, error);
}

static void tcp_destroy(struct pair_network *network)
{
    struct tcp *tcp = tcp_of(network);

    if (tcp->fd >= 0)
        close(tcp->fd);
    if (tcp->listener >= 0)
        close(tcp->listener);
    free(tcp->buffer);
    free(tcp);
}

static const struct pair_network_ops tcp_ops = {.meet = tcp_meet,
                                                .send = tcp_send,
                                                .receive = tcp_receive,
                                                .part = tcp_part,
                                                .destroy = tcp_destroy};

struct pair_network *pair_network_tcp(struct pmi1_client *pmi, struct error *error)
{
    struct tcp *tcp = memory_allocate_zeroed(sizeof(*tcp));

    tcp->network = (struct pair_network){.ops = &tcp_ops, .pmi = pmi};
    tcp->listener = tcp->fd = -1;
    tcp->buffer = memory_allocate_zeroed(BUFFER_BYTES);
    if (publish(tcp, error) < 0) {
        tcp_destroy(&tcp->network);
        return NULL;
    }
    return &tcp->network;
}

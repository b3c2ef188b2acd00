/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The socket that PMIx clients connect to: only a whole first message goes on, with its connection and not
 * a byte of what follows; everybody else is closed, and nobody is held up by who says nothing.
 */
#include "config.h"

#include "launch/rank/pmi_door.h"
#include "test/support/tap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/time.h"

#define TRIES      20000
#define SPARE_FDS  64
#define RANK       5u
#define BODY_BYTES 64

static struct loop *loop;
static struct loop_timer *tick;
static uint16_t port;
static unsigned int entered;
static struct hello last_hello;
static size_t last_bytes;
static int last_fd = -1;

static void on_entered(void *context, int fd, const struct hello *hello, const void *message,
                       size_t message_bytes)
{
    entered++;
    last_hello = *hello;
    last_bytes = message_bytes;
    if (last_fd >= 0)
        close(last_fd);
    last_fd = fd;
}

static void on_tick(void *context)
{
    loop_stop(loop);
}

static void loop_some(void)
{
    loop_timer_set(tick, loop_now_ns() + NS_PER_MS);
    (void)loop_run(loop);
}

/* The message of a client, whole; returns its length. */
static size_t make_hello(char *message)
{
    char *at = message + HELLO_HEADER_BYTES;
    uint32_t rank = htonl(RANK), bytes;

    memset(message, 0, HELLO_HEADER_BYTES + BODY_BYTES);
    at = stpcpy(at, "native") + 1 + 4 + 1; /* no credential; a client */
    at = stpcpy(at, "space") + 1;
    memcpy(at, &rank, sizeof(rank));
    at = stpcpy(at + sizeof(rank), "4.2.2") + 1;
    bytes = (uint32_t)(at - message - HELLO_HEADER_BYTES);
    memcpy(message + 8, &bytes, sizeof(bytes));
    return bytes + HELLO_HEADER_BYTES;
}

static int client_open(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        bail_out("connect: %s", strerror(errno));
    return fd;
}

/* 1 once the other end is closed. */
static int is_closed(int fd)
{
    char byte;
    ssize_t got = recv(fd, &byte, 1, MSG_DONTWAIT);

    return got == 0 || (got < 0 && errno == ECONNRESET);
}

static void closes(int fd, const char *name)
{
    for (int i = 0; i < TRIES && !is_closed(fd); i++)
        loop_some();
    ok(is_closed(fd), "%s is closed", name);
    close(fd);
}

static void test_whole(void)
{
    char message[HELLO_HEADER_BYTES + BODY_BYTES], rest[8] = "";
    size_t bytes = make_hello(message);
    int fd = client_open();

    entered = 0;
    for (size_t i = 0; i < bytes; i++) {
        if (send(fd, message + i, 1, 0) != 1)
            bail_out("send");
        loop_some();
        if (i + 1 < bytes && entered > 0)
            fail("a message went on after %zu of its %zu bytes", i + 1, bytes);
    }
    for (int i = 0; i < TRIES && entered == 0; i++)
        loop_some();
    is_uint(entered, 1, "a message in pieces goes on when it is whole");
    is_uint(last_bytes, bytes, "with all of its bytes");
    ok(last_hello.is_client && strcmp(last_hello.namespace, "space") == 0 &&
           last_hello.rank == RANK,
       "it says who it is");
    close(fd);

    fd = client_open();
    memcpy(message + bytes, "more", 4);
    if (send(fd, message, bytes + 4, 0) != (ssize_t)bytes + 4)
        bail_out("send");
    for (int i = 0; i < TRIES && entered == 1; i++)
        loop_some();
    is_int(recv(last_fd, rest, sizeof(rest), 0), 4, "what follows it is left in the connection");
    is_string(rest, "more", "whole");
    close(fd);
}

static void test_noise(void)
{
    char message[HELLO_HEADER_BYTES + BODY_BYTES];
    size_t bytes = make_hello(message);
    int fd = client_open();

    entered = 0;
    memset(message, 0xff, HELLO_HEADER_BYTES);
    if (send(fd, message, HELLO_HEADER_BYTES, 0) < 0)
        bail_out("send");
    closes(fd, "one whose message would be too long");

    fd = client_open();
    memset(message, 0, HELLO_HEADER_BYTES);
    if (send(fd, message, HELLO_HEADER_BYTES, 0) < 0)
        bail_out("send");
    closes(fd, "one whose message is empty");

    bytes = make_hello(message);
    memset(message + HELLO_HEADER_BYTES, 'x', bytes - HELLO_HEADER_BYTES);
    fd = client_open();
    if (send(fd, message, bytes, 0) < 0)
        bail_out("send");
    closes(fd, "one whose message is noise");

    fd = client_open();
    if (send(fd, message, HELLO_HEADER_BYTES + 3, 0) < 0)
        bail_out("send");
    loop_some();
    close(fd);
    loop_some();
    is_uint(entered, 0, "nothing of them goes on, nor of one that leaves early");
}

/* Both ends of all of them are here. */
static void test_many(void)
{
    char message[HELLO_HEADER_BYTES + BODY_BYTES];
    size_t bytes = make_hello(message);
    struct rlimit limit;
    int *fds;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 ||
        limit.rlim_max < (rlim_t)2 * PMI_DOOR_WAITING_MAX + SPARE_FDS) {
        skip(2, "too few descriptors");
        return;
    }
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    fds = memory_allocate((PMI_DOOR_WAITING_MAX + 1) * sizeof(*fds));
    for (unsigned int i = 0; i <= PMI_DOOR_WAITING_MAX; i++) {
        fds[i] = client_open();
        loop_some();
    }
    closes(fds[0], "the oldest of too many that say nothing");
    entered = 0;
    if (send(fds[PMI_DOOR_WAITING_MAX], message, bytes, 0) < 0)
        bail_out("send");
    for (int i = 0; i < TRIES && entered == 0; i++)
        loop_some();
    is_uint(entered, 1, "and the newest is served");
    for (unsigned int i = 1; i <= PMI_DOOR_WAITING_MAX; i++)
        close(fds[i]);
    free(fds);
}

int main(void)
{
    struct error error = ERROR_NONE;
    struct door *door;
    int fd;

    loop = loop_create(&error);
    if (loop == NULL)
        bail_out("%s", error.text);
    tick = loop_timer_create(loop, on_tick, NULL);
    door = pmi_door_open(loop, on_entered, NULL, &port, &error);
    if (door == NULL)
        bail_out("%s", error.text);
    test_whole();
    test_noise();
    test_many();
    fd = client_open();
    loop_some();
    pmi_door_close(door);
    closes(fd, "who waits when the door is closed");
    if (last_fd >= 0)
        close(last_fd);
    loop_timer_destroy(tick);
    loop_destroy(loop);
    return done_testing();
}

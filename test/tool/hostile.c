/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hostile ADDRESS:PORT SESSION COUNT: makes COUNT connections to a place, at most OPEN_MAX at once, of
 * every kind of stranger in turn, and prints how many were told anything but a refusal ("let in"),
 * how many were closed by the place and how many were left to us.  It links TLS, not links.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fabric/address.h"
#include "fabric/tls.h"

#define OPEN_MAX_AT_ONCE 1500
#define RESERVED_FDS     64
#define LAST_WAIT_MS     8000 /* a stall is ended after 5 s */
#define NOISE_BYTES      700
#define RECORD_HANDSHAKE 22

enum kind {
    KIND_SILENT,
    KIND_NOISE,
    KIND_HTTP,
    KIND_HALF_HELLO,
    KIND_WRONG_KEY,
    KIND_WRONG_SESSION,
    KIND_GONE, /* closes at once */
    KIND_COUNT
};

static struct sockaddr_storage place;
static socklen_t place_bytes;
static struct buffer wrong_key;
static struct buffer wrong_session;
static int fds[OPEN_MAX_AT_ONCE];
static unsigned long let_in;
static unsigned long refused;
static unsigned long left;

static void die(const char *what)
{
    fprintf(stderr, "hostile: %s: %s\n", what, strerror(errno));
    exit(2);
}

/* A ClientHello that is right but for its key or its session. */
static void make_hello(const char *session, struct buffer *ret_hello)
{
    static const unsigned char key[TLS_KEY_BYTES] = "a key that opens no door at all.";
    char identity[TLS_IDENTITY_BYTES_MAX + 1];
    struct error error;
    struct tls *tls;

    snprintf(identity, sizeof(identity), "%s/3/0/1", session);
    tls = tls_create_client(identity, key, &error);
    if (tls == NULL)
        die("TLS");
    tls_output(tls, ret_hello);
    (void)tls_handshake(tls, &error);
    tls_destroy(tls);
}

static void speak(int fd, enum kind kind)
{
    unsigned char noise[NOISE_BYTES];

    for (size_t i = 0; i < sizeof(noise); i++)
        noise[i] = (unsigned char)rand();
    if (kind == KIND_NOISE)
        (void)send(fd, noise, sizeof(noise), MSG_NOSIGNAL);
    else if (kind == KIND_HTTP)
        (void)send(fd, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27, MSG_NOSIGNAL);
    else if (kind == KIND_HALF_HELLO)
        (void)send(fd, wrong_key.data, wrong_key.length_bytes / 2, MSG_NOSIGNAL);
    else if (kind == KIND_WRONG_KEY)
        (void)send(fd, wrong_key.data, wrong_key.length_bytes, MSG_NOSIGNAL);
    else if (kind == KIND_WRONG_SESSION)
        (void)send(fd, wrong_session.data, wrong_session.length_bytes, MSG_NOSIGNAL);
}

static int open_one(enum kind kind)
{
    int fd = socket(place.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || connect(fd, (struct sockaddr *)&place, place_bytes) < 0)
        die("cannot connect");
    speak(fd, kind);
    return fd;
}

/* What it was told: a handshake record would be a ServerHello. */
static int is_over(int fd)
{
    unsigned char told[4096];
    ssize_t bytes = recv(fd, told, sizeof(told), MSG_DONTWAIT);

    if (bytes > 0 && told[0] == RECORD_HANDSHAKE)
        let_in++;
    while (bytes > 0)
        bytes = recv(fd, told, sizeof(told), MSG_DONTWAIT);
    return bytes == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

static void end_one(int *fd)
{
    if (*fd < 0)
        return;
    if (is_over(*fd))
        refused++;
    else
        left++;
    close(*fd);
    *fd = -1;
}

static void wait_for_all(void)
{
    for (int i = 0; i < OPEN_MAX_AT_ONCE; i++) {
        struct pollfd poll_fd = {.fd = fds[i], .events = POLLIN};
        if (fds[i] >= 0 && poll(&poll_fd, 1, LAST_WAIT_MS) > 0)
            end_one(&fds[i]);
    }
    for (int i = 0; i < OPEN_MAX_AT_ONCE; i++)
        end_one(&fds[i]);
}

static void raise_limit(void)
{
    struct rlimit limit = {0};

    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur < OPEN_MAX_AT_ONCE + RESERVED_FDS)
        die("too few descriptors");
}

int main(int argc, char **argv)
{
    struct address address;
    unsigned long count;

    if (argc != 4 || address_parse(argv[1], &address, NULL) < 0 ||
        address_to_system(&address, &place, &place_bytes) < 0)
        die("ADDRESS:PORT SESSION COUNT");
    count = strtoul(argv[3], NULL, 10);
    raise_limit();
    make_hello(argv[2], &wrong_key);
    make_hello("0123456789abcdef", &wrong_session);
    for (int i = 0; i < OPEN_MAX_AT_ONCE; i++)
        fds[i] = -1;
    for (unsigned long i = 0; i < count; i++) {
        enum kind kind = (enum kind)(i % KIND_COUNT);
        int *fd = &fds[i % OPEN_MAX_AT_ONCE];
        end_one(fd);
        *fd = open_one(kind);
        if (kind == KIND_GONE)
            end_one(fd);
    }
    wait_for_all();
    printf("let in %lu, refused %lu, left %lu\n", let_in, refused, left);
    return 0;
}

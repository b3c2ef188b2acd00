/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What this machine takes for the two things that launching is made of, so that figures of other
 * machines and other hours can be compared:
 *
 *     yardstick exec PROGRAM [ARGUMENT...]   ns of vfork, exec and wait, median of 300
 *     yardstick hop                          ns of half a TCP round trip of 64 bytes on the
 *                                            loopback between two processes, median of 2000
 */
#include "config.h"

#include "contrib/bench/measure.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXECS = 300, ROUNDS = 2000, WARM_UP = 200, MESSAGE_BYTES = 64 };

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static pid_t start(char **argv)
{
    pid_t pid = vfork();

    if (pid == 0) {
        execv(argv[0], argv);
        _exit(127);
    }
    return pid;
}

static uint64_t measure_exec(char **argv)
{
    static uint64_t samples[EXECS];

    for (size_t i = 0; i < EXECS; i++) {
        uint64_t started_ns = now_ns();
        pid_t pid = start(argv);
        int status;

        if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
            fail(argv[0]);
        samples[i] = now_ns() - started_ns;
    }
    return median(samples, EXECS);
}

static void transfer(int fd, int is_sender)
{
    char message[MESSAGE_BYTES] = "";

    if (is_sender && send(fd, message, sizeof message, 0) != MESSAGE_BYTES)
        fail("send");
    if (!is_sender && recv(fd, message, sizeof message, MSG_WAITALL) != MESSAGE_BYTES)
        fail("recv");
}

/* The other end: answers every message. */
static void answer(const struct sockaddr_in *address)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int on = 1;

    if (connect(fd, (const struct sockaddr *)address, sizeof *address) < 0)
        fail("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    for (size_t i = 0; i < WARM_UP + ROUNDS; i++) {
        transfer(fd, 0);
        transfer(fd, 1);
    }
    _exit(0);
}

static uint64_t measure_hop(void)
{
    static uint64_t samples[ROUNDS];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    int on = 1;
    int fd;
    pid_t pid;

    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) < 0 ||
        listen(listener, 1) < 0 || getsockname(listener, (struct sockaddr *)&address, &length) < 0)
        fail("listen");
    pid = fork();
    if (pid < 0)
        fail("fork");
    if (pid == 0)
        answer(&address);
    fd = accept(listener, NULL, NULL);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    for (size_t i = 0; i < WARM_UP + ROUNDS; i++) {
        uint64_t started_ns = now_ns();

        transfer(fd, 1);
        transfer(fd, 0);
        if (i >= WARM_UP)
            samples[i - WARM_UP] = (now_ns() - started_ns) / 2;
    }
    waitpid(pid, NULL, 0);
    return median(samples, ROUNDS);
}

int main(int argc, char **argv)
{
    uint64_t result;

    if (argc == 2 && strcmp(argv[1], "hop") == 0)
        result = measure_hop();
    else if (argc > 2 && strcmp(argv[1], "exec") == 0)
        result = measure_exec(argv + 2);
    else {
        fprintf(stderr, "usage: yardstick hop | exec PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    printf("%" PRIu64 "\n", result);
    return 0;
}

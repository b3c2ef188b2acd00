/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Row K1 of the socket layer at size: 10,000 connections in one set.  Their other ends are plain
 * sockets of a child process, which writes a byte to each and wants it back.
 */
#include "config.h"

#include <malloc.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "test/support/sock_world.h"
#include "test/support/tap.h"

#define CONNECTIONS    10000
#define RESERVED_FDS   64
#define IDLE_BYTES_MAX 1024 /* of our memory for one sock */

struct connection {
    struct banyan_sock *sock;
    unsigned char byte;
};

static struct connection connections[CONNECTIONS];

static void raise_limit(void)
{
    struct rlimit limit;

    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max < CONNECTIONS + RESERVED_FDS)
        skip_all("the limit of descriptors is %ld, %d are needed", (long)limit.rlim_max,
                 CONNECTIONS + RESERVED_FDS);
    limit.rlim_cur = CONNECTIONS + RESERVED_FDS;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* ---- The child; its exit status says where it failed ---- */

static int fds[CONNECTIONS];

static unsigned char byte_of(int number)
{
    return (unsigned char)(number * 7);
}

static void child(void)
{
    struct sockaddr_storage system;
    socklen_t bytes;
    unsigned char byte;

    banyan_sock_address_to_system(&listening, &system, &bytes);
    for (int i = 0; i < CONNECTIONS; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM, 0);
        if (fds[i] < 0 || connect(fds[i], (struct sockaddr *)&system, bytes) < 0)
            _exit(1);
    }
    for (int i = 0; i < CONNECTIONS; i++) {
        byte = byte_of(i);
        if (send(fds[i], &byte, 1, 0) != 1)
            _exit(2);
    }
    for (int i = 0; i < CONNECTIONS; i++) {
        if (recv(fds[i], &byte, 1, 0) != 1 || byte != byte_of(i))
            _exit(3);
    }
    _exit(0);
}

/* ---- The set ---- */

static void accept_all(void)
{
    int count = 0;

    while (count < CONNECTIONS) {
        struct banyan_sock_event event = next_event();
        struct error why = ERROR_NONE;
        struct banyan_sock *sock = NULL;
        while (event.operation == BANYAN_SOCK_ACCEPT &&
               banyan_sock_accept(listener, set, &connections[count], &sock, &why) == 0)
            connections[count++].sock = sock;
        if (why.code != 0)
            bail_out("connection %d: %s", count, why.text);
    }
}

static void echo_all(void)
{
    int written = 0;
    int wrong = 0;

    for (int i = 0; i < CONNECTIONS; i++)
        wrong += banyan_sock_post_read(connections[i].sock, &connections[i].byte, 1, 1, NULL) != 0;
    while (written < CONNECTIONS) {
        struct banyan_sock_event event = next_event();
        struct connection *connection = event.user;
        wrong +=
            event.status != BANYAN_SOCK_OK || event.bytes != 1 || event.sock != connection->sock;
        if (event.operation == BANYAN_SOCK_READ)
            banyan_sock_post_write(event.sock, &connection->byte, 1, 1, NULL);
        else
            written++;
    }
    is_int(wrong, 0, "K1: each of them is read from and written to");
}

static void close_all(void)
{
    int closed = 0;

    for (int i = 0; i < CONNECTIONS; i++)
        banyan_sock_post_close(connections[i].sock);
    while (closed < CONNECTIONS)
        closed += next_event().operation == BANYAN_SOCK_CLOSE;
    pass("K1: all are closed");
}

int main(void)
{
    size_t before;
    size_t idle;
    int status;
    pid_t pid;

    raise_limit();
    world_open();
    before = mallinfo2().uordblks;
    pid = fork();
    if (pid == 0)
        child();
    accept_all();
    pass("K1: %d connections are in one set", CONNECTIONS);
    idle = (mallinfo2().uordblks - before) / CONNECTIONS;
    ok(idle <= IDLE_BYTES_MAX, "K1: an idle one costs %zu bytes, at most %d", idle, IDLE_BYTES_MAX);
    echo_all();
    waitpid(pid, &status, 0);
    is_int(status, 0, "K1: and their other ends had what they sent");
    close_all();
    world_close();
    return done_testing();
}

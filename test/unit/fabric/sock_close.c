/* SPDX-License-Identifier: BSD-3-Clause */
/* Row K4 of the socket layer: what a close does to everything that is under way. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test/support/sock_world.h"
#include "test/support/tap.h"

#define LARGE_BYTES (8u * 1024 * 1024)

static void *fill(struct banyan_sock *sock)
{
    void *data = calloc(1, LARGE_BYTES * 4);

    banyan_sock_post_write(sock, data, LARGE_BYTES * 4, LARGE_BYTES * 4, NULL);
    return data;
}

static void test_close(void)
{
    struct banyan_sock_event event;
    struct error why;
    char data[8];
    void *filling;

    connect_pair();
    banyan_sock_post_read(near, data, 8, 8, NULL);
    filling = fill(near);
    is_int(banyan_sock_post_close(near), 0, "K4: closed with a read and a write under way");
    event = next_event();
    ok(is_event(&event, BANYAN_SOCK_READ, BANYAN_SOCK_INTERRUPTED, near),
       "K4: the read is interrupted");
    banyan_sock_describe(&event, &why);
    has_string(why.text, "interrupted by close", "K4: and says so");
    event = next_event();
    ok(is_event(&event, BANYAN_SOCK_WRITE, BANYAN_SOCK_INTERRUPTED, near), "K4: then the write");
    event = next_event();
    ok(is_event(&event, BANYAN_SOCK_CLOSE, BANYAN_SOCK_OK, near), "K4: then the close is complete");
    banyan_sock_describe(&event, &why);
    is_string(why.text, "success", "K4: which has words, too, although the sock is gone");
    close_one(far);
    free(filling);
}

static void test_close_connect(void)
{
    struct banyan_sock_event event;
    struct error error;
    struct banyan_sock *sock = NULL;
    struct banyan_sock *claimed = NULL;

    banyan_sock_connect(set, &listening, any_port, NULL, &sock, &error);
    banyan_sock_post_close(sock);
    event = next_event();
    ok(event.operation == BANYAN_SOCK_CONNECT || event.operation == BANYAN_SOCK_ACCEPT,
       "K4: a connect ends");
    while (event.operation != BANYAN_SOCK_CLOSE)
        event = next_event();
    pass("K4: before its close");
    while (banyan_sock_accept(listener, set, NULL, &claimed, NULL) == 0)
        close_one(claimed);
    banyan_sock_connect(set, &listening, any_port, NULL, &sock, &error);
    close_one(listener);
    pass("K4: a listener with an unclaimed connection closes");
    close_one(sock);
    listener = listen_on("127.0.0.1");
}

static void test_close_pending_connect(void)
{
    int fds[5];
    struct address silent = full_listener(fds, 5);
    struct banyan_sock_event event;
    struct banyan_sock *sock = NULL;

    banyan_sock_connect(set, &silent, any_port, NULL, &sock, NULL);
    is_int(banyan_sock_set_wait(set, 50, &event), 0,
           "K4: a connect that nobody answers is under way");
    banyan_sock_post_close(sock);
    event = next_event();
    ok(is_event(&event, BANYAN_SOCK_CONNECT, BANYAN_SOCK_INTERRUPTED, sock),
       "K4: its close interrupts it");
    event = next_event();
    ok(is_event(&event, BANYAN_SOCK_CLOSE, BANYAN_SOCK_OK, sock), "K4: and then is complete");
    for (int i = 0; i < 5; i++)
        close(fds[i]);
}

/* Told of a connection, closed before it was claimed: the peer must not wait for ever. */
static void test_close_accept(void)
{
    struct banyan_sock_event event;
    struct banyan_sock *sock = NULL;
    struct banyan_sock *claimed = NULL;
    int connected = 0;
    char byte;
    size_t bytes = 0;

    banyan_sock_connect(set, &listening, any_port, NULL, &sock, NULL);
    for (int told = 0; !connected || !told;) {
        event = next_event();
        connected |= event.operation == BANYAN_SOCK_CONNECT;
        told |= event.operation == BANYAN_SOCK_ACCEPT;
    }
    banyan_sock_post_close(listener);
    is_int(banyan_sock_accept(listener, set, NULL, &claimed, NULL), -ESHUTDOWN,
           "K4: a closed listener gives nothing away");
    do
        event = next_event();
    while (event.operation == BANYAN_SOCK_ACCEPT);
    ok(is_event(&event, BANYAN_SOCK_CLOSE, BANYAN_SOCK_OK, listener),
       "K4: it closes with one unclaimed");
    banyan_sock_post_readable(sock);
    event = next_event();
    is_int(banyan_sock_read(sock, &byte, 1, &bytes), -ECONNRESET, "K4: whose peer is told");
    close_one(sock);
    listener = listen_on("127.0.0.1");
}

/* What was done before the close is told as done. */
static void test_close_done(void)
{
    struct banyan_sock_event event;

    connect_pair();
    banyan_sock_post_write(near, "done", 4, 4, NULL);
    banyan_sock_post_close(near);
    event = next_event();
    ok(is_event(&event, BANYAN_SOCK_WRITE, BANYAN_SOCK_OK, near) && event.bytes == 4,
       "K4: what was complete before stays so");
    event = next_event();
    ok(is_event(&event, BANYAN_SOCK_CLOSE, BANYAN_SOCK_OK, near),
       "K4: and is told before the close");
    close_one(far);
}

static void test_close_readable(void)
{
    struct banyan_sock_event event;

    connect_pair();
    banyan_sock_post_readable(near);
    banyan_sock_post_close(near);
    event = next_event();
    ok(is_event(&event, BANYAN_SOCK_READABLE, BANYAN_SOCK_INTERRUPTED, near),
       "K4: a wait for bytes ends, too");
    event = next_event();
    ok(is_event(&event, BANYAN_SOCK_CLOSE, BANYAN_SOCK_OK, near), "K4: before its close");
    close_one(far);
}

int main(void)
{
    world_open();
    test_close();
    test_close_connect();
    test_close_pending_connect();
    test_close_accept();
    test_close_done();
    test_close_readable();
    world_close();
    return done_testing();
}

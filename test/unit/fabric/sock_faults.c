/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Row K13 of the socket layer: a peer that vanishes, ends half of its connection, stalls, talks one
 * byte at a time or without end harms only its own sock.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test/support/sock_world.h"
#include "test/support/tap.h"

#define LARGE_BYTES (8u * 1024 * 1024)

/* A second connection, which must go on. */
static struct banyan_sock *other_near;
static struct banyan_sock *other_far;

static void open_other(void)
{
    connect_pair();
    other_near = near;
    other_far = far;
}

static void check_other(const char *beside)
{
    struct banyan_sock_event event;
    char data[8];
    size_t bytes = 0;

    banyan_sock_write(other_near, "goes on", 7, &bytes);
    banyan_sock_post_read(other_far, data, 7, 7, NULL);
    event = next_event();
    ok(is_event(&event, BANYAN_SOCK_READ, BANYAN_SOCK_OK, other_far) &&
           memcmp(data, "goes on", 7) == 0,
       "K13: the connection beside %s goes on", beside);
}

static void reset(int fd)
{
    struct linger hard = {.l_onoff = 1};

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    close(fd);
}

/* End and data in one event lose neither. */
static void test_end_with_data(void)
{
    char data[64];
    size_t bytes = 0;
    int wrong = 0;
    struct banyan_sock_event event;

    for (int i = 0; i < 100; i++) {
        connect_pair();
        banyan_sock_write(far, "last words", 10, &bytes);
        close_one(far);
        banyan_sock_post_readable(near);
        do
            event = next_event();
        while (event.operation != BANYAN_SOCK_READABLE);
        wrong += banyan_sock_read(near, data, sizeof(data), &bytes) != 0 || bytes != 10;
        banyan_sock_post_readable(near);
        event = next_event();
        wrong += event.operation != BANYAN_SOCK_READABLE ||
                 banyan_sock_read(near, data, sizeof(data), &bytes) != -EPIPE;
        close_one(near);
    }
    is_int(wrong, 0, "K13: 100 peers that wrote and closed are read to the end");
}

static void test_reset(void)
{
    struct banyan_sock_event event;
    char data[8];
    void *large = calloc(1, LARGE_BYTES);
    int fd = plain_peer();
    int seen_read = 0;
    int seen_write = 0;

    banyan_sock_post_read(far, data, 8, 8, NULL);
    banyan_sock_post_write(far, large, LARGE_BYTES, LARGE_BYTES, NULL);
    reset(fd);
    for (int i = 0; i < 2; i++) {
        event = next_event();
        seen_read += is_event(&event, BANYAN_SOCK_READ, BANYAN_SOCK_RESET, far);
        seen_write += is_event(&event, BANYAN_SOCK_WRITE, BANYAN_SOCK_RESET, far);
    }
    is_int(seen_read, 1, "K13: a peer that resets ends the read");
    is_int(seen_write, 1, "K13: and the write");
    check_other("one that resets");
    close_one(far);
    free(large);
}

/* The peer has said all it had to say, and still listens. */
static void test_half_close(void)
{
    struct banyan_sock_event event;
    char data[8];
    char word[4];
    size_t bytes = 0;
    int fd = plain_peer();

    banyan_sock_post_read(far, data, 8, 8, NULL);
    shutdown(fd, SHUT_WR);
    event = next_event();
    ok(is_event(&event, BANYAN_SOCK_READ, BANYAN_SOCK_CLOSED_BY_PEER, far),
       "K13: half an end ends the read");
    is_int(banyan_sock_post_read(far, data, 8, 8, NULL), 0, "K13: the next one");
    event = next_event();
    ok(is_event(&event, BANYAN_SOCK_READ, BANYAN_SOCK_CLOSED_BY_PEER, far), "K13: says the same");
    is_int(banyan_sock_write(far, "more", 4, &bytes), 0, "K13: the other half still works");
    ok(recv(fd, word, 4, MSG_WAITALL) == 4 && memcmp(word, "more", 4) == 0, "K13: to the end");
    check_other("one that half closes");
    close(fd);
    close_one(far);
}

/* It takes nothing: the write waits, and costs nobody anything. */
static void test_stall(void)
{
    void *large = calloc(1, 4 * LARGE_BYTES);
    struct banyan_sock_event event;
    int fd = plain_peer();

    banyan_sock_post_write(far, large, 4 * LARGE_BYTES, 4 * LARGE_BYTES, NULL);
    is_int(banyan_sock_set_wait(set, 50, &event), 0, "K13: a write to a peer that stalls waits");
    check_other("one that stalls");
    banyan_sock_post_close(far);
    event = next_event();
    ok(is_event(&event, BANYAN_SOCK_WRITE, BANYAN_SOCK_INTERRUPTED, far) &&
           event.bytes < 4 * LARGE_BYTES,
       "K13: a close tells how far it came: %zu bytes", event.bytes);
    event = next_event();
    is_int(event.operation, BANYAN_SOCK_CLOSE, "K13: and ends it");
    close(fd);
    free(large);
}

static int update_count;
static int update_wrong;

static void on_update(void *user, size_t bytes)
{
    update_count++;
    update_wrong += bytes != (size_t)update_count;
}

static void test_byte_by_byte(void)
{
    struct banyan_sock_event event;
    char data[100];
    int fd = plain_peer();
    int early = 0;

    banyan_sock_post_read(far, data, 100, 100, on_update);
    for (int i = 0; i < 100; i++) {
        char byte = (char)i;
        if (send(fd, &byte, 1, 0) != 1)
            bail_out("send");
        if (i < 99) {
            while (update_count <= i)
                early += banyan_sock_set_wait(set, 1, &event);
        }
    }
    event = next_event();
    is_int(early, 0, "K13: a peer that sends one byte at a time completes nothing early");
    ok(is_event(&event, BANYAN_SOCK_READ, BANYAN_SOCK_OK, far) && event.bytes == 100,
       "K13: but in the end all");
    is_int(update_count, 99, "K13: each byte was an update");
    is_int(update_wrong, 0, "K13: in order");
    ok(data[0] == 0 && data[99] == 99, "K13: nothing is lost");
    close(fd);
    close_one(far);
}

/* A sock that always has more to do must not keep the news of others waiting: each of its posts is
 * complete at once. */
static void test_flood(void)
{
    struct banyan_sock_event event;
    char byte;
    size_t bytes = 0;
    int turns = 0;
    int heard = 0;
    int fd = plain_peer();
    void *large = calloc(1, LARGE_BYTES);

    while (send(fd, large, LARGE_BYTES, MSG_DONTWAIT) > 0)
        ;
    is_int(banyan_sock_read(other_far, &byte, 1, &bytes), -EAGAIN,
           "K13: the other sock has nothing");
    banyan_sock_post_readable(other_far);
    banyan_sock_post_read(far, &byte, 1, 1, NULL);
    banyan_sock_write(other_near, "x", 1, &bytes);
    while (!heard && turns < 100000) {
        event = next_event();
        heard = event.sock == other_far;
        if (!heard)
            banyan_sock_post_read(far, &byte, 1, 1, NULL);
        turns++;
    }
    ok(heard && turns <= 200, "K13: beside a flood another sock is heard after %d events", turns);
    banyan_sock_read(other_far, &byte, 1, &bytes);
    close(fd);
    close_one(far);
    free(large);
}

/* A connect to a port of our own that nobody listens on may end at itself. */
static void test_self(void)
{
    struct address own = listening;
    struct banyan_sock_ports port;
    struct banyan_sock *sock = listen_on("127.0.0.1");
    struct banyan_sock_event event;
    struct address saved = own;

    own = listening;
    close_one(sock);
    listening = saved;
    port = (struct banyan_sock_ports){.first = banyan_sock_address_port(&own),
                                      .last = banyan_sock_address_port(&own)};
    banyan_sock_connect(set, &own, port, NULL, &sock, NULL);
    event = next_event();
    ok(is_event(&event, BANYAN_SOCK_CONNECT, BANYAN_SOCK_REFUSED, sock),
       "K13: nobody is connected to himself");
    close_one(sock);
}

/* Connected and reset before anybody accepts. */
static void test_gone_before_accept(void)
{
    struct sockaddr_storage system;
    socklen_t bytes;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct banyan_sock_event event;
    struct banyan_sock *sock = NULL;
    int rc;

    banyan_sock_address_to_system(&listening, &system, &bytes);
    if (connect(fd, (struct sockaddr *)&system, bytes) < 0)
        bail_out("connect");
    reset(fd);
    event = next_event();
    is_int(event.operation, BANYAN_SOCK_ACCEPT, "K13: a peer that is gone before it is accepted");
    rc = banyan_sock_accept(listener, set, NULL, &sock, NULL);
    ok(rc == 0 || rc == -EAGAIN, "K13: is no error of the listener");
    if (rc == 0)
        close_one(sock);
    check_other("one that is gone");
}

/* A read stops at an urgent byte, with more behind it, and is told nothing new of that. */
static void test_urgent(void)
{
    struct banyan_sock_event event;
    char data[8];
    int fd = plain_peer();

    if (send(fd, "abc", 3, 0) != 3 || send(fd, "d", 1, MSG_OOB) != 1 || send(fd, "efgh", 4, 0) != 4)
        bail_out("send");
    while (banyan_sock_set_wait(set, 20, &event) == 1)
        ; /* all of it has come, and has been told */
    banyan_sock_post_read(far, data, 8, 8, NULL);
    event = next_event();
    ok(is_event(&event, BANYAN_SOCK_READ, BANYAN_SOCK_OK, far) && event.bytes == 8 &&
           memcmp(data, "abcdefgh", 8) == 0,
       "K13: an urgent byte holds up no read and stays in its place");
    banyan_sock_post_read(far, data, 4, 4, NULL);
    banyan_sock_set_wait(set, 0, &event);
    if (send(fd, "ij", 2, MSG_OOB) != 2 || send(fd, "kl", 2, 0) != 2)
        bail_out("send");
    event = next_event();
    ok(is_event(&event, BANYAN_SOCK_READ, BANYAN_SOCK_OK, far) && memcmp(data, "ijkl", 4) == 0,
       "K13: nor one that was posted before");
    check_other("one that sends urgent bytes");
    close(fd);
    close_one(far);
}

/* Nor may a descriptor that is passed along, which nobody asked for. */
static void send_with_descriptor(int fd, const char *text)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.header = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    struct iovec vector = {.iov_base = (char *)text, .iov_len = strlen(text)};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control};

    control.header.cmsg_len = CMSG_LEN(sizeof(int));
    message.msg_controllen = sizeof(control.bytes);
    memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
    if (sendmsg(fd, &message, 0) != (ssize_t)strlen(text))
        bail_out("sendmsg");
}

static void test_passed_descriptor(void)
{
    struct banyan_sock *sock = NULL;
    struct banyan_sock_event event;
    char data[8];
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0 ||
        banyan_sock_adopt(set, fds[0], NULL, &sock, NULL) < 0)
        bail_out("socketpair");
    if (send(fds[1], "abc", 3, 0) != 3)
        bail_out("send");
    send_with_descriptor(fds[1], "def");
    if (send(fds[1], "gh", 2, 0) != 2)
        bail_out("send");
    while (banyan_sock_set_wait(set, 20, &event) == 1)
        ;
    banyan_sock_post_read(sock, data, 8, 8, NULL);
    event = next_event();
    ok(is_event(&event, BANYAN_SOCK_READ, BANYAN_SOCK_OK, sock) && memcmp(data, "abcdefgh", 8) == 0,
       "K13: a passed descriptor holds up no read");
    close_one(sock);
    close(fds[1]);
}

int main(void)
{
    world_open();
    test_end_with_data();
    open_other();
    test_reset();
    test_half_close();
    test_stall();
    test_byte_by_byte();
    test_flood();
    test_self();
    test_gone_before_accept();
    test_urgent();
    test_passed_descriptor();
    close_one(other_near);
    close_one(other_far);
    world_close();
    return done_testing();
}

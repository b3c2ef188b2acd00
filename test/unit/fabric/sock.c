/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows K1, K2, K5 and K6 of the socket layer: connections, transfers, errors. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "test/support/sock_world.h"
#include "test/support/tap.h"

#define LARGE_BYTES (8u * 1024 * 1024)

static size_t updates[16];
static int update_count;

static void test_connect(void)
{
    struct address address;
    char text[ADDRESS_TEXT_BYTES];
    struct address any;
    struct banyan_sock *v6 = NULL;

    ok(banyan_sock_address_port(&listening) != 0, "K1: listening on %s",
       banyan_sock_address_print(&listening, text));
    connect_pair();
    banyan_sock_local_address(near, &address);
    ok(is_same_address(&address, banyan_sock_peer_address(far)),
       "K1: both ends know the same address");
    ok(is_same_address(&listening, banyan_sock_peer_address(near)), "K1: and the listener's");
    close_pair();
    banyan_sock_address_parse("::1", &any, NULL);
    if (banyan_sock_listen(set, &any, any_port, NULL, &v6, NULL) == 0) {
        pass("K1: IPv6 listens");
        close_one(v6);
    } else {
        skip(1, "K1: no IPv6 here");
    }
}

static void on_update(void *user, size_t bytes)
{
    if (update_count < 16)
        updates[update_count++] = bytes;
}

static void test_range(void)
{
    char data[16];
    struct banyan_sock_event event;

    connect_pair();
    is_int(banyan_sock_post_read(near, data, 3, sizeof(data), on_update), 0,
           "K2: 3 to 16 bytes are wanted");
    update_count = 0;
    banyan_sock_post_write(far, "ab", 2, 2, NULL);
    event = next_event();
    ok(is_event(&event, BANYAN_SOCK_WRITE, BANYAN_SOCK_OK, far) && event.bytes == 2,
       "K2: 2 are written");
    is_int(banyan_sock_set_wait(set, 50, &event), 0, "K2: 2 are not enough");
    ok(update_count == 1 && updates[0] == 2, "K2: but told as an update");
    banyan_sock_post_write(far, "cdefg", 5, 5, NULL);
    event = next_event();
    if (event.operation == BANYAN_SOCK_WRITE)
        event = next_event();
    ok(is_event(&event, BANYAN_SOCK_READ, BANYAN_SOCK_OK, near), "K2: 5 more are");
    is_uint(event.bytes, 7, "K2: all that came is taken");
    is_bytes(data, event.bytes, "abcdefg", 7, "K2: in order");
    banyan_sock_post_read(near, data, 0, sizeof(data), NULL);
    event = next_event();
    ok(is_event(&event, BANYAN_SOCK_READ, BANYAN_SOCK_OK, near) && event.bytes == 0,
       "K2: a minimum of 0 is at once");
    close_pair();
}

static void test_vectors(void)
{
    char a[3];
    char b[4];
    const struct iovec out[] = {{.iov_base = (char *)"12", .iov_len = 2},
                                {.iov_base = (char *)"", .iov_len = 0},
                                {.iov_base = (char *)"34567", .iov_len = 5}};
    const struct iovec in[] = {{.iov_base = a, .iov_len = 3}, {.iov_base = b, .iov_len = 4}};
    struct banyan_sock_event event;

    connect_pair();
    is_int(banyan_sock_post_readv(near, in, 2, 7, NULL), 0, "K2: a read into two pieces");
    is_int(banyan_sock_post_writev(far, out, 3, 7, NULL), 0, "K2: a write from three");
    event = next_event();
    ok(is_event(&event, BANYAN_SOCK_WRITE, BANYAN_SOCK_OK, far), "K2: is done");
    event = next_event();
    ok(is_event(&event, BANYAN_SOCK_READ, BANYAN_SOCK_OK, near) && event.bytes == 7,
       "K2: and read");
    is_bytes(a, 3, "123", 3, "K2: the first piece");
    is_bytes(b, 4, "4567", 4, "K2: the second");
    close_pair();
}

static void test_large(void)
{
    unsigned char *out = malloc(LARGE_BYTES);
    unsigned char *in = calloc(1, LARGE_BYTES);
    int done = 0;

    for (size_t i = 0; i < LARGE_BYTES; i++)
        out[i] = (unsigned char)(i >> 4 ^ i);
    connect_pair();
    banyan_sock_post_write(far, out, LARGE_BYTES, LARGE_BYTES, NULL);
    banyan_sock_post_read(near, in, LARGE_BYTES, LARGE_BYTES, NULL);
    while (done < 2) {
        struct banyan_sock_event event = next_event();
        ok(event.status == BANYAN_SOCK_OK && event.bytes == LARGE_BYTES, "K2: 8 MiB one way");
        done++;
    }
    ok(memcmp(in, out, LARGE_BYTES) == 0, "K2: arrive as they were");
    close_pair();
    free(in);
    free(out);
}

static void test_at_once(void)
{
    char data[8];
    size_t bytes = 99;
    struct banyan_sock_event event;
    struct iovec vector = {.iov_base = data, .iov_len = sizeof(data)};

    connect_pair();
    is_int(banyan_sock_read(near, data, sizeof(data), &bytes), -EAGAIN,
           "K5: nothing can be read now");
    is_uint(bytes, 99, "K5: and nothing is said of it");
    is_int(banyan_sock_write(far, "now", 3, &bytes), 0, "K5: 3 bytes can be written now");
    is_uint(bytes, 3, "K5: are");
    banyan_sock_post_readable(near);
    event = next_event();
    ok(is_event(&event, BANYAN_SOCK_READABLE, BANYAN_SOCK_OK, near),
       "K5: something can be read, it is told");
    is_int(banyan_sock_readv(near, &vector, 1, &bytes), 0, "K5: is read");
    is_bytes(data, bytes, "now", 3, "K5: the same");
    banyan_sock_shutdown_write(far);
    banyan_sock_post_readable(near);
    event = next_event();
    ok(is_event(&event, BANYAN_SOCK_READABLE, BANYAN_SOCK_OK, near), "K5: the end can be read");
    is_int(banyan_sock_read(near, data, sizeof(data), &bytes), -EPIPE, "K5: and is the end");
    is_int(banyan_sock_writev(near, &vector, 1, &bytes), 0, "K5: the other direction goes on");
    close_pair();
}

static void test_errors(void)
{
    struct address nobody = listening;
    struct address bad = {.length_bytes = 7, .bytes = {5}};
    struct banyan_sock *sock = NULL;
    struct banyan_sock *closed = listen_on("127.0.0.2");
    struct banyan_sock_event event;
    struct error why = ERROR_NONE;
    char text[ADDRESS_TEXT_BYTES];

    nobody = listening;
    close_one(closed);
    banyan_sock_connect(set, &nobody, any_port, NULL, &sock, &why);
    event = next_event();
    ok(is_event(&event, BANYAN_SOCK_CONNECT, BANYAN_SOCK_REFUSED, sock),
       "K6: nobody listens: refused");
    is_int(event.system_error, ECONNREFUSED, "K6: the system's number is kept");
    banyan_sock_describe(&event, &why);
    has_string(why.text, banyan_sock_address_print(&nobody, text), "K6: the text names the peer");
    has_string(why.text, "Connection refused", "K6: and says what the system said");
    is_int(why.code, -ECONNREFUSED, "K6: the code too");
    close_one(sock);
    is_int(banyan_sock_connect(set, &bad, any_port, NULL, &sock, &why), -EINVAL,
           "K6: a bad address");
    is_int(banyan_sock_status_of(EINVAL), BANYAN_SOCK_BAD_ADDRESS, "K6: has its class");
    banyan_sock_local_address(listener, &listening);
    is_int(banyan_sock_listen(set, &listening, any_port, NULL, &sock, &why), -EADDRINUSE,
           "K6: a taken port");
    is_int(banyan_sock_status_of(EADDRINUSE), BANYAN_SOCK_NO_PORTS, "K6: has its class");
    has_string(why.text, banyan_sock_address_print(&listening, text), "K6: and its name");
}

static void test_peer_gone(void)
{
    struct linger hard = {.l_onoff = 1};
    struct banyan_sock_event event;
    struct error why;
    char data[8];

    connect_pair();
    banyan_sock_post_read(near, data, 8, 8, NULL);
    banyan_sock_post_write(far, "abc", 3, 3, NULL);
    close_one(far);
    event = next_event();
    ok(is_event(&event, BANYAN_SOCK_READ, BANYAN_SOCK_CLOSED_BY_PEER, near), "K6: the peer closed");
    is_uint(event.bytes, 3, "K6: what came before is told");
    banyan_sock_describe(&event, &why);
    has_string(why.text, "connection closed by peer", "K6: in words");
    close_one(near);
    connect_pair();
    banyan_sock_post_read(near, data, 8, 8, NULL);
    setsockopt(banyan_sock_fd(far), SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    close_one(far);
    event = next_event();
    ok(is_event(&event, BANYAN_SOCK_READ, BANYAN_SOCK_RESET, near), "K6: the peer reset");
    is_int(event.system_error, ECONNRESET, "K6: with the system's number");
    close_one(near);
}

/* A write with a range: it completes when at least so much has been taken by the system. */
static void test_write_range(void)
{
    char *data = calloc(1, 4 * LARGE_BYTES);
    struct banyan_sock_event event;
    size_t got = 0;
    size_t bytes = 0;

    connect_pair();
    banyan_sock_post_write(near, data, 1, 4 * LARGE_BYTES, NULL);
    event = next_event();
    ok(is_event(&event, BANYAN_SOCK_WRITE, BANYAN_SOCK_OK, near) && event.bytes >= 1 &&
           event.bytes < 4 * LARGE_BYTES,
       "K2: a write of 1 byte to 32 MiB is done with what fits: %zu", event.bytes);
    banyan_sock_shutdown_write(near);
    banyan_sock_post_readable(far);
    for (;;) {
        int rc = banyan_sock_post_readable(far);
        if (rc == 0 || rc == -EBUSY)
            (void)next_event();
        rc = banyan_sock_read(far, data, 4 * LARGE_BYTES, &bytes);
        if (rc == -EPIPE)
            break;
        got += rc == 0 ? bytes : 0;
    }
    is_uint(got, event.bytes, "K2: and exactly so much arrives");
    close_pair();
    free(data);
}

int main(void)
{
    world_open();
    test_connect();
    test_range();
    test_vectors();
    test_large();
    test_write_range();
    test_at_once();
    test_errors();
    test_peer_gone();
    world_close();
    return done_testing();
}

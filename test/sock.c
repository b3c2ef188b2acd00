/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows K1 to K6, K9, K10 and K12 of the socket layer; loopback only, nothing sleeps. */
#include "config.h"

#include "fabric/sock.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buffer.h"
#include "fabric/address.h"
#include "test/tap.h"

#define PATIENCE_MS 10000

static const struct sock_ports any_port;
static struct sock_set *set;
static struct sock *listener;
static struct address listening;

/* Two ends of a connection. */
static struct sock *near;
static struct sock *far;

static struct sock_event next_event(void)
{
    struct sock_event event = {.operation = SOCK_OPERATION_COUNT};

    if (sock_set_wait(set, PATIENCE_MS, &event) != 1)
        bail_out("an event does not come");
    return event;
}

static int is_event(const struct sock_event *event, enum sock_operation operation,
                    enum sock_status status, const struct sock *sock)
{
    return event->operation == operation && event->status == status && event->sock == sock;
}

static struct sock *listen_on(const char *text)
{
    struct address address;
    struct error error = ERROR_NONE;
    struct sock *sock = NULL;

    address_parse(text, &address, NULL);
    if (sock_listen(set, &address, any_port, NULL, &sock, &error) < 0)
        bail_out("%s", error.text);
    sock_local_address(sock, &listening);
    return sock;
}

static void connect_pair(void)
{
    struct error error = ERROR_NONE;

    if (sock_connect(set, &listening, any_port, NULL, &near, &error) < 0)
        bail_out("%s", error.text);
    far = NULL;
    for (int seen = 0; seen < 2; seen++) {
        struct sock_event event = next_event();
        if (event.operation == SOCK_ACCEPT)
            sock_accept(event.sock, set, NULL, &far, &error);
        else if (!is_event(&event, SOCK_CONNECT, SOCK_OK, near))
            bail_out("no connection");
    }
    if (far == NULL)
        bail_out("nothing was accepted: %s", error.text);
}

static void close_one(struct sock *sock)
{
    sock_post_close(sock);
    for (;;) {
        struct sock_event event = next_event();
        if (event.operation == SOCK_CLOSE && event.sock == sock)
            return;
    }
}

static void close_pair(void)
{
    close_one(near);
    close_one(far);
}

/* K1 */
static void test_connect(void)
{
    struct address address;
    char text[ADDRESS_TEXT_BYTES];
    struct address any;
    struct sock *v6 = NULL;

    ok(address_port(&listening) != 0, "listening on %s", address_print(&listening, text));
    connect_pair();
    sock_local_address(near, &address);
    ok(address_equal(&address, sock_peer_address(far)), "both ends know the same address");
    ok(address_equal(&listening, sock_peer_address(near)), "and the listener's");
    close_pair();
    address_parse("::1", &any, NULL);
    if (sock_listen(set, &any, any_port, NULL, &v6, NULL) == 0) {
        pass("IPv6 listens");
        close_one(v6);
    } else {
        skip(1, "no IPv6 here");
    }
}

static size_t updates[16];
static int update_count;

static void on_update(void *user, size_t bytes)
{
    if (update_count < 16)
        updates[update_count++] = bytes;
}

/* K2 */
static void test_range(void)
{
    char data[16];
    struct sock_event event;

    connect_pair();
    is_int(sock_post_read(near, data, 3, sizeof(data), on_update), 0, "3 to 16 bytes are wanted");
    update_count = 0;
    sock_post_write(far, "ab", 2, 2, NULL);
    event = next_event();
    ok(is_event(&event, SOCK_WRITE, SOCK_OK, far) && event.bytes == 2, "2 are written");
    is_int(sock_set_wait(set, 50, &event), 0, "2 are not enough");
    ok(update_count == 1 && updates[0] == 2, "but told as an update");
    sock_post_write(far, "cdefg", 5, 5, NULL);
    event = next_event();
    if (event.operation == SOCK_WRITE)
        event = next_event();
    ok(is_event(&event, SOCK_READ, SOCK_OK, near), "5 more are");
    is_uint(event.bytes, 7, "all that came is taken");
    is_bytes(data, event.bytes, "abcdefg", 7, "in order");
    sock_post_read(near, data, 0, sizeof(data), NULL);
    event = next_event();
    ok(is_event(&event, SOCK_READ, SOCK_OK, near) && event.bytes == 0, "a minimum of 0 is at once");
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
    struct sock_event event;

    connect_pair();
    is_int(sock_post_readv(near, in, 2, 7, NULL), 0, "a read into two pieces");
    is_int(sock_post_writev(far, out, 3, 7, NULL), 0, "a write from three");
    event = next_event();
    ok(is_event(&event, SOCK_WRITE, SOCK_OK, far), "is done");
    event = next_event();
    ok(is_event(&event, SOCK_READ, SOCK_OK, near) && event.bytes == 7, "and read");
    is_bytes(a, 3, "123", 3, "the first piece");
    is_bytes(b, 4, "4567", 4, "the second");
    close_pair();
}

#define LARGE_BYTES (8u * 1024 * 1024)

static void test_large(void)
{
    unsigned char *out = malloc(LARGE_BYTES);
    unsigned char *in = calloc(1, LARGE_BYTES);
    int done = 0;

    for (size_t i = 0; i < LARGE_BYTES; i++)
        out[i] = (unsigned char)(i >> 4 ^ i);
    connect_pair();
    sock_post_write(far, out, LARGE_BYTES, LARGE_BYTES, NULL);
    sock_post_read(near, in, LARGE_BYTES, LARGE_BYTES, NULL);
    while (done < 2) {
        struct sock_event event = next_event();
        ok(event.status == SOCK_OK && event.bytes == LARGE_BYTES, "8 MiB one way");
        done++;
    }
    ok(memcmp(in, out, LARGE_BYTES) == 0, "arrive as they were");
    close_pair();
    free(in);
    free(out);
}

static void *wake(void *context)
{
    sock_set_wakeup(set);
    return NULL;
}

static void *post(void *context)
{
    sock_post_write(far, "x", 1, 1, NULL);
    return NULL;
}

/* K3 */
static void test_threads(void)
{
    struct sock_event event;
    pthread_t thread;
    char byte = 0;

    is_int(sock_set_wait(set, 0, &event), 0, "nothing has happened");
    is_int(sock_set_wait(set, 10, &event), 0, "nor happens in 10 ms");
    pthread_create(&thread, NULL, wake, NULL);
    event = next_event();
    is_int(event.operation, SOCK_WAKEUP, "another thread wakes the waiter");
    pthread_join(thread, NULL);
    connect_pair();
    sock_post_read(near, &byte, 1, 1, NULL);
    pthread_create(&thread, NULL, post, NULL);
    event = next_event();
    ok(is_event(&event, SOCK_WRITE, SOCK_OK, far), "what another posts is told to the waiter");
    event = next_event();
    ok(is_event(&event, SOCK_READ, SOCK_OK, near) && byte == 'x', "and arrives");
    pthread_join(thread, NULL);
    close_pair();
}

/* Posts a write that cannot complete. */
static void *fill(struct sock *sock)
{
    void *data = calloc(1, LARGE_BYTES * 4);

    sock_post_write(sock, data, LARGE_BYTES * 4, LARGE_BYTES * 4, NULL);
    return data;
}

/* K4 */
static void test_close(void)
{
    struct sock_event event;
    struct error why;
    char data[8];
    void *filling;

    connect_pair();
    sock_post_read(near, data, 8, 8, NULL);
    filling = fill(near);
    is_int(sock_post_close(near), 0, "closed with a read and a write under way");
    event = next_event();
    ok(is_event(&event, SOCK_READ, SOCK_INTERRUPTED, near), "the read is interrupted");
    sock_describe(&event, &why);
    has_string(why.text, "interrupted by close", "and says so");
    event = next_event();
    ok(is_event(&event, SOCK_WRITE, SOCK_INTERRUPTED, near), "then the write");
    event = next_event();
    ok(is_event(&event, SOCK_CLOSE, SOCK_OK, near), "then the close is complete");
    close_one(far);
    free(filling);
}

static void test_close_connect(void)
{
    struct sock_event event;
    struct error error;
    struct sock *sock = NULL;
    struct sock *claimed = NULL;

    sock_connect(set, &listening, any_port, NULL, &sock, &error);
    sock_post_close(sock);
    event = next_event();
    ok(event.operation == SOCK_CONNECT || event.operation == SOCK_ACCEPT, "a connect ends");
    while (event.operation != SOCK_CLOSE)
        event = next_event();
    pass("before its close");
    while (sock_accept(listener, set, NULL, &claimed, NULL) == 0)
        close_one(claimed);
    sock_connect(set, &listening, any_port, NULL, &sock, &error);
    close_one(listener);
    pass("a listener with an unclaimed connection closes");
    close_one(sock);
    listener = listen_on("127.0.0.1");
}

/* K5 */
static void test_at_once(void)
{
    char data[8];
    size_t bytes = 99;
    struct sock_event event;
    struct iovec vector = {.iov_base = data, .iov_len = sizeof(data)};

    connect_pair();
    is_int(sock_read(near, data, sizeof(data), &bytes), -EAGAIN, "nothing can be read now");
    is_uint(bytes, 99, "and nothing is said of it");
    is_int(sock_write(far, "now", 3, &bytes), 0, "3 bytes can be written now");
    is_uint(bytes, 3, "are");
    sock_post_readable(near);
    event = next_event();
    ok(is_event(&event, SOCK_READABLE, SOCK_OK, near), "something can be read, it is told");
    is_int(sock_readv(near, &vector, 1, &bytes), 0, "is read");
    is_bytes(data, bytes, "now", 3, "the same");
    sock_shutdown_write(far);
    sock_post_readable(near);
    event = next_event();
    ok(is_event(&event, SOCK_READABLE, SOCK_OK, near), "the end can be read");
    is_int(sock_read(near, data, sizeof(data), &bytes), -EPIPE, "and is the end");
    is_int(sock_writev(near, &vector, 1, &bytes), 0, "the other direction goes on");
    close_pair();
}

/* K6 */
static void test_errors(void)
{
    struct address nobody = listening;
    struct address bad = {.length_bytes = 7, .bytes = {5}};
    struct sock *sock = NULL;
    struct sock *closed = listen_on("127.0.0.2");
    struct sock_event event;
    struct error why = ERROR_NONE;
    char text[ADDRESS_TEXT_BYTES];

    nobody = listening;
    close_one(closed);
    sock_connect(set, &nobody, any_port, NULL, &sock, &why);
    event = next_event();
    ok(is_event(&event, SOCK_CONNECT, SOCK_REFUSED, sock), "nobody listens: refused");
    is_int(event.system_error, ECONNREFUSED, "the system's number is kept");
    sock_describe(&event, &why);
    has_string(why.text, address_print(&nobody, text), "the text names the peer");
    has_string(why.text, "Connection refused", "and says what the system said");
    is_int(why.code, -ECONNREFUSED, "the code too");
    close_one(sock);
    is_int(sock_connect(set, &bad, any_port, NULL, &sock, &why), -EINVAL, "a bad address");
    is_int(sock_status_of(EINVAL), SOCK_BAD_ADDRESS, "has its class");
    sock_local_address(listener, &listening);
    is_int(sock_listen(set, &listening, any_port, NULL, &sock, &why), -EADDRINUSE, "a taken port");
    is_int(sock_status_of(EADDRINUSE), SOCK_NO_PORTS, "has its class");
    has_string(why.text, address_print(&listening, text), "and its name");
}

static void test_peer_gone(void)
{
    struct linger hard = {.l_onoff = 1};
    struct sock_event event;
    struct error why;
    char data[8];

    connect_pair();
    sock_post_read(near, data, 8, 8, NULL);
    sock_post_write(far, "abc", 3, 3, NULL);
    close_one(far);
    event = next_event();
    ok(is_event(&event, SOCK_READ, SOCK_CLOSED_BY_PEER, near), "the peer closed");
    is_uint(event.bytes, 3, "what came before is told");
    sock_describe(&event, &why);
    has_string(why.text, "connection closed by peer", "in words");
    close_one(near);
    connect_pair();
    sock_post_read(near, data, 8, 8, NULL);
    setsockopt(sock_fd(far), SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    close_one(far);
    event = next_event();
    ok(is_event(&event, SOCK_READ, SOCK_RESET, near), "the peer reset");
    is_int(event.system_error, ECONNRESET, "with the system's number");
    close_one(near);
}

/* K7, as far as links need it */
static void test_ports(void)
{
    struct address address;
    struct sock *first = listen_on("127.0.0.3");
    struct sock_ports range = {.first = address_port(&listening), .last = address_port(&listening)};
    struct sock *second = NULL;
    struct error why = ERROR_NONE;

    address_parse("127.0.0.3", &address, NULL);
    is_int(sock_listen(set, &address, range, NULL, &second, &why), -EADDRINUSE,
           "a range of ports that is used up");
    close_one(first);
    is_int(sock_listen(set, &address, range, NULL, &second, &why), 0, "can be used again");
    close_one(second);
    sock_local_address(listener, &listening);
}

/* K9 */
static void test_adopt(void)
{
    int fds[2];
    int marker = 0;
    struct sock *one = NULL;
    struct sock *two = NULL;
    struct sock_event event;
    char data[4];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
        bail_out("socketpair");
    is_int(sock_adopt(set, fds[0], NULL, &one, NULL), 0, "a descriptor is adopted");
    sock_adopt(set, fds[1], NULL, &two, NULL);
    ok(sock_id(one) != sock_id(two) && sock_id(one) != sock_set_id(set), "ids differ");
    sock_set_user(one, &marker);
    ok(sock_user(one) == &marker, "a user pointer is kept");
    sock_post_read(one, data, 4, 4, NULL);
    sock_post_write(two, "four", 4, 4, NULL);
    event = next_event();
    event = next_event();
    ok(event.user == &marker, "and told");
    close_one(one);
    close_one(two);
}

/* K10 */
static void test_misuse(void)
{
    char data[4];
    size_t bytes;
    struct sock_event event;

    connect_pair();
    is_int(sock_post_read(near, data, 5, 4, NULL), -EINVAL, "more than the maximum is wanted");
    is_int(sock_post_read(near, data, 0, 0, NULL), -EINVAL, "nothing is wanted");
    is_int(sock_post_write(near, data, 0, 0, NULL), -EINVAL, "nothing is written");
    sock_post_read(near, data, 4, 4, NULL);
    is_int(sock_post_read(near, data, 4, 4, NULL), -EBUSY, "a second read");
    is_int(sock_read(near, data, 4, &bytes), -EBUSY, "a read beside a posted one");
    is_int(sock_post_read(listener, data, 4, 4, NULL), -ENOTCONN, "a read from a listener");
    is_int(sock_set_destroy(set), -EBUSY, "a set with socks is destroyed");
    sock_post_close(near);
    is_int(sock_post_close(near), -ESHUTDOWN, "a second close");
    is_int(sock_post_write(near, data, 4, 4, NULL), -ESHUTDOWN, "a write after the close");
    do
        event = next_event();
    while (event.operation != SOCK_CLOSE);
    close_one(far);
}

static int is_readable(void)
{
    struct pollfd poll_fd = {.fd = sock_set_fd(set), .events = POLLIN};

    return poll(&poll_fd, 1, 0) == 1;
}

static void drain(int *ret_count)
{
    struct sock_event event;

    *ret_count = 0;
    while (sock_set_wait(set, 0, &event) == 1)
        (*ret_count)++;
}

/* K12: whatever an outer loop does not know of makes the descriptor readable. */
static void test_outer_loop(void)
{
    char data[4];
    int count;

    connect_pair();
    drain(&count);
    drain(&count);
    ok(!is_readable(), "nothing to do: not readable");
    sock_post_write(far, "abcd", 4, 4, NULL);
    ok(is_readable(), "a write that was done at once: readable");
    drain(&count);
    is_int(count, 1, "one event");
    sock_post_read(near, data, 4, 4, NULL);
    while (!is_readable())
        ;
    drain(&count);
    is_int(count, 1, "one more");
    drain(&count);
    ok(!is_readable(), "then nothing");
    sock_set_wakeup(set);
    ok(is_readable(), "a wake-up: readable");
    drain(&count);
    is_int(count, 1, "once");
    drain(&count);
    ok(!is_readable(), "and no longer");
    close_pair();
}

/* K13 in small: end and data in one event lose neither. */
static void test_end_with_data(void)
{
    char data[64];
    size_t bytes = 0;
    struct sock_event event;

    for (int i = 0; i < 100; i++) {
        connect_pair();
        sock_write(far, "last words", 10, &bytes);
        close_one(far);
        sock_post_readable(near);
        do
            event = next_event();
        while (event.operation != SOCK_READABLE);
        if (sock_read(near, data, sizeof(data), &bytes) != 0 || bytes != 10)
            fail("the last words");
        sock_post_readable(near);
        event = next_event();
        if (event.operation != SOCK_READABLE ||
            sock_read(near, data, sizeof(data), &bytes) != -EPIPE)
            fail("the end after the last words");
        close_one(near);
    }
    pass("100 peers that wrote and closed are read to the end");
}

int main(void)
{
    struct error error = ERROR_NONE;

    if (sock_set_create(&set, &error) < 0)
        bail_out("%s", error.text);
    listener = listen_on("127.0.0.1");
    test_connect();
    test_range();
    test_vectors();
    test_large();
    test_threads();
    test_close();
    test_close_connect();
    test_at_once();
    test_errors();
    test_peer_gone();
    test_ports();
    test_adopt();
    test_misuse();
    test_outer_loop();
    test_end_with_data();
    close_one(listener);
    is_int(sock_set_destroy(set), 0, "the set is destroyed");
    return done_testing();
}

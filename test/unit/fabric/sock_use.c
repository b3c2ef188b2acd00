/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows K7 to K10 of the socket layer: ports, the own host, adopting, and each misuse. */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test/support/sock_world.h"
#include "test/support/tap.h"

static void test_ports(void)
{
    struct address address;
    struct banyan_sock *first = listen_on("127.0.0.3");
    struct banyan_sock_ports range = {.first = banyan_sock_address_port(&listening),
                                      .last = banyan_sock_address_port(&listening)};
    struct banyan_sock *second = NULL;
    struct error why = ERROR_NONE;

    banyan_sock_address_parse("127.0.0.3", &address, NULL);
    is_int(banyan_sock_listen(set, &address, range, NULL, &second, &why), -EADDRINUSE,
           "K7: a range of ports that is used up");
    close_one(first);
    is_int(banyan_sock_listen(set, &address, range, NULL, &second, &why), 0,
           "K7: can be used again");
    close_one(second);
    banyan_sock_local_address(listener, &listening);
}

/* What is no range, and a port outside of one, is an error of its own; inside, it is taken. */
static void test_port_ranges(void)
{
    struct banyan_sock_ports odd[] = {{.first = 0, .last = 10}, {.first = 10, .last = 5}};
    struct banyan_sock_ports range;
    struct banyan_sock *sock = listen_on("127.0.0.3");
    struct address address = listening;
    uint16_t port = banyan_sock_address_port(&listening);
    struct error why = ERROR_NONE;

    close_one(sock);
    banyan_sock_local_address(listener, &listening);
    for (int i = 0; i < 2; i++) {
        is_int(banyan_sock_listen(set, &listening, odd[i], NULL, &sock, &why), -ERANGE,
               "K7: %s is not a range of ports", i == 0 ? "0-10" : "10-5");
        is_int(banyan_sock_connect(set, &listening, odd[i], NULL, &sock, &why), -ERANGE,
               "K7: nor to connect from");
        has_string(why.text, i == 0 ? "0-10" : "10-5", "K7: which it is, is told");
    }
    is_int(banyan_sock_status_of(ERANGE), BANYAN_SOCK_BAD_PORTS, "K7: its class");
    range = (struct banyan_sock_ports){.first = 1, .last = (uint16_t)(port - 1)};
    is_int(banyan_sock_listen(set, &address, range, NULL, &sock, &why), -ERANGE,
           "K7: a port above the range");
    range = (struct banyan_sock_ports){.first = (uint16_t)(port + 1), .last = UINT16_MAX};
    is_int(banyan_sock_listen(set, &address, range, NULL, &sock, &why), -ERANGE,
           "K7: a port below it");
    range = (struct banyan_sock_ports){.first = 1, .last = UINT16_MAX};
    is_int(banyan_sock_listen(set, &address, range, NULL, &sock, &why), 0, "K7: one inside of it");
    banyan_sock_local_address(sock, &address);
    is_uint(banyan_sock_address_port(&address), port, "K7: is taken, and no other");
    close_one(sock);
}

static void test_not_local(void)
{
    struct address address;
    struct banyan_sock *sock = NULL;
    struct error why = ERROR_NONE;
    int rc;

    banyan_sock_address_parse("192.0.2.1", &address, NULL); /* RFC 5737: of documentation */
    rc = banyan_sock_listen(set, &address, any_port, NULL, &sock, &why);
    if (rc == 0) {
        close_one(sock);
        skip(3, "K6: this system listens on any address (ip_nonlocal_bind)");
        return;
    }
    is_int(rc, -EADDRNOTAVAIL, "K6: listening on an address of another machine");
    is_int(banyan_sock_status_of(-rc), BANYAN_SOCK_NOT_LOCAL, "K6: has its own class");
    has_string(why.text, "192.0.2.1", "K6: and its name");
}

static void test_adopt_refused(void)
{
    struct banyan_sock *sock = NULL;
    struct error why = ERROR_NONE;
    int fds[2];
    int fd;

    if (pipe(fds) < 0)
        bail_out("pipe");
    is_int(banyan_sock_adopt(set, fds[0], NULL, &sock, &why), -ENOTSOCK, "K9: no pipe is adopted");
    is_int(close(fds[0]), 0, "K9: it is left open");
    close(fds[1]);
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    is_int(banyan_sock_adopt(set, fd, NULL, &sock, &why), -ENOTCONN, "K9: nor what is unconnected");
    listen(fd, 1);
    is_int(banyan_sock_adopt(set, fd, NULL, &sock, &why), -EINVAL, "K9: nor a listener");
    has_string(why.text, "it listens", "K9: which is told");
    close(fd);
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, fds) < 0)
        bail_out("socketpair");
    is_int(banyan_sock_adopt(set, fds[0], NULL, &sock, &why), -EPROTOTYPE, "K9: nor datagrams");
    close(fds[0]);
    close(fds[1]);
}

static void test_adopt(void)
{
    int fds[2];
    int marker = 0;
    struct banyan_sock *one = NULL;
    struct banyan_sock *two = NULL;
    struct banyan_sock_event event;
    char data[4];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
        bail_out("socketpair");
    is_int(banyan_sock_adopt(set, fds[0], NULL, &one, NULL), 0, "K9: a descriptor is adopted");
    banyan_sock_adopt(set, fds[1], NULL, &two, NULL);
    ok(banyan_sock_id(one) != banyan_sock_id(two) && banyan_sock_id(one) != banyan_sock_set_id(set),
       "K9: ids differ");
    banyan_sock_set_user(one, &marker);
    ok(banyan_sock_user(one) == &marker, "K9: a user pointer is kept");
    banyan_sock_post_read(one, data, 4, 4, NULL);
    banyan_sock_post_write(two, "four", 4, 4, NULL);
    event = next_event();
    event = next_event();
    ok(event.user == &marker, "K9: and told");
    close_one(one);
    close_one(two);
}

static void test_misuse(void)
{
    char data[4];
    size_t bytes;
    struct banyan_sock_event event;

    connect_pair();
    is_int(banyan_sock_post_read(near, data, 5, 4, NULL), -EINVAL,
           "K10: more than the maximum is wanted");
    is_int(banyan_sock_post_read(near, data, 0, 0, NULL), -EINVAL, "K10: nothing is wanted");
    is_int(banyan_sock_post_write(near, data, 0, 0, NULL), -EINVAL, "K10: nothing is written");
    banyan_sock_post_read(near, data, 4, 4, NULL);
    is_int(banyan_sock_post_read(near, data, 4, 4, NULL), -EBUSY, "K10: a second read");
    is_int(banyan_sock_read(near, data, 4, &bytes), -EBUSY, "K10: a read beside a posted one");
    is_int(banyan_sock_post_read(listener, data, 4, 4, NULL), -ENOTCONN,
           "K10: a read from a listener");
    is_int(banyan_sock_set_destroy(set), -EBUSY, "K10: a set with socks is destroyed");
    banyan_sock_post_close(near);
    is_int(banyan_sock_post_close(near), -ESHUTDOWN, "K10: a second close");
    is_int(banyan_sock_post_write(near, data, 4, 4, NULL), -ESHUTDOWN,
           "K10: a write after the close");
    do
        event = next_event();
    while (event.operation != BANYAN_SOCK_CLOSE);
    close_one(far);
}

/* A free port: one that was given back. */
static uint16_t free_port(void)
{
    struct address saved = listening;
    struct banyan_sock *sock = listen_on("127.0.0.4");
    uint16_t port = banyan_sock_address_port(&listening);

    close_one(sock);
    listening = saved;
    return port;
}

static bool is_free(uint16_t port)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool free = fd >= 0 && bind(fd, (struct sockaddr *)&any, sizeof(any)) == 0;

    if (fd >= 0)
        close(fd);
    return free;
}

/* A free port that another one follows: others on this machine may have it. */
static uint16_t free_pair(void)
{
    uint16_t port = free_port();

    for (int tries = 0; tries < 100 && (port == UINT16_MAX || !is_free(port + 1)); tries++)
        port = free_port();
    return port;
}

/* One port for every connection: it serves as many as have different other ends. */
static void test_connect_ports(void)
{
    struct banyan_sock_ports one = {.first = free_pair(), .last = 0};
    struct banyan_sock *first = NULL;
    struct banyan_sock *second = NULL;
    struct address own;
    struct error why = ERROR_NONE;
    struct banyan_sock_event event;

    one.last = one.first;
    is_int(banyan_sock_connect(set, &listening, one, NULL, &first, &why), 0,
           "K7: one port is allowed");
    do
        event = next_event();
    while (event.operation != BANYAN_SOCK_CONNECT);
    is_int(event.status, BANYAN_SOCK_OK, "K7: the connection stands");
    banyan_sock_local_address(first, &own);
    is_uint(banyan_sock_address_port(&own), one.first, "K7: from that port");
    is_int(banyan_sock_connect(set, &listening, one, NULL, &second, &why), 0, "K7: a second one");
    do
        event = next_event();
    while (event.operation != BANYAN_SOCK_CONNECT);
    is_int(event.status, BANYAN_SOCK_NO_PORTS, "K7: finds the range used up");
    is_int(event.system_error, EADDRINUSE, "K7: with its number");
    close_one(second);
    one.last++;
    is_int(banyan_sock_connect(set, &listening, one, NULL, &second, &why), 0, "K7: a range of two");
    do
        event = next_event();
    while (event.operation != BANYAN_SOCK_CONNECT);
    banyan_sock_local_address(second, &own);
    ok(event.status == BANYAN_SOCK_OK && banyan_sock_address_port(&own) == one.last,
       "K7: has one more");
    while (banyan_sock_accept(listener, set, NULL, &far, NULL) == 0)
        close_one(far);
    close_one(first);
    close_one(second);
    drain();
}

static void test_host(void)
{
    char text[4096] = "untouched";
    char name[256] = "";
    struct error why = ERROR_NONE;
    struct address list[4];

    is_int(banyan_sock_describe_host("lo", text, sizeof(text), &why), 0,
           "K8: this host is described");
    gethostname(name, sizeof(name) - 1);
    has_string(text, name, "K8: by its name");
    has_string(text, " 127.0.0.1", "K8: and the addresses of the interface that was asked for");
    is_int(banyan_sock_describe_host("127.0.0.0/8", text, sizeof(text), &why), 0,
           "K8: or of a CIDR");
    has_string(text, " 127.0.0.1", "K8: the same");
    strcpy(text, "untouched");
    is_int(banyan_sock_describe_host("lo", text, 5, &why), -ENOSPC,
           "K10: a buffer that is too short");
    is_string(text, "untouched", "K10: is left alone");
    has_string(why.text, "bytes, not 5", "K10: and what is needed is told");
    is_int(banyan_sock_describe_host("nosuchinterface0", text, sizeof(text), &why), -ENODEV,
           "K8: an interface that is not there");
    is_int(banyan_sock_describe_host("10.0.0.0/99", text, sizeof(text), &why), -EINVAL,
           "K8: a CIDR that is none");
    ok(banyan_sock_host_addresses(NULL, list, 4, &why) > 0, "K8: all addresses without a filter");
    is_int(banyan_sock_host_addresses("127.0.0.1", list, 4, &why), 1, "K8: one that is asked for");
    is_string(banyan_sock_address_print(&list[0], text), "127.0.0.1", "K8: is told");
    list[0] = (struct address){0};
    is_int(banyan_sock_host_addresses("127.0.0.1", list, 0, &why), 1,
           "K8: is counted without room");
    is_uint(list[0].length_bytes, 0, "K8: and not written");
}

static void test_ids(void)
{
    struct banyan_sock_set *other = NULL;
    uint64_t id = banyan_sock_id(listener);
    uint64_t set_id;

    banyan_sock_set_create(&other, NULL);
    set_id = banyan_sock_set_id(other);
    ok(set_id != banyan_sock_set_id(set) && set_id != id,
       "K9: each set and sock has an id of its own");
    banyan_sock_set_destroy(other);
    banyan_sock_set_create(&other, NULL);
    ok(banyan_sock_set_id(other) != set_id, "K9: that no other has after it");
    banyan_sock_set_destroy(other);
    is_int(banyan_sock_adopt(set, -1, NULL, &near, NULL), -EBADF,
           "K9: what is no descriptor is refused");
}

static void test_misuse_sizes(void)
{
    char data[4];
    size_t bytes = 99;
    struct iovec huge[] = {{.iov_base = data, .iov_len = SIZE_MAX},
                           {.iov_base = data, .iov_len = 4}};
    struct iovec vector = {.iov_base = data, .iov_len = 4};

    connect_pair();
    is_int(banyan_sock_read(near, data, 0, &bytes), -EINVAL, "K10: a read of nothing is no end");
    is_int(banyan_sock_write(near, data, 0, &bytes), -EINVAL,
           "K10: nor is a write of nothing anything");
    is_uint(bytes, 99, "K10: and nothing is said of bytes");
    is_int(banyan_sock_post_readv(near, huge, 2, 1, NULL), -EINVAL, "K10: sizes beyond all memory");
    is_int(banyan_sock_writev(near, huge, 2, &bytes), -EINVAL, "K10: at once, too");
    is_int(banyan_sock_post_readv(near, &vector, 0, 1, NULL), -EINVAL, "K10: no piece at all");
    is_int(banyan_sock_readv(near, &vector, BANYAN_SOCK_VECTORS_MAX + 1, &bytes), -EINVAL,
           "K10: too many");
    is_int(banyan_sock_post_writev(near, &vector, -1, 1, NULL), -EINVAL, "K10: less than none");
    is_int(banyan_sock_set_wait(set, 0, &(struct banyan_sock_event){0}), 0,
           "K10: none of them has an event");
    close_pair();
}

static void test_misuse_states(void)
{
    struct banyan_sock_event event;
    struct banyan_sock *sock = NULL;
    char data[4];
    size_t bytes;

    banyan_sock_connect(set, &listening, any_port, NULL, &sock, NULL);
    is_int(banyan_sock_post_read(sock, data, 1, 4, NULL), -ENOTCONN,
           "K10: a read before the connection");
    is_int(banyan_sock_write(sock, data, 4, &bytes), -ENOTCONN, "K10: a write before it");
    is_int(banyan_sock_post_write(sock, data, 4, 4, NULL), -ENOTCONN, "K10: one that is posted");
    is_int(banyan_sock_shutdown_write(sock), -ENOTCONN, "K10: an end before the connection");
    is_int(banyan_sock_listener_pause(sock, 1), -EINVAL, "K10: a pause of no listener");
    is_int(banyan_sock_accept(sock, set, NULL, &near, NULL), -EINVAL,
           "K10: an accept of no listener");
    do
        event = next_event();
    while (event.operation != BANYAN_SOCK_CONNECT);
    banyan_sock_post_close(sock);
    is_int(banyan_sock_read(sock, data, 4, &bytes), -ESHUTDOWN, "K10: a read after the close");
    is_int(banyan_sock_post_readable(sock), -ESHUTDOWN, "K10: a wait for bytes after it");
    is_int(banyan_sock_shutdown_write(sock), -ESHUTDOWN, "K10: an end after it");
    is_int(banyan_sock_fd(sock), -1, "K10: there is no descriptor after it");
    do
        event = next_event();
    while (event.operation != BANYAN_SOCK_CLOSE);
    while (banyan_sock_accept(listener, set, NULL, &far, NULL) == 0)
        close_one(far);
    drain();
}

int main(void)
{
    world_open();
    test_ports();
    test_port_ranges();
    test_not_local();
    test_connect_ports();
    test_host();
    test_adopt();
    test_adopt_refused();
    test_ids();
    test_misuse();
    test_misuse_sizes();
    test_misuse_states();
    world_close();
    return done_testing();
}

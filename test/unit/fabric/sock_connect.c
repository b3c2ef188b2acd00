/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connecting of the socket layer (rows K6, K8, K11): to a machine of several addresses, with settings
 * for silent peers, and what is told when nothing answers.
 */
#include "config.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "test/support/sock_world.h"
#include "test/support/tap.h"

#define SILENT_FDS 5
#define NOBODY     "127.0.0.77"
#define NOWHERE    "224.0.0.1" /* TCP goes to no group: the system says so at once */

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static struct banyan_sock *connect_host(const char *description)
{
    struct banyan_sock *sock = NULL;
    struct error error = ERROR_NONE;

    if (banyan_sock_connect_host(set, description, banyan_sock_address_port(&listening), any_port,
                                 NULL, &sock, &error) < 0)
        bail_out("%s", error.text);
    return sock;
}

/* The end of a connect; what is accepted meanwhile is closed. */
static struct banyan_sock_event connect_event(void)
{
    for (;;) {
        struct banyan_sock_event event = next_event();
        if (event.operation == BANYAN_SOCK_CONNECT)
            return event;
    }
}

static void close_accepted(void)
{
    struct banyan_sock *sock;

    while (banyan_sock_accept(listener, set, NULL, &sock, NULL) == 0)
        close_one(sock);
    drain();
}

static void check_connected(struct banyan_sock *sock, const char *what)
{
    struct banyan_sock_event event = connect_event();
    char text[ADDRESS_TEXT_BYTES];
    size_t bytes = 0;

    ok(is_event(&event, BANYAN_SOCK_CONNECT, BANYAN_SOCK_OK, sock), "K11: %s", what);
    ok(is_same_address(banyan_sock_peer_address(sock), &listening), "K11: the peer is the one: %s",
       banyan_sock_address_print(banyan_sock_peer_address(sock), text));
    is_int(banyan_sock_write(sock, "word", 4, &bytes), 0, "K11: it can be written to");
    close_one(sock);
    close_accepted();
}

static void test_description(void)
{
    char text[4096];

    if (banyan_sock_describe_host("lo", text, sizeof(text), NULL) < 0)
        bail_out("this host");
    check_connected(connect_host(text), "a connection to what describe_host says");
    check_connected(connect_host("somewhere " NOBODY " " NOWHERE " 127.0.0.1"),
                    "refused by the first, without a way to the second: the third");
    check_connected(connect_host("127.0.0.1 " NOBODY),
                    "an address without a name, the first of two");
}

/* One that says nothing holds up the next for a quarter of a second. */
static void test_silent_first(void)
{
    int fds[SILENT_FDS];
    char text[2 * ADDRESS_TEXT_BYTES];
    char one[ADDRESS_TEXT_BYTES];
    struct address silent = full_listener(fds, SILENT_FDS);
    int64_t start_ms = now_ms();

    snprintf(text, sizeof(text), "here %s 127.0.0.1", banyan_sock_address_print(&silent, one));
    check_connected(connect_host(text), "one that does not answer, then one that does");
    ok(now_ms() - start_ms >= 250, "K11: after a quarter of a second: %lld ms",
       (long long)(now_ms() - start_ms));
    for (int i = 0; i < SILENT_FDS; i++)
        close(fds[i]);
}

static void test_none_answers(void)
{
    struct banyan_sock *sock = connect_host(NOWHERE " " NOBODY);
    struct banyan_sock_event event = connect_event();
    struct error why;

    ok(is_event(&event, BANYAN_SOCK_CONNECT, BANYAN_SOCK_REFUSED, sock),
       "K11: all fail: the first that is there says why");
    is_int(event.system_error, ECONNREFUSED, "K6: with the system's number");
    banyan_sock_describe(&event, &why);
    has_string(why.text, NOWHERE ":", "K6: the text names the first");
    has_string(why.text, "unreachable; " NOBODY ":", "K6: what it said, and the second");
    has_string(why.text, "Connection refused", "K6: and what that said");
    close_one(sock);
    sock = connect_host(NOWHERE);
    event = connect_event();
    is_int(event.status, BANYAN_SOCK_UNREACHABLE, "K6: nowhere to go to has its class");
    close_one(sock);
}

static void test_close_race(void)
{
    int fds[SILENT_FDS];
    char text[3 * ADDRESS_TEXT_BYTES];
    char one[ADDRESS_TEXT_BYTES];
    struct address silent = full_listener(fds, SILENT_FDS);
    struct banyan_sock_event event;
    struct banyan_sock *sock;

    banyan_sock_address_print(&silent, one);
    snprintf(text, sizeof(text), "%s %s %s", one, one, one);
    sock = connect_host(text);
    is_int(banyan_sock_set_wait(set, 300, &event), 0, "K4: two of three are under way");
    banyan_sock_post_close(sock);
    event = next_event();
    ok(is_event(&event, BANYAN_SOCK_CONNECT, BANYAN_SOCK_INTERRUPTED, sock), "K4: interrupted");
    banyan_sock_describe(&event, &(struct error){0});
    event = next_event();
    ok(is_event(&event, BANYAN_SOCK_CLOSE, BANYAN_SOCK_OK, sock), "K4: and closed");
    is_int(banyan_sock_set_wait(set, 300, &event), 0, "K4: nothing comes after it");
    for (int i = 0; i < SILENT_FDS; i++)
        close(fds[i]);
}

static int refusal(const char *description, uint16_t port)
{
    struct banyan_sock *sock = NULL;

    return banyan_sock_connect_host(set, description, port, any_port, NULL, &sock, NULL);
}

static void test_bad_descriptions(void)
{
    char many[(BANYAN_SOCK_ADDRESSES_MAX + 1) * 10 + 1] = "";

    is_int(refusal("", 1), -EINVAL, "K10: an empty description");
    is_int(refusal("n0412", 1), -EINVAL, "K10: a name alone is not looked up");
    is_int(refusal("n0412 127.0.0.1 n0413", 1), -EINVAL, "K10: a second name");
    is_int(refusal("n0412 127.0.0.1", 0), -EINVAL, "K10: no port");
    for (int i = 0; i <= BANYAN_SOCK_ADDRESSES_MAX; i++)
        strcat(many, "127.0.0.1 ");
    is_int(refusal(many, 1), -E2BIG, "K10: more addresses than a machine has");
    is_int(banyan_sock_set_wait(set, 0, &(struct banyan_sock_event){0}), 0,
           "K10: no event of them");
}

/* ---- Silent peers ---- */

static int option(const struct banyan_sock *sock, int level, int name)
{
    int value = -1;
    socklen_t bytes = sizeof(value);

    getsockopt(banyan_sock_fd(sock), level, name, &value, &bytes);
    return value;
}

static void test_settings(void)
{
    struct banyan_sock *sock;
    int fds[2];

    banyan_sock_set_keep_alive(listener, 9, 3, 2);
    sock = connect_host(NOBODY " 127.0.0.1");
    is_int(banyan_sock_set_keep_alive(sock, 4, 1, 4), 0, "K13: keep-alive of one that connects");
    is_int(banyan_sock_set_user_timeout(sock, 8000), 0, "K13: and a time-out");
    is_int(connect_event().status, BANYAN_SOCK_OK, "K13: it connects");
    ok(option(sock, SOL_SOCKET, SO_KEEPALIVE) == 1 &&
           option(sock, IPPROTO_TCP, TCP_KEEPIDLE) == 4 &&
           option(sock, IPPROTO_TCP, TCP_KEEPINTVL) == 1 &&
           option(sock, IPPROTO_TCP, TCP_KEEPCNT) == 4,
       "K13: the connection has it");
    is_int(option(sock, IPPROTO_TCP, TCP_USER_TIMEOUT), 8000, "K13: and the time-out");
    is_int(banyan_sock_set_keep_alive(sock, 4, 0, 4), -EINVAL, "K10: no interval");
    is_int(banyan_sock_set_keep_alive(sock, 1u << 20, 1, 1), -EINVAL, "K10: 12 days");
    ok(option(sock, IPPROTO_TCP, TCP_KEEPIDLE) == 4, "K10: change nothing");
    is_int(banyan_sock_set_keep_alive(sock, 0, 0, 0), 0, "K13: it can be taken back");
    is_int(option(sock, SOL_SOCKET, SO_KEEPALIVE), 0, "K13: and is gone");
    banyan_sock_accept(listener, set, NULL, &far, NULL);
    is_int(option(far, IPPROTO_TCP, TCP_KEEPIDLE), 9, "K13: what is accepted has the listener's");
    banyan_sock_set_keep_alive(listener, 0, 0, 0);
    close_one(far);
    banyan_sock_post_close(sock);
    is_int(banyan_sock_set_user_timeout(sock, 1), -ESHUTDOWN, "K10: a closed one has none");
    while (next_event().operation != BANYAN_SOCK_CLOSE)
        ;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0 ||
        banyan_sock_adopt(set, fds[0], NULL, &sock, NULL) < 0)
        bail_out("socketpair");
    is_int(banyan_sock_set_user_timeout(sock, 1), -EOPNOTSUPP, "K10: nor has one that is no TCP");
    close_one(sock);
    close(fds[1]);
}

/* Nobody answers: the time-out ends it long before the system would. */
static void test_timed_out(void)
{
    int fds[SILENT_FDS];
    struct address silent = full_listener(fds, SILENT_FDS);
    struct banyan_sock_event event;
    struct banyan_sock *sock = NULL;
    struct error why;

    banyan_sock_connect(set, &silent, any_port, NULL, &sock, NULL);
    banyan_sock_set_user_timeout(sock, 500);
    event = connect_event();
    ok(is_event(&event, BANYAN_SOCK_CONNECT, BANYAN_SOCK_TIMED_OUT, sock),
       "K6: a connect that times out has its class");
    is_int(event.system_error, ETIMEDOUT, "K6: and number");
    banyan_sock_describe(&event, &why);
    has_string(why.text, "Connection timed out", "K6: and text");
    close_one(sock);
    for (int i = 0; i < SILENT_FDS; i++)
        close(fds[i]);
}

static void test_no_descriptors(void)
{
    struct banyan_sock *sock = NULL;
    struct rlimit saved;
    struct rlimit none;
    int rc;

    getrlimit(RLIMIT_NOFILE, &saved);
    none = saved;
    none.rlim_cur = 3;
    setrlimit(RLIMIT_NOFILE, &none);
    rc = banyan_sock_connect(set, &listening, any_port, NULL, &sock, NULL);
    setrlimit(RLIMIT_NOFILE, &saved);
    is_int(rc, 0, "K6: a connect without descriptors");
    is_int(connect_event().status, BANYAN_SOCK_NO_DESCRIPTORS, "K6: ends with its class");
    is_int(banyan_sock_post_write(sock, "x", 1, 1, NULL), -ENOTCONN,
           "K10: and cannot be written to");
    close_one(sock);
}

/* ---- Classes ---- */

static void test_classes(void)
{
    static const struct {
        int system_error;
        enum banyan_sock_status status;
    } classes[] = {
        {0, BANYAN_SOCK_OK},
        {ECONNREFUSED, BANYAN_SOCK_REFUSED},
        {ETIMEDOUT, BANYAN_SOCK_TIMED_OUT},
        {ECONNRESET, BANYAN_SOCK_RESET},
        {EPIPE, BANYAN_SOCK_RESET},
        {EHOSTUNREACH, BANYAN_SOCK_UNREACHABLE},
        {ENETUNREACH, BANYAN_SOCK_UNREACHABLE},
        {EHOSTDOWN, BANYAN_SOCK_UNREACHABLE},
        {ENETDOWN, BANYAN_SOCK_UNREACHABLE},
        {ENOBUFS, BANYAN_SOCK_NO_BUFFERS},
        {ENOMEM, BANYAN_SOCK_NO_BUFFERS},
        {EMFILE, BANYAN_SOCK_NO_DESCRIPTORS},
        {ENFILE, BANYAN_SOCK_NO_DESCRIPTORS},
        {EADDRINUSE, BANYAN_SOCK_NO_PORTS},
        {ERANGE, BANYAN_SOCK_BAD_PORTS},
        {EADDRNOTAVAIL, BANYAN_SOCK_NOT_LOCAL},
        {EAFNOSUPPORT, BANYAN_SOCK_BAD_ADDRESS},
        {EINVAL, BANYAN_SOCK_BAD_ADDRESS},
        {ECANCELED, BANYAN_SOCK_INTERRUPTED},
        {EACCES, BANYAN_SOCK_FAILED},
        {EIO, BANYAN_SOCK_FAILED},
    };
    int alike = 0;

    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
        is_int(banyan_sock_status_of(classes[i].system_error), classes[i].status, "K6: class of %s",
               strerror(classes[i].system_error));
    for (int i = 0; i < BANYAN_SOCK_STATUS_COUNT; i++)
        for (int j = 0; j < i; j++)
            alike += strcmp(banyan_sock_status_text((enum banyan_sock_status)i),
                            banyan_sock_status_text((enum banyan_sock_status)j)) == 0;
    is_int(alike, 0, "K6: each class has words of its own");
    is_string(banyan_sock_status_text(BANYAN_SOCK_STATUS_COUNT), "?", "K6: what is none has none");
}

int main(void)
{
    world_open();
    test_description();
    test_silent_first();
    test_none_answers();
    test_close_race();
    test_bad_descriptions();
    test_settings();
    test_timed_out();
    test_no_descriptors();
    test_classes();
    world_close();
    return done_testing();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Listeners of the socket layer (rows K1, K7, K10, K13): ports that many want at once, pausing, a
 * process without descriptors, accepting into another set, and what IPv6 leaves to IPv4.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test/support/sock_world.h"
#include "test/support/tap.h"

#define ROUNDS  100
#define THREADS 4
#define EACH    4  /* listeners of a thread */
#define PORTS   24 /* some more than they need in all: others on this machine may have one */

/* ---- Ports that several want at once ---- */

struct contender {
    struct banyan_sock_set *set;
    struct banyan_sock *socks[EACH];
    int count;
};

static char contested_text[32];
static struct banyan_sock_ports contested;
static atomic_int at_start;

static void *listen_on_some(void *context)
{
    struct contender *contender = context;
    struct address address;

    banyan_sock_address_parse(contested_text, &address, NULL);
    contender->count = 0;
    atomic_fetch_add(&at_start, 1);
    while (atomic_load(&at_start) < THREADS)
        ;
    for (int i = 0; i < EACH; i++)
        contender->count += banyan_sock_listen(contender->set, &address, contested, NULL,
                                               &contender->socks[contender->count], NULL) == 0;
    return NULL;
}

static void close_listeners(struct contender *contender)
{
    struct banyan_sock_event event;
    int closed = 0;

    for (int i = 0; i < contender->count; i++)
        banyan_sock_post_close(contender->socks[i]);
    while (closed < contender->count) {
        if (banyan_sock_set_wait(contender->set, PATIENCE_MS, &event) != 1)
            bail_out("an event does not come");
        closed += event.operation == BANYAN_SOCK_CLOSE;
    }
}

/* An address and ports that no other run of this test uses. */
static void choose_ports(void)
{
    int pid = getpid();

    snprintf(contested_text, sizeof(contested_text), "127.%d.%d.5", 1 + (pid >> 8) % 254,
             1 + pid % 254);
    contested.first = (uint16_t)(12000 + pid % 10000);
    contested.last = (uint16_t)(contested.first + PORTS - 1);
}

/* Between the bind and the listen of one, another may come: then the next port is tried. */
static void test_contested_ports(void)
{
    struct contender contenders[THREADS] = {{NULL}};
    pthread_t threads[THREADS];
    int missing = 0;

    choose_ports();
    for (int i = 0; i < THREADS; i++)
        banyan_sock_set_create(&contenders[i].set, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        atomic_store(&at_start, 0);
        for (int i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, listen_on_some, &contenders[i]);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        for (int i = 0; i < THREADS; i++) {
            missing += EACH - contenders[i].count;
            close_listeners(&contenders[i]);
        }
    }
    is_int(missing, 0, "K7: 4 times 4 listeners at once on 24 ports, 100 times: each finds one");
    for (int i = 0; i < THREADS; i++)
        banyan_sock_set_destroy(contenders[i].set);
}

/* ---- Pausing, and a process without descriptors ---- */

static int connect_plain(void)
{
    struct sockaddr_storage system;
    socklen_t bytes;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    banyan_sock_address_to_system(&listening, &system, &bytes);
    if (fd < 0 || connect(fd, (struct sockaddr *)&system, bytes) < 0)
        bail_out("a plain socket cannot connect");
    return fd;
}

static void test_pause(void)
{
    struct banyan_sock_event event;
    int fd;

    is_int(banyan_sock_listener_pause(listener, 1), 0, "K1: a listener is paused");
    fd = connect_plain();
    is_int(banyan_sock_set_wait(set, 50, &event), 0, "K1: it tells of no connection");
    is_int(banyan_sock_listener_pause(listener, 0), 0, "K1: and goes on");
    event = next_event();
    ok(is_event(&event, BANYAN_SOCK_ACCEPT, BANYAN_SOCK_OK, listener) &&
           banyan_sock_accept(listener, set, NULL, &far, NULL) == 0,
       "K1: with the one that came meanwhile");
    close_one(far);
    close(fd);
}

/* The connection waits in the system's queue; a listener that is paused is silent meanwhile. */
static void test_no_descriptors(void)
{
    struct banyan_sock_event event;
    struct banyan_sock *sock = NULL;
    struct banyan_sock_set *other = NULL;
    struct rlimit saved;
    struct rlimit none;
    struct error why = ERROR_NONE;
    int fd = connect_plain();
    int rc;

    event = next_event();
    getrlimit(RLIMIT_NOFILE, &saved);
    none = saved;
    none.rlim_cur = 3; /* a limit below what is open: nothing more can be opened */
    setrlimit(RLIMIT_NOFILE, &none);
    rc = banyan_sock_accept(listener, set, NULL, &sock, &why);
    is_int(rc, -EMFILE, "K13: without descriptors nothing is accepted");
    is_int(banyan_sock_status_of(-rc), BANYAN_SOCK_NO_DESCRIPTORS, "K6: with its class");
    is_int(banyan_sock_set_create(&other, &why), -EMFILE, "K6: nor is a set made");
    is_int(banyan_sock_listen(set, &listening, any_port, NULL, &sock, &why), -EMFILE,
           "K6: nor a listener");
    event = next_event();
    is_int(event.operation, BANYAN_SOCK_ACCEPT, "K13: the listener tells of it again");
    banyan_sock_listener_pause(listener, 1);
    while (banyan_sock_set_wait(set, 0, &event) == 1)
        ;
    is_int(banyan_sock_set_wait(set, 50, &event), 0, "K13: unless it is paused");
    setrlimit(RLIMIT_NOFILE, &saved);
    banyan_sock_listener_pause(listener, 0);
    event = next_event();
    ok(event.operation == BANYAN_SOCK_ACCEPT &&
           banyan_sock_accept(listener, set, NULL, &sock, &why) == 0,
       "K13: with descriptors it is accepted");
    close_one(sock);
    close(fd);
}

/* ---- Another set ---- */

static void test_accept_into_other(void)
{
    struct banyan_sock_set *other = NULL;
    struct banyan_sock_event event;
    struct banyan_sock *sock = NULL;
    char data[4];
    int fd = connect_plain();

    banyan_sock_set_create(&other, NULL);
    event = next_event();
    is_int(banyan_sock_accept(listener, other, data, &sock, NULL), 0, "K1: accepted into a set");
    banyan_sock_post_read(sock, data, 4, 4, NULL);
    if (send(fd, "four", 4, 0) != 4)
        bail_out("send");
    ok(banyan_sock_set_wait(other, PATIENCE_MS, &event) == 1 && event.user == data &&
           is_event(&event, BANYAN_SOCK_READ, BANYAN_SOCK_OK, sock),
       "K1: which tells of it");
    is_int(banyan_sock_set_wait(set, 0, &event), 0, "K1: the listener's own does not");
    is_int(banyan_sock_set_destroy(other), -EBUSY, "K10: and which it belongs to");
    banyan_sock_post_close(sock);
    ok(banyan_sock_set_wait(other, PATIENCE_MS, &event) == 1 &&
           is_event(&event, BANYAN_SOCK_CLOSE, BANYAN_SOCK_OK, sock),
       "K1: to the end");
    is_int(banyan_sock_set_destroy(other), 0, "K1: the other set is destroyed");
    close(fd);
}

/* ---- Two families ---- */

static void test_v6_only(void)
{
    struct address saved = listening;
    struct banyan_sock *v6 = NULL;
    struct banyan_sock *v4 = NULL;
    struct address any;
    struct error why = ERROR_NONE;

    banyan_sock_address_parse("::", &any, NULL);
    if (banyan_sock_listen(set, &any, any_port, NULL, &v6, &why) < 0) {
        skip(1, "K1: %s", why.text);
        return;
    }
    banyan_sock_local_address(v6, &listening);
    banyan_sock_address_parse("0.0.0.0", &any, NULL);
    banyan_sock_address_set_port(&any, banyan_sock_address_port(&listening));
    is_int(banyan_sock_listen(set, &any, any_port, NULL, &v4, &why), 0,
           "K1: a listener on :: leaves the same port of IPv4 to another");
    if (v4 != NULL)
        close_one(v4);
    close_one(v6);
    listening = saved;
}

int main(void)
{
    world_open();
    test_contested_ports();
    test_pause();
    test_no_descriptors();
    test_accept_into_other();
    test_v6_only();
    world_close();
    return done_testing();
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/support/sock_world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test/support/tap.h"

const struct banyan_sock_ports any_port;
struct banyan_sock_set *set;
struct banyan_sock *listener;
struct address listening;
struct banyan_sock *near;
struct banyan_sock *far;

void world_open(void)
{
    struct error error = ERROR_NONE;

    if (banyan_sock_set_create(&set, &error) < 0)
        bail_out("%s", error.text);
    listener = listen_on("127.0.0.1");
}

void world_close(void)
{
    close_one(listener);
    is_int(banyan_sock_set_destroy(set), 0, "the set is destroyed");
}

struct banyan_sock_event next_event(void)
{
    struct banyan_sock_event event = {.operation = BANYAN_SOCK_OPERATION_COUNT};

    if (banyan_sock_set_wait(set, PATIENCE_MS, &event) != 1)
        bail_out("an event does not come");
    return event;
}

int is_event(const struct banyan_sock_event *event, enum banyan_sock_operation operation,
             enum banyan_sock_status status, const struct banyan_sock *sock)
{
    return event->operation == operation && event->status == status && event->sock == sock;
}

int is_same_address(const struct address *a, const struct address *b)
{
    return a->length_bytes == b->length_bytes && memcmp(a->bytes, b->bytes, a->length_bytes) == 0;
}

struct banyan_sock *listen_on(const char *text)
{
    struct address address;
    struct error error = ERROR_NONE;
    struct banyan_sock *sock = NULL;

    banyan_sock_address_parse(text, &address, NULL);
    if (banyan_sock_listen(set, &address, any_port, NULL, &sock, &error) < 0)
        bail_out("%s", error.text);
    banyan_sock_local_address(sock, &listening);
    return sock;
}

void connect_pair(void)
{
    struct error error = ERROR_NONE;

    if (banyan_sock_connect(set, &listening, any_port, NULL, &near, &error) < 0)
        bail_out("%s", error.text);
    far = NULL;
    for (int seen = 0; seen < 2; seen++) {
        struct banyan_sock_event event = next_event();
        if (event.operation == BANYAN_SOCK_ACCEPT)
            banyan_sock_accept(event.sock, set, NULL, &far, &error);
        else if (!is_event(&event, BANYAN_SOCK_CONNECT, BANYAN_SOCK_OK, near))
            bail_out("no connection");
    }
    if (far == NULL)
        bail_out("nothing was accepted: %s", error.text);
}

void close_one(struct banyan_sock *sock)
{
    banyan_sock_post_close(sock);
    for (;;) {
        struct banyan_sock_event event = next_event();
        if (event.operation == BANYAN_SOCK_CLOSE && event.sock == sock)
            return;
    }
}

void close_pair(void)
{
    close_one(near);
    close_one(far);
}

int drain(void)
{
    struct banyan_sock_event event;
    int count = 0;

    while (banyan_sock_set_wait(set, 0, &event) == 1)
        count++;
    return count;
}

int plain_peer(void)
{
    struct sockaddr_storage system;
    struct banyan_sock_event event;
    socklen_t bytes;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    banyan_sock_address_to_system(&listening, &system, &bytes);
    if (fd < 0 || connect(fd, (struct sockaddr *)&system, bytes) < 0)
        bail_out("a plain socket cannot connect");
    event = next_event();
    if (event.operation != BANYAN_SOCK_ACCEPT ||
        banyan_sock_accept(listener, set, NULL, &far, NULL) < 0)
        bail_out("a plain socket is not accepted");
    return fd;
}

struct address full_listener(int fds[], int count)
{
    struct sockaddr_storage system;
    struct address address;
    socklen_t bytes;

    banyan_sock_address_parse("127.0.0.1", &address, NULL);
    banyan_sock_address_to_system(&address, &system, &bytes);
    fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(fds[0], (struct sockaddr *)&system, bytes) < 0 || listen(fds[0], 0) < 0 ||
        getsockname(fds[0], (struct sockaddr *)&system, &bytes) < 0)
        bail_out("a plain listener");
    for (int i = 1; i < count; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        if (connect(fds[i], (struct sockaddr *)&system, bytes) < 0 && errno != EINPROGRESS)
            bail_out("a plain connection");
    }
    banyan_sock_address_from_system((struct sockaddr *)&system, &address);
    return address;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows K11 and K12 of the socket layer, as another program uses it: linked with sock and base only,
 * inside that program's own loop, which polls the one descriptor of the set beside others of its own.
 * An echo server and its clients, on IPv4 and IPv6.
 */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/support/sock_world.h"
#include "test/support/tap.h"

#define CLIENTS 50
#define WORDS   20

struct client {
    struct banyan_sock *sock;
    char word[32];
    char answer[32];
    int words;
    int wrong;
};

struct echo {
    char data[64];
};

static struct client clients[CLIENTS];
static int clients_done;
static int own_events;

static int is_readable(void)
{
    struct pollfd poll_fd = {.fd = banyan_sock_set_fd(set), .events = POLLIN};

    return poll(&poll_fd, 1, 0) == 1;
}

/* Whatever the outer loop does not know of makes the descriptor readable. */
static void test_descriptor(void)
{
    char data[4];

    connect_pair();
    drain();
    drain();
    ok(!is_readable(), "K12: nothing to do: not readable");
    banyan_sock_post_write(far, "abcd", 4, 4, NULL);
    ok(is_readable(), "K12: a write that was done at once: readable");
    is_int(drain(), 1, "K12: one event");
    banyan_sock_post_read(near, data, 4, 4, NULL);
    while (!is_readable())
        ;
    is_int(drain(), 1, "K12: one more");
    drain();
    ok(!is_readable(), "K12: then nothing");
    banyan_sock_set_wakeup(set);
    ok(is_readable(), "K12: a wake-up: readable");
    is_int(drain(), 1, "K12: once");
    drain();
    ok(!is_readable(), "K12: and no longer");
    close_pair();
}

/* ---- The program ---- */

static void say(struct client *client)
{
    snprintf(client->word, sizeof(client->word), "word %d", client->words);
    banyan_sock_post_write(client->sock, client->word, sizeof(client->word), sizeof(client->word),
                           NULL);
    banyan_sock_post_read(client->sock, client->answer, sizeof(client->answer),
                          sizeof(client->answer), NULL);
}

static void client_event(struct client *client, const struct banyan_sock_event *event)
{
    client->wrong += event->status != BANYAN_SOCK_OK;
    if (event->operation == BANYAN_SOCK_CONNECT) {
        say(client);
    } else if (event->operation == BANYAN_SOCK_READ) {
        client->wrong += strcmp(client->word, client->answer) != 0;
        if (++client->words < WORDS)
            say(client);
        else
            banyan_sock_post_close(client->sock);
    } else if (event->operation == BANYAN_SOCK_CLOSE) {
        clients_done++;
    }
}

static void server_event(struct echo *echo, const struct banyan_sock_event *event)
{
    if (event->operation == BANYAN_SOCK_CLOSE)
        free(echo);
    else if (event->status == BANYAN_SOCK_CLOSED_BY_PEER)
        banyan_sock_post_close(event->sock);
    else if (event->operation == BANYAN_SOCK_READ)
        banyan_sock_post_write(event->sock, echo->data, event->bytes, event->bytes, NULL);
    else
        banyan_sock_post_read(event->sock, echo->data, 1, sizeof(echo->data), NULL);
}

static void accept_all(struct banyan_sock *from)
{
    struct banyan_sock *sock = NULL;

    for (;;) {
        struct echo *echo = malloc(sizeof(*echo));
        if (banyan_sock_accept(from, set, echo, &sock, NULL) < 0) {
            free(echo);
            return;
        }
        banyan_sock_post_read(sock, echo->data, 1, sizeof(echo->data), NULL);
    }
}

static void take(const struct banyan_sock_event *event)
{
    void *user = event->user;

    if (event->operation == BANYAN_SOCK_ACCEPT)
        accept_all(event->sock);
    else if (user >= (void *)clients && user < (void *)(clients + CLIENTS))
        client_event(user, event);
    else if (user != NULL)
        server_event(user, event);
}

/* The loop of that program: its own pipe, and the set. */
static void run(int pipe_fd)
{
    struct pollfd polls[] = {{.fd = pipe_fd, .events = POLLIN},
                             {.fd = banyan_sock_set_fd(set), .events = POLLIN}};
    struct banyan_sock_event event;
    char byte;

    while (clients_done < CLIENTS) {
        if (poll(polls, 2, PATIENCE_MS) <= 0)
            bail_out("nothing happens: %d clients are done", clients_done);
        if (polls[0].revents != 0)
            own_events += read(pipe_fd, &byte, 1) == 1;
        while (banyan_sock_set_wait(set, 0, &event) == 1)
            take(&event);
    }
}

static void test_program(const char *text)
{
    struct address address;
    struct banyan_sock *server = NULL;
    struct error why = ERROR_NONE;
    int fds[2];
    int wrong = 0;
    int words = 0;

    banyan_sock_address_parse(text, &address, NULL);
    if (banyan_sock_listen(set, &address, any_port, NULL, &server, &why) < 0) {
        skip(3, "K11: %s", why.text);
        return;
    }
    banyan_sock_local_address(server, &address);
    if (pipe(fds) < 0 || write(fds[1], "x", 1) != 1)
        bail_out("pipe");
    clients_done = 0;
    own_events = 0;
    memset(clients, 0, sizeof(clients));
    for (int i = 0; i < CLIENTS; i++) {
        if (banyan_sock_connect(set, &address, any_port, &clients[i], &clients[i].sock, &why) < 0)
            bail_out("%s", why.text);
    }
    run(fds[0]);
    for (int i = 0; i < CLIENTS; i++) {
        wrong += clients[i].wrong;
        words += clients[i].words;
    }
    is_int(words, CLIENTS * WORDS, "K11: %s: 50 clients have each word echoed", text);
    is_int(wrong, 0, "K11: %s: rightly", text);
    is_int(own_events, 1, "K11: %s: beside what the program polls itself", text);
    close_one(server);
    close(fds[0]);
    close(fds[1]);
}

int main(void)
{
    struct banyan_sock_event event;

    world_open();
    test_descriptor();
    test_program("127.0.0.1");
    test_program("::1");
    while (banyan_sock_set_wait(set, 100, &event) == 1) /* the last ends of the server */
        take(&event);
    world_close();
    return done_testing();
}

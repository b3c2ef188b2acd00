/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tests of the socket layer share: one set, one listener, and the two ends of a connection.
 * Loopback only; nothing sleeps; an event that does not come within PATIENCE_MS ends the test.
 */
#ifndef TEST_SUPPORT_SOCK_WORLD_H
#define TEST_SUPPORT_SOCK_WORLD_H

#include "fabric/sock.h"

#define PATIENCE_MS 20000

extern const struct banyan_sock_ports any_port;
extern struct banyan_sock_set *set;
extern struct banyan_sock *listener;
extern struct address listening; /* where the last listener listens */
extern struct banyan_sock *near; /* the end that connected */
extern struct banyan_sock *far;  /* the end that was accepted */

void world_open(void); /* the set, and a listener on 127.0.0.1 */
void world_close(void);
struct banyan_sock_event next_event(void);
int is_event(const struct banyan_sock_event *event, enum banyan_sock_operation operation,
             enum banyan_sock_status status, const struct banyan_sock *sock);
int is_same_address(const struct address *a, const struct address *b);
struct banyan_sock *listen_on(const char *text);
void connect_pair(void);
/* Closes, and takes events until its BANYAN_SOCK_CLOSE. */
void close_one(struct banyan_sock *sock);
void close_pair(void);
/* Takes every event there is now; how many. */
int drain(void);
/* A plain socket that is connected to the listener; the accepted end is `far`. */
int plain_peer(void);
/* A listener whose queue is full answers nobody: whoever connects then is left waiting.  Makes count
 * descriptors, at least 5; returns where it listens. */
struct address full_listener(int fds[], int count);

#endif

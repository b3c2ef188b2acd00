/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asynchronous sockets.  Operations are posted on socks; a set collects their completions, which
 * banyan_sock_set_wait hands out one by one.  Every posted operation completes exactly once, by success, by
 * an error of the peer or the system, or as BANYAN_SOCK_INTERRUPTED when its sock is closed.  A posted
 * operation first tries what can be done at once, so that the common case costs one system call.
 *
 * Any thread may post, close and wake; one thread at a time waits, and only what it has been handed
 * frees a sock.  No sock can keep the news of others waiting: after 64 events the system is asked
 * again.  One epoll descriptor and one eventfd per set, one descriptor and some 500 bytes per sock.
 */
#ifndef FABRIC_SOCK_H
#define FABRIC_SOCK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/address.h"
#include "base/error.h"

#define BANYAN_SOCK_VECTORS_MAX 64

struct banyan_sock_set;
struct banyan_sock;

enum banyan_sock_operation {
    BANYAN_SOCK_READ,
    BANYAN_SOCK_WRITE,
    BANYAN_SOCK_CONNECT,
    BANYAN_SOCK_ACCEPT,   /* of a listener: call banyan_sock_accept until it has no more */
    BANYAN_SOCK_READABLE, /* of banyan_sock_post_readable */
    BANYAN_SOCK_CLOSE,    /* the sock is gone when this is handed out */
    BANYAN_SOCK_WAKEUP,   /* of banyan_sock_set_wakeup; no sock */
    BANYAN_SOCK_OPERATION_COUNT
};

/* What went wrong, for programs; the text of struct error is for people. */
enum banyan_sock_status {
    BANYAN_SOCK_OK,
    BANYAN_SOCK_REFUSED,
    BANYAN_SOCK_TIMED_OUT,
    BANYAN_SOCK_RESET,
    BANYAN_SOCK_CLOSED_BY_PEER,
    BANYAN_SOCK_UNREACHABLE,
    BANYAN_SOCK_NO_BUFFERS,     /* the kernel is out of memory for sockets */
    BANYAN_SOCK_NO_DESCRIPTORS, /* of the process or the system */
    BANYAN_SOCK_NO_PORTS,       /* none is free, or none of the allowed range */
    BANYAN_SOCK_BAD_ADDRESS,
    BANYAN_SOCK_INTERRUPTED, /* by banyan_sock_post_close */
    BANYAN_SOCK_FAILED,      /* anything else: see the errno */
    BANYAN_SOCK_STATUS_COUNT
};

struct banyan_sock_event {
    enum banyan_sock_operation operation;
    enum banyan_sock_status status;
    int system_error;         /* errno, 0 if the system had no part in it */
    size_t bytes;             /* of a read or write, also when it failed half-way */
    struct banyan_sock *sock; /* not to be used after BANYAN_SOCK_CLOSE */
    void *user;               /* of the sock, as it is now */
};

/* Told of partial progress, always before the completion; must not call the sock layer. */
typedef void banyan_sock_update_function(void *user, size_t bytes);

/* Ports to choose from, in order; 0, 0 lets the system choose.  -EADDRINUSE, of class BANYAN_SOCK_NO_PORTS,
 * and a text that names the range if none of them is free. */
struct banyan_sock_ports {
    uint16_t first;
    uint16_t last;
};

/* ---- Sets ---- */

int banyan_sock_set_create(struct banyan_sock_set **ret_set, struct error *error);
/* All socks must be closed and their BANYAN_SOCK_CLOSE taken, else -EBUSY and nothing happens. */
int banyan_sock_set_destroy(struct banyan_sock_set *set);
uint64_t banyan_sock_set_id(const struct banyan_sock_set *set);
/* Waits for one event: 1 and *ret_event, 0 after timeout_ms (negative: never), -EBUSY if another
 * thread waits.  After an event, a call with timeout 0 may return 0 although the system has more;
 * the descriptor of banyan_sock_set_fd is readable then. */
int banyan_sock_set_wait(struct banyan_sock_set *set, int timeout_ms,
                         struct banyan_sock_event *ret_event);
/* An event of its own, in its turn, which ends the wait that runs or the next one; several wake-ups
 * that have not been handed out are one. */
void banyan_sock_set_wakeup(struct banyan_sock_set *set);
/* Readable when there is something to wait for: an outer loop then calls banyan_sock_set_wait(set, 0)
 * until it returns 0. */
int banyan_sock_set_fd(const struct banyan_sock_set *set);

/* ---- Making socks; *ret_sock is untouched on failure ---- */

/* Listens on address (port 0: one of ports); told of connections by BANYAN_SOCK_ACCEPT. */
int banyan_sock_listen(struct banyan_sock_set *set, const struct address *address,
                       struct banyan_sock_ports ports, void *user, struct banyan_sock **ret_sock,
                       struct error *error);
/* Takes the next connection of a listener into set; -EAGAIN if there is none. */
int banyan_sock_accept(struct banyan_sock *listener, struct banyan_sock_set *set, void *user,
                       struct banyan_sock **ret_sock, struct error *error);
/* A listener that is paused leaves connections in the system's queue.  -EINVAL if it is none. */
int banyan_sock_listener_pause(struct banyan_sock *listener, int paused);
/* Starts to connect; BANYAN_SOCK_CONNECT tells the end of it, also of an immediate refusal. */
int banyan_sock_connect(struct banyan_sock_set *set, const struct address *address,
                        struct banyan_sock_ports ports, void *user, struct banyan_sock **ret_sock,
                        struct error *error);
/* Takes over a connected stream descriptor, which the sock then owns. */
int banyan_sock_adopt(struct banyan_sock_set *set, int fd, void *user,
                      struct banyan_sock **ret_sock, struct error *error);

/* ---- Posting: 0, or what was wrong with the call: -EBUSY one is outstanding, -EINVAL min > max or
 * nothing to do, -ENOTCONN, -ESHUTDOWN after sock_post_close. Memory is lent until completion. ---- */

/* Completes when at least minimum bytes have come; takes up to maximum. */
int banyan_sock_post_read(struct banyan_sock *sock, void *data, size_t minimum, size_t maximum,
                          banyan_sock_update_function *update);
/* The same into at most BANYAN_SOCK_VECTORS_MAX pieces; the array itself is copied. */
int banyan_sock_post_readv(struct banyan_sock *sock, const struct iovec *vectors, int count,
                           size_t minimum, banyan_sock_update_function *update);
int banyan_sock_post_write(struct banyan_sock *sock, const void *data, size_t minimum,
                           size_t maximum, banyan_sock_update_function *update);
int banyan_sock_post_writev(struct banyan_sock *sock, const struct iovec *vectors, int count,
                            size_t minimum, banyan_sock_update_function *update);
/* A read of nothing: completes when banyan_sock_read is worth a try.  It finds bytes, an end or an error, or
 * -EAGAIN if the read before it took exactly what there was. */
int banyan_sock_post_readable(struct banyan_sock *sock);
/* Interrupts what is posted, each with an event of its own, then BANYAN_SOCK_CLOSE.  What the system has
 * taken for sending is still sent. */
int banyan_sock_post_close(struct banyan_sock *sock);

/* ---- At once: 0 and *ret_bytes; -EAGAIN if nothing could be done, -EPIPE at the end of the
 * stream, another negative errno; -EINVAL if there is nothing to do or more than BANYAN_SOCK_VECTORS_MAX pieces.
 * Not while the same direction is posted (-EBUSY). ---- */

int banyan_sock_read(struct banyan_sock *sock, void *data, size_t bytes, size_t *ret_bytes);
int banyan_sock_readv(struct banyan_sock *sock, const struct iovec *vectors, int count,
                      size_t *ret_bytes);
int banyan_sock_write(struct banyan_sock *sock, const void *data, size_t bytes, size_t *ret_bytes);
int banyan_sock_writev(struct banyan_sock *sock, const struct iovec *vectors, int count,
                       size_t *ret_bytes);
/* No more will be written; the peer reads the end after what was sent. */
int banyan_sock_shutdown_write(struct banyan_sock *sock);

/* ---- About socks ---- */

void banyan_sock_set_user(struct banyan_sock *sock, void *user);
void *banyan_sock_user(const struct banyan_sock *sock);
uint64_t banyan_sock_id(const struct banyan_sock *sock); /* never used twice in a process */
int banyan_sock_fd(const struct banyan_sock *sock);
void banyan_sock_local_address(const struct banyan_sock *sock, struct address *ret_address);
const struct address *banyan_sock_peer_address(
    const struct banyan_sock *sock); /* length 0 of a listener */
enum banyan_sock_status banyan_sock_status_of(int system_error);
const char *banyan_sock_status_text(enum banyan_sock_status status);
/* The line for people: the peer's address and what the system said. */
void banyan_sock_describe(const struct banyan_sock_event *event, struct error *ret_error);
/* The same for the negative errno that a call on this sock returned. */
void banyan_sock_describe_code(const struct banyan_sock *sock, int code, struct error *ret_error);
/* What another program must know to reach this machine: its name and its addresses as
 * address_local(net) lists them, e.g. "n0412 10.1.2.3 fd00::3".  -ENOSPC if it does not fit, and
 * nothing is written; -ENODEV or -EINVAL as address_local says. */
int banyan_sock_describe_host(const char *net, char *text, size_t text_bytes, struct error *error);

#endif

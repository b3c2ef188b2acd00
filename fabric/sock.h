/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asynchronous sockets.  Operations are posted on socks; a set collects their completions, which
 * sock_set_wait hands out one by one.  Every posted operation completes exactly once, by success, by
 * an error of the peer or the system, or as SOCK_INTERRUPTED when its sock is closed.  A posted
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

#define SOCK_VECTORS_MAX 64

struct sock_set;
struct sock;

enum sock_operation {
    SOCK_READ,
    SOCK_WRITE,
    SOCK_CONNECT,
    SOCK_ACCEPT,   /* of a listener: call sock_accept until it has no more */
    SOCK_READABLE, /* of sock_post_readable */
    SOCK_CLOSE,    /* the sock is gone when this is handed out */
    SOCK_WAKEUP,   /* of sock_set_wakeup; no sock */
    SOCK_OPERATION_COUNT
};

/* What went wrong, for programs; the text of struct error is for people. */
enum sock_status {
    SOCK_OK,
    SOCK_REFUSED,
    SOCK_TIMED_OUT,
    SOCK_RESET,
    SOCK_CLOSED_BY_PEER,
    SOCK_UNREACHABLE,
    SOCK_NO_BUFFERS,     /* the kernel is out of memory for sockets */
    SOCK_NO_DESCRIPTORS, /* of the process or the system */
    SOCK_NO_PORTS,       /* none is free, or none of the allowed range */
    SOCK_BAD_ADDRESS,
    SOCK_INTERRUPTED, /* by sock_post_close */
    SOCK_FAILED,      /* anything else: see the errno */
    SOCK_STATUS_COUNT
};

struct sock_event {
    enum sock_operation operation;
    enum sock_status status;
    int system_error;  /* errno, 0 if the system had no part in it */
    size_t bytes;      /* of a read or write, also when it failed half-way */
    struct sock *sock; /* not to be used after SOCK_CLOSE */
    void *user;        /* of the sock, as it is now */
};

/* Told of partial progress, always before the completion; must not call the sock layer. */
typedef void sock_update_function(void *user, size_t bytes);

/* Ports to choose from, in order; 0, 0 lets the system choose.  -EADDRINUSE, of class SOCK_NO_PORTS,
 * and a text that names the range if none of them is free. */
struct sock_ports {
    uint16_t first;
    uint16_t last;
};

/* ---- Sets ---- */

int sock_set_create(struct sock_set **ret_set, struct error *error);
/* All socks must be closed and their SOCK_CLOSE taken, else -EBUSY and nothing happens. */
int sock_set_destroy(struct sock_set *set);
uint64_t sock_set_id(const struct sock_set *set);
/* Waits for one event: 1 and *ret_event, 0 after timeout_ms (negative: never), -EBUSY if another
 * thread waits.  After an event, a call with timeout 0 may return 0 although the system has more;
 * the descriptor of sock_set_fd is readable then. */
int sock_set_wait(struct sock_set *set, int timeout_ms, struct sock_event *ret_event);
/* Ends the wait that runs, or the next one, with SOCK_WAKEUP; several wake-ups may become one. */
void sock_set_wakeup(struct sock_set *set);
/* Readable when there is something to wait for: an outer loop then calls sock_set_wait(set, 0)
 * until it returns 0. */
int sock_set_fd(const struct sock_set *set);

/* ---- Making socks; *ret_sock is untouched on failure ---- */

/* Listens on address (port 0: one of ports); told of connections by SOCK_ACCEPT. */
int sock_listen(struct sock_set *set, const struct address *address, struct sock_ports ports,
                void *user, struct sock **ret_sock, struct error *error);
/* Takes the next connection of a listener into set; -EAGAIN if there is none. */
int sock_accept(struct sock *listener, struct sock_set *set, void *user, struct sock **ret_sock,
                struct error *error);
/* A listener that is paused leaves connections in the system's queue. */
void sock_listener_pause(struct sock *listener, int paused);
/* Starts to connect; SOCK_CONNECT tells the end of it, also of an immediate refusal. */
int sock_connect(struct sock_set *set, const struct address *address, struct sock_ports ports,
                 void *user, struct sock **ret_sock, struct error *error);
/* Takes over a connected stream descriptor, which the sock then owns. */
int sock_adopt(struct sock_set *set, int fd, void *user, struct sock **ret_sock,
               struct error *error);

/* ---- Posting: 0, or what was wrong with the call: -EBUSY one is outstanding, -EINVAL min > max or
 * nothing to do, -ENOTCONN, -ESHUTDOWN after sock_post_close. Memory is lent until completion. ---- */

/* Completes when at least minimum bytes have come; takes up to maximum. */
int sock_post_read(struct sock *sock, void *data, size_t minimum, size_t maximum,
                   sock_update_function *update);
/* The same into at most SOCK_VECTORS_MAX pieces; the array itself is copied. */
int sock_post_readv(struct sock *sock, const struct iovec *vectors, int count, size_t minimum,
                    sock_update_function *update);
int sock_post_write(struct sock *sock, const void *data, size_t minimum, size_t maximum,
                    sock_update_function *update);
int sock_post_writev(struct sock *sock, const struct iovec *vectors, int count, size_t minimum,
                     sock_update_function *update);
/* A read of nothing: completes when sock_read is worth a try.  It finds bytes, an end or an error, or
 * -EAGAIN if the read before it took exactly what there was. */
int sock_post_readable(struct sock *sock);
/* Interrupts what is posted, each with an event of its own, then SOCK_CLOSE.  What the system has
 * taken for sending is still sent. */
int sock_post_close(struct sock *sock);

/* ---- At once: 0 and *ret_bytes; -EAGAIN if nothing could be done, -EPIPE at the end of the
 * stream, another negative errno; -EINVAL if there is nothing to do or more than SOCK_VECTORS_MAX pieces.
 * Not while the same direction is posted (-EBUSY). ---- */

int sock_read(struct sock *sock, void *data, size_t bytes, size_t *ret_bytes);
int sock_readv(struct sock *sock, const struct iovec *vectors, int count, size_t *ret_bytes);
int sock_write(struct sock *sock, const void *data, size_t bytes, size_t *ret_bytes);
int sock_writev(struct sock *sock, const struct iovec *vectors, int count, size_t *ret_bytes);
/* No more will be written; the peer reads the end after what was sent. */
int sock_shutdown_write(struct sock *sock);

/* ---- About socks ---- */

void sock_set_user(struct sock *sock, void *user);
void *sock_user(const struct sock *sock);
uint64_t sock_id(const struct sock *sock); /* never used twice in a process */
int sock_fd(const struct sock *sock);
void sock_local_address(const struct sock *sock, struct address *ret_address);
const struct address *sock_peer_address(const struct sock *sock); /* length 0 of a listener */
enum sock_status sock_status_of(int system_error);
const char *sock_status_text(enum sock_status status);
/* The line for people: the peer's address and what the system said. */
void sock_describe(const struct sock_event *event, struct error *ret_error);
/* The same for the negative errno that a call on this sock returned. */
void sock_describe_code(const struct sock *sock, int code, struct error *ret_error);
/* What another program must know to reach this machine: its name and its addresses as
 * address_local(net) lists them, e.g. "n0412 10.1.2.3 fd00::3".  -ENOSPC if it does not fit, and
 * nothing is written; -ENODEV or -EINVAL as address_local says. */
int sock_describe_host(const char *net, char *text, size_t text_bytes, struct error *error);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asynchronous stream sockets: the interface of libbanyan-sock, described in banyan_sock(3).
 * Operations are posted on socks; a set collects their completions, which banyan_sock_set_wait hands
 * out one by one.  Every posted operation completes exactly once: by success, by an error of the peer
 * or the system, or as BANYAN_SOCK_INTERRUPTED when its sock is closed.  An operation first tries what
 * can be done at once, so that the common case costs one system call.
 *
 * Any thread may post, close and wake; one thread at a time waits on a set, and a sock is freed
 * only by an event handed to it.  No sock can starve the others: the system is asked again after 64
 * events.  One epoll descriptor and one eventfd per set, one descriptor and some 600 bytes per
 * sock.
 */
#ifndef FABRIC_BANYAN_SOCK_H
#define FABRIC_BANYAN_SOCK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

#define BANYAN_SOCK_VECTORS_MAX        64   /* pieces of one readv or writev */
#define BANYAN_SOCK_ADDRESSES_MAX      256  /* of one host description */
#define BANYAN_SOCK_ADDRESS_BYTES      64   /* inside struct banyan_sock_address */
#define BANYAN_SOCK_ADDRESS_TEXT_BYTES 80   /* that banyan_sock_address_print writes at most */
#define BANYAN_SOCK_ERROR_TEXT_BYTES   1024 /* of struct banyan_sock_error */

struct banyan_sock_set;
struct banyan_sock;

/* Inside banyan these two have the names of base/ (fabric/sock.h). */
#ifndef banyan_sock_address
/* An IPv4 or IPv6 address with port and scope.  The bytes are opaque: see "Addresses". */
struct banyan_sock_address {
    uint8_t length_bytes; /* 0: none */
    uint8_t bytes[BANYAN_SOCK_ADDRESS_BYTES];
};
#endif

#ifndef banyan_sock_error
/* An error as text.  May be NULL wherever a routine takes one; filled when the routine fails. */
struct banyan_sock_error {
    int code; /* negative errno, the same that the routine returned */
    char text[BANYAN_SOCK_ERROR_TEXT_BYTES]; /* one line without newline */
};
#endif

enum banyan_sock_operation {
    BANYAN_SOCK_READ,
    BANYAN_SOCK_WRITE,
    BANYAN_SOCK_CONNECT,
    BANYAN_SOCK_ACCEPT,   /* of a listener: call banyan_sock_accept until it has no more */
    BANYAN_SOCK_READABLE, /* of banyan_sock_post_readable */
    BANYAN_SOCK_CLOSE,    /* the sock is freed when this is handed out */
    BANYAN_SOCK_WAKEUP,   /* of banyan_sock_set_wakeup; no sock */
    BANYAN_SOCK_OPERATION_COUNT
};

/* The class of an error. */
enum banyan_sock_status {
    BANYAN_SOCK_OK,
    BANYAN_SOCK_REFUSED,
    BANYAN_SOCK_TIMED_OUT,
    BANYAN_SOCK_RESET,
    BANYAN_SOCK_CLOSED_BY_PEER,
    BANYAN_SOCK_UNREACHABLE,
    BANYAN_SOCK_NO_BUFFERS,     /* the kernel is out of memory for sockets */
    BANYAN_SOCK_NO_DESCRIPTORS, /* of the process or the system */
    BANYAN_SOCK_NO_PORTS,       /* no free port, or none in the allowed range */
    BANYAN_SOCK_BAD_PORTS,      /* an invalid range, or a port outside it */
    BANYAN_SOCK_BAD_ADDRESS,
    BANYAN_SOCK_NOT_LOCAL,   /* the address to listen on is not of this machine */
    BANYAN_SOCK_INTERRUPTED, /* by banyan_sock_post_close */
    BANYAN_SOCK_FAILED,      /* anything else: see the errno */
    BANYAN_SOCK_STATUS_COUNT
};

struct banyan_sock_event {
    enum banyan_sock_operation operation;
    enum banyan_sock_status status;
    int system_error;         /* errno, 0 if it was not a system error */
    size_t bytes;             /* of a read or write, also if it failed partway */
    struct banyan_sock *sock; /* not to be used after BANYAN_SOCK_CLOSE */
    void *user;               /* of the sock, as it is now */
};

/* Called on partial progress, always before the completion; must not call this library. */
typedef void banyan_sock_update_function(void *user, size_t bytes);

/* Ports to choose from, in order, first and last among them; {0, 0} lets the system choose.  Anything
 * else with first 0, or first above last, is -ERANGE, of class BANYAN_SOCK_BAD_PORTS; if none of them
 * is free, -EADDRINUSE, of class BANYAN_SOCK_NO_PORTS. */
struct banyan_sock_ports {
    uint16_t first;
    uint16_t last;
};

/* ---- Sets ---- */

int banyan_sock_set_create(struct banyan_sock_set **ret_set, struct banyan_sock_error *error);
/* All socks must be closed and their BANYAN_SOCK_CLOSE taken; otherwise returns -EBUSY and does
 * nothing. */
int banyan_sock_set_destroy(struct banyan_sock_set *set);
uint64_t banyan_sock_set_id(const struct banyan_sock_set *set);
/* Waits for one event: 1 and *ret_event, 0 after timeout_ms (negative: never), -EBUSY if another
 * thread waits.  After an event, a call with timeout 0 may return 0 although the system has more;
 * the descriptor of banyan_sock_set_fd is readable then. */
int banyan_sock_set_wait(struct banyan_sock_set *set, int timeout_ms,
                         struct banyan_sock_event *ret_event);
/* Queues a wake-up event, which ends the current wait or the next one; wake-ups that have not been
 * handed out are merged. */
void banyan_sock_set_wakeup(struct banyan_sock_set *set);
/* Readable when there is something to wait for: an outer loop then calls banyan_sock_set_wait(set, 0)
 * until it returns 0. */
int banyan_sock_set_fd(const struct banyan_sock_set *set);

/* ---- Making socks; *ret_sock is untouched on failure ---- */

/* Listens on address; connections are announced by BANYAN_SOCK_ACCEPT.  Port 0 selects one of
 * ports; any other port is used as it is: -ERANGE if ports are given and do not include it.
 * -EADDRNOTAVAIL, of class BANYAN_SOCK_NOT_LOCAL, if this machine does not have the address.  An
 * IPv6 listener accepts IPv6 only. */
int banyan_sock_listen(struct banyan_sock_set *set, const struct banyan_sock_address *address,
                       struct banyan_sock_ports ports, void *user, struct banyan_sock **ret_sock,
                       struct banyan_sock_error *error);
/* Accepts the next connection of a listener into set, which need not be the listener's; -EAGAIN if
 * there is no connection.  If descriptors are exhausted (-EMFILE or -ENFILE), the connection stays
 * in the system's queue and the listener announces it again immediately: pause it. */
int banyan_sock_accept(struct banyan_sock *listener, struct banyan_sock_set *set, void *user,
                       struct banyan_sock **ret_sock, struct banyan_sock_error *error);
/* A paused listener leaves connections in the system's queue.  -EINVAL if it is not a listener. */
int banyan_sock_listener_pause(struct banyan_sock *listener, int paused);
/* Starts to connect, from one of ports; BANYAN_SOCK_CONNECT reports the outcome, including an
 * immediate failure.  Only errors in the call itself are returned. */
int banyan_sock_connect(struct banyan_sock_set *set, const struct banyan_sock_address *address,
                        struct banyan_sock_ports ports, void *user, struct banyan_sock **ret_sock,
                        struct banyan_sock_error *error);
/* The same to a host as described by banyan_sock_describe_host on that machine: "NAME ADDRESS...",
 * or addresses alone; the name is not looked up.  port applies to all addresses without one.  They
 * are tried in order, the next one when one has failed or has not answered for 250 ms while the
 * earlier ones go on; the first that answers is the connection.  If all fail, the status is that of
 * the first that is not BANYAN_SOCK_UNREACHABLE, and banyan_sock_describe lists what each
 * answered. */
int banyan_sock_connect_host(struct banyan_sock_set *set, const char *description, uint16_t port,
                             struct banyan_sock_ports ports, void *user,
                             struct banyan_sock **ret_sock, struct banyan_sock_error *error);
/* Takes over a connected stream socket, which the sock then owns.  -ENOTSOCK, -EPROTOTYPE (no
 * stream), -EINVAL (a listener) or -ENOTCONN otherwise; fd then stays the caller's. */
int banyan_sock_adopt(struct banyan_sock_set *set, int fd, void *user,
                      struct banyan_sock **ret_sock, struct banyan_sock_error *error);

/* ---- Silent peers: off unless set.  On a listener they apply to connections accepted afterwards.
 * -EOPNOTSUPP unless it is TCP, -EINVAL if the system refuses the value, -ESHUTDOWN. ---- */

/* Probes a silent peer after idle_s seconds, then every interval_s, and ends the connection as
 * timed out after that many unanswered probes.  All 0: never. */
int banyan_sock_set_keep_alive(struct banyan_sock *sock, unsigned int idle_s,
                               unsigned int interval_s, unsigned int probes);
/* Ends the connection as timed out when sent data has not been acknowledged for that time; it also
 * bounds keep-alive and connecting.  It also ends a connection to a peer whose machine responds but
 * which has not read for that time, so that nothing more can be sent.  0: the system's default,
 * about 15 minutes. */
int banyan_sock_set_user_timeout(struct banyan_sock *sock, unsigned int timeout_ms);

/* ---- Posting: 0, or what was wrong with the call: -EBUSY one is outstanding, -EINVAL minimum above
 * maximum or nothing to do, -ENOTCONN before the end of connecting was handed out, -ESHUTDOWN after
 * banyan_sock_post_close.  Memory is lent until completion. ---- */

/* Completes when at least minimum bytes have arrived; reads up to maximum. */
int banyan_sock_post_read(struct banyan_sock *sock, void *data, size_t minimum, size_t maximum,
                          banyan_sock_update_function *update);
/* The same into at most BANYAN_SOCK_VECTORS_MAX pieces; the array itself is copied. */
int banyan_sock_post_readv(struct banyan_sock *sock, const struct iovec *vectors, int count,
                           size_t minimum, banyan_sock_update_function *update);
int banyan_sock_post_write(struct banyan_sock *sock, const void *data, size_t minimum,
                           size_t maximum, banyan_sock_update_function *update);
int banyan_sock_post_writev(struct banyan_sock *sock, const struct iovec *vectors, int count,
                            size_t minimum, banyan_sock_update_function *update);
/* A read of nothing: completes when banyan_sock_read is worth trying.  That finds bytes, an end or
 * an error, or -EAGAIN if the previous read happened to take all available bytes. */
int banyan_sock_post_readable(struct banyan_sock *sock);
/* Interrupts the posted operations, each with a separate event, then BANYAN_SOCK_CLOSE.  Data
 * already accepted by the system is still sent. */
int banyan_sock_post_close(struct banyan_sock *sock);

/* ---- At once: 0 and *ret_bytes; -EAGAIN if nothing could be done, -EPIPE at the end of the stream,
 * another negative errno; -EINVAL if there is nothing to do or more than BANYAN_SOCK_VECTORS_MAX
 * pieces.  Not while the same direction is posted (-EBUSY). ---- */

int banyan_sock_read(struct banyan_sock *sock, void *data, size_t bytes, size_t *ret_bytes);
int banyan_sock_readv(struct banyan_sock *sock, const struct iovec *vectors, int count,
                      size_t *ret_bytes);
int banyan_sock_write(struct banyan_sock *sock, const void *data, size_t bytes, size_t *ret_bytes);
int banyan_sock_writev(struct banyan_sock *sock, const struct iovec *vectors, int count,
                       size_t *ret_bytes);
/* No more will be written; the peer reads end of file after the data already sent. */
int banyan_sock_shutdown_write(struct banyan_sock *sock);

/* ---- About socks ---- */

void banyan_sock_set_user(struct banyan_sock *sock, void *user);
void *banyan_sock_user(const struct banyan_sock *sock);
uint64_t banyan_sock_id(const struct banyan_sock *sock); /* never used twice in a process */
int banyan_sock_fd(const struct banyan_sock *sock);      /* -1 while connecting and after a close */
void banyan_sock_local_address(const struct banyan_sock *sock,
                               struct banyan_sock_address *ret_address);
/* Length 0 for a listener and for an adopted socket that is not TCP; while connecting to several,
 * the first of them until BANYAN_SOCK_CONNECT has been handed out.  Valid as long as the sock. */
const struct banyan_sock_address *banyan_sock_peer_address(const struct banyan_sock *sock);
/* The class of an errno that a call returned. */
enum banyan_sock_status banyan_sock_status_of(int system_error);
const char *banyan_sock_status_text(enum banyan_sock_status status);
/* A line of text: the peer's address and the system's error.  event->sock must not have been closed
 * and handed out, unless this is the event that says so. */
void banyan_sock_describe(const struct banyan_sock_event *event,
                          struct banyan_sock_error *ret_error);
/* The same for the negative errno that a call on this sock returned. */
void banyan_sock_describe_code(const struct banyan_sock *sock, int code,
                               struct banyan_sock_error *ret_error);

/* ---- Addresses ---- */

/* "10.1.2.3", "10.1.2.3:4242", "fd00::1", "[fe80::1%eth0]:4242"; the port is 0 if none is given. */
int banyan_sock_address_parse(const char *text, struct banyan_sock_address *ret_address,
                              struct banyan_sock_error *error);
/* The form that banyan_sock_address_parse reads, without port 0; returns text. */
const char *banyan_sock_address_print(const struct banyan_sock_address *address, char *text);
uint16_t banyan_sock_address_port(const struct banyan_sock_address *address);
void banyan_sock_address_set_port(struct banyan_sock_address *address, uint16_t port);
/* -EAFNOSUPPORT unless it is IPv4 or IPv6. */
int banyan_sock_address_from_system(const struct sockaddr *system,
                                    struct banyan_sock_address *ret_address);
/* -EINVAL if it is no address. */
int banyan_sock_address_to_system(const struct banyan_sock_address *address,
                                  struct sockaddr_storage *ret_system, socklen_t *ret_bytes);

/* ---- This machine ---- */

/* The addresses (port 0) that others can reach, best first: as the system lists its interfaces,
 * IPv4 before IPv6.  Those of bridges for containers and virtual machines are taken only if there
 * is no other, loopback only if there is nothing else at all.  net is a comma-separated list of
 * CIDRs and interface names, which then alone decides, in its order; NULL: none.  Returns their
 * total number, of which at most addresses_max are written; -ENODEV if none matches, -EINVAL if net
 * is malformed, -E2BIG if there are more than BANYAN_SOCK_ADDRESSES_MAX. */
int banyan_sock_host_addresses(const char *net, struct banyan_sock_address *ret_addresses,
                               int addresses_max, struct banyan_sock_error *error);
/* What another program must know to reach this machine, for banyan_sock_connect_host: its name and
 * its addresses, e.g. "n0412 10.1.2.3 fd00::3".  -ENOSPC if it does not fit, and nothing is written;
 * else as above. */
int banyan_sock_describe_host(const char *net, char *text, size_t text_bytes,
                              struct banyan_sock_error *error);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif

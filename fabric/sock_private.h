/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the socket layer share: fabric/sock.c (sets, completions, transfers),
 * fabric/sock_open.c (listening, accepting, adopting), fabric/sock_connect.c, fabric/sock_status.c
 * (errors as text and as classes).  All fields but ids are guarded by the set's lock.
 */
#ifndef FABRIC_SOCK_PRIVATE_H
#define FABRIC_SOCK_PRIVATE_H

#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "base/list.h"
#include "fabric/sock.h"

enum operation_state { IDLE, POSTED, DONE };

struct operation {
    struct list_link node;    /* in set->ready while DONE */
    struct banyan_sock *sock; /* NULL of a wake-up */
    enum banyan_sock_operation kind;
    enum operation_state state;
    enum banyan_sock_status status;
    int system_error;
    size_t bytes;
    size_t minimum;
    size_t maximum;
    struct iovec single; /* vectors points here when there is one */
    struct iovec *vectors;
    int vector_count;
    int vector_first; /* the first that is not full */
    banyan_sock_update_function *update;
};

/* What a registered descriptor is for; epoll's data points to it. */
enum watch_kind { WATCH_SOCK, WATCH_CANDIDATE, WATCH_TIMER };

struct watch {
    enum watch_kind kind;
    struct banyan_sock *sock;
};

/* Settings that a connect carries over to each of its descriptors. */
struct sock_settings {
    unsigned int idle_s; /* keep-alive; 0: off */
    unsigned int interval_s;
    unsigned int probes;
    unsigned int user_timeout_ms; /* 0: the system's */
    int changed;                  /* they have been set, be it to 0 */
};

struct race; /* of the addresses tried, fabric/sock_connect.c */

struct banyan_sock {
    struct watch watch;
    struct banyan_sock_set *set;
    uint64_t id;
    void *user;
    int fd; /* -1 while connecting and after banyan_sock_post_close */
    unsigned int listening : 1;
    unsigned int connected : 1;
    unsigned int readable : 1; /* a read may find something */
    unsigned int writable : 1;
    unsigned int ended : 1; /* end or error was announced: stays readable */
    unsigned int marks : 1; /* a read may stop early: at an urgent byte, or a descriptor */
    unsigned int closing : 1;
    struct operation input;  /* read, readable, accept */
    struct operation output; /* write, connect */
    struct operation close;
    struct address peer;
    struct sock_settings settings;
    struct race *race; /* until the end of connecting is handed out */
    char *failures;    /* what each of several addresses answered, or NULL */
};

struct banyan_sock_set {
    pthread_mutex_t lock;
    int epoll_fd;
    int wake_fd;
    uint64_t id;
    struct list ready; /* struct operation, DONE */
    struct operation wakeup;
    size_t sock_count;
    unsigned int handed;        /* events since the system was last asked */
    unsigned int waiter : 1;    /* a thread is in banyan_sock_set_wait */
    unsigned int sleeping : 1;  /* and inside epoll_wait */
    unsigned int signalled : 1; /* wake_fd is readable */
    unsigned int draining : 1;  /* the last wait gave an event: the waiter comes again by itself */
    unsigned int drained : 1;   /* epoll had nothing more since */
};

uint64_t sock_next_id(void);
/* Registers fd, unless -1, with the set; the sock owns it from then on.  NULL, errno and fd open on
 * failure.  The caller holds the set's lock until the sock is ready for events: they are
 * edge-triggered. */
struct banyan_sock *sock_create(struct banyan_sock_set *set, int fd, int listening, void *user);
void sock_free(struct banyan_sock *sock);
/* A stream socket that never blocks, or negative errno. */
int sock_open_stream(int family);
void sock_set_option(int fd, int level, int option, int value);
/* 0 or negative errno. */
int sock_apply_settings(int fd, const struct sock_settings *settings);
int sock_watch(struct banyan_sock_set *set, int operation, int fd, struct watch *watch,
               uint32_t events);
void sock_set_system_port(struct sockaddr_storage *system, uint16_t port);
/* 0, or -ERANGE and an error if the range is invalid, or if port is set and not in it. */
int sock_check_ports(struct banyan_sock_ports ports, uint16_t port, struct error *error);
int sock_fail(struct error *error, const struct address *address, struct banyan_sock_ports ports,
              int code, const char *what);
/* Hands the operation to the waiting thread; lock held. */
void sock_complete(struct operation *operation, enum banyan_sock_status status, int system_error);

/* An epoll event of a connect under way, or of the timer for the next address. */
void sock_race_event(struct watch *watch);
/* Closes what is under way; the race itself stays for events of it that have been read already. */
void sock_race_stop(struct banyan_sock *sock);
/* Sets on every descriptor under way what sock->settings say. */
int sock_race_apply_settings(struct banyan_sock *sock);
void sock_race_free(struct banyan_sock *sock);

/* Of a descriptor; length 0 if it has none. */
void sock_read_local_address(int fd, struct address *ret_address);

/* Events of a connected sock. */
#define SOCK_WATCHED (EPOLLIN | EPOLLPRI | EPOLLOUT | EPOLLRDHUP | EPOLLET)

#endif

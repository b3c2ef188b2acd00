/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What fabric/sock.c (sets, completions, transfers), fabric/sock_open.c (making socks) and
 * fabric/sock_status.c (what people and programs are told) share.  All fields but ids are guarded by
 * the set's lock.
 */
#ifndef FABRIC_SOCK_PRIVATE_H
#define FABRIC_SOCK_PRIVATE_H

#include <pthread.h>

#include "base/list.h"
#include "fabric/sock.h"

enum operation_state { IDLE, POSTED, DONE };

struct operation {
    struct list_node node;    /* in set->ready while DONE */
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

struct banyan_sock {
    struct banyan_sock_set *set;
    uint64_t id;
    void *user;
    int fd; /* -1 after banyan_sock_post_close */
    unsigned int listening : 1;
    unsigned int connected : 1;
    unsigned int readable : 1; /* a read may find something */
    unsigned int writable : 1;
    unsigned int ended : 1; /* end or error was announced: stays readable for ever */
    unsigned int
        marks : 1; /* a read may stop before all there is: at an urgent byte, or a descriptor */
    unsigned int closing : 1;
    struct operation input;  /* read, readable, accept */
    struct operation output; /* write, connect */
    struct operation close;
    struct address peer;
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
/* Hands the operation to whoever waits; lock held. */
void sock_complete(struct operation *operation, enum banyan_sock_status status, int system_error);

/* Of a descriptor; length 0 if it has none. */
void sock_read_local_address(int fd, struct address *ret_address);

#endif

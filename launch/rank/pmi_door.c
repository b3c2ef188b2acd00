/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/rank/pmi_door.h"

#include <assert.h>
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/log.h"
#include "fabric/peer_user.h"
#include "launch/exec/descriptor.h"

#define LISTEN_BACKLOG 1024
#define ACCEPTS_MAX    64 /* in one turn of the loop */
#define NO_MORE_NS     100000000ull

struct door {
    struct loop *loop;
    door_function *function;
    void *context;
    int fd;
    struct loop_watch *watch;
    struct loop_timer *timer; /* for the oldest, and after a lack of descriptors */
    struct list visitors;     /* oldest first */
    uint32_t visitors_count;
    int is_out; /* of descriptors */
    int blind;  /* the kernel does not report whose process connects; logged once */
};

struct visitor {
    struct list_link node;
    struct door *door;
    struct loop_watch *watch;
    int fd;
    uint64_t deadline_ns;
    size_t got_bytes;
    size_t need_bytes;
    unsigned char *message; /* HELLO_HEADER_BYTES, then need_bytes */
};

static void visitor_forget(struct visitor *visitor)
{
    assert(visitor->door->visitors_count > 0);
    list_remove(&visitor->node);
    visitor->door->visitors_count--;
    loop_watch_destroy(visitor->watch);
    free(visitor->message);
    free(visitor);
}

static void visitor_drop(struct visitor *visitor)
{
    int fd = visitor->fd;

    visitor_forget(visitor);
    close(fd);
}

/* The message is complete. */
static void visitor_enter(struct visitor *visitor)
{
    struct door *door = visitor->door;
    unsigned char *message = visitor->message;
    size_t bytes = visitor->got_bytes;
    int fd = visitor->fd;
    struct hello hello;

    visitor->message = NULL;
    visitor_forget(visitor);
    if (hello_read(message, bytes, &hello) < 0)
        close(fd);
    else
        door->function(door->context, fd, &hello, message, bytes);
    free(message);
}

/* 1: more may come; 0: it is complete; -errno: it is invalid.  No byte after it is read. */
static int visitor_read(struct visitor *visitor)
{
    ssize_t got = recv(visitor->fd, visitor->message + visitor->got_bytes,
                       visitor->need_bytes - visitor->got_bytes, MSG_DONTWAIT);

    assert(visitor->got_bytes < visitor->need_bytes);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 1;
    if (got <= 0)
        return got < 0 ? -errno : -ECONNRESET;
    visitor->got_bytes += (size_t)got;
    assert(visitor->got_bytes <= visitor->need_bytes);
    if (visitor->got_bytes < visitor->need_bytes)
        return 1;
    if (visitor->need_bytes > HELLO_HEADER_BYTES)
        return 0;
    if (hello_length(visitor->message, &visitor->need_bytes) < 0)
        return -EMSGSIZE;
    if (visitor->need_bytes == HELLO_HEADER_BYTES)
        return -EBADMSG;
    visitor->message = memory_resize(visitor->message, visitor->need_bytes);
    return visitor_read(visitor);
}

static void visitor_ready(void *context, int fd, unsigned int ready)
{
    struct visitor *visitor = context;
    int rc = visitor_read(visitor);

    (void)fd;
    (void)ready;
    if (rc < 0)
        visitor_drop(visitor);
    else if (rc == 0)
        visitor_enter(visitor);
}

static int is_ours(struct door *door, int fd)
{
    uid_t user = 0;
    int rc = peer_user(fd, &user);

    if (rc == -ENOTSUP && !door->blind) {
        door->blind = 1;
        log_info("the system does not report which user connects as a PMIx client");
    }
    return rc == -ENOTSUP || (rc == 0 && user == geteuid());
}

static void watch_set(struct door *door)
{
    loop_watch_set(door->watch, door->is_out ? 0 : LOOP_READ);
}

static void timer_set(struct door *door)
{
    struct list_link *first = list_first(&door->visitors);

    if (door->is_out)
        loop_timer_set(door->timer, loop_now_ns() + NO_MORE_NS);
    else if (first != NULL)
        loop_timer_set(door->timer, list_entry(first, struct visitor, node)->deadline_ns);
}

static void timer_run(void *context)
{
    struct door *door = context;
    uint64_t now_ns = loop_now_ns();
    struct list_link *node, *spare;

    list_for_each(&door->visitors, node, spare)
    {
        struct visitor *visitor = list_entry(node, struct visitor, node);

        if (visitor->deadline_ns <= now_ns)
            visitor_drop(visitor);
    }
    door->is_out = 0;
    watch_set(door);
    timer_set(door);
}

static void visitor_create(struct door *door, int fd)
{
    struct visitor *visitor;
    int rc;

    if (!is_ours(door, fd)) {
        close(fd);
        return;
    }
    if (door->visitors_count == PMI_DOOR_WAITING_MAX)
        visitor_drop(list_entry(list_first(&door->visitors), struct visitor, node));
    assert(door->visitors_count < PMI_DOOR_WAITING_MAX);
    visitor = memory_allocate_zeroed(sizeof(*visitor));
    visitor->door = door;
    visitor->fd = descriptor_move_high(fd);
    visitor->deadline_ns = loop_now_ns() + PMI_DOOR_PATIENCE_NS;
    visitor->need_bytes = HELLO_HEADER_BYTES;
    visitor->message = memory_allocate(HELLO_HEADER_BYTES);
    list_append(&door->visitors, &visitor->node);
    door->visitors_count++;
    rc = visitor_read(visitor);
    if (rc > 0)
        visitor->watch =
            loop_watch_create(door->loop, visitor->fd, LOOP_READ, visitor_ready, visitor);
    if (rc == 0)
        visitor_enter(visitor);
    else if (rc < 0 || visitor->watch == NULL)
        visitor_drop(visitor);
}

static void door_ready(void *context, int fd, unsigned int ready)
{
    struct door *door = context;

    (void)ready;
    for (int i = 0; i < ACCEPTS_MAX; i++) {
        int visitor = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (visitor < 0) {
            /* Waiting clients cannot be accepted: a level-triggered watch would spin. */
            door->is_out =
                errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
            break;
        }
        visitor_create(door, visitor);
    }
    watch_set(door);
    timer_set(door);
}

struct door *pmi_door_open(struct loop *loop, door_function *function, void *context,
                           uint16_t *ret_port, struct error *error)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof(address);
    struct door *door = memory_allocate_zeroed(sizeof(*door));

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    door->loop = loop;
    door->function = function;
    door->context = context;
    list_init(&door->visitors);
    door->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (door->fd < 0 || bind(door->fd, (struct sockaddr *)&address, length) < 0 ||
        listen(door->fd, LISTEN_BACKLOG) < 0 ||
        getsockname(door->fd, (struct sockaddr *)&address, &length) < 0) {
        error_set(error, -errno, "cannot listen for PMIx clients on 127.0.0.1: %s",
                  strerror(errno));
        pmi_door_close(door);
        return NULL;
    }
    *ret_port = ntohs(address.sin_port);
    door->timer = loop_timer_create(loop, timer_run, door);
    door->watch = loop_watch_create(loop, door->fd, LOOP_READ, door_ready, door);
    return door;
}

void pmi_door_close(struct door *door)
{
    struct list_link *node;

    if (door == NULL)
        return;
    while ((node = list_first(&door->visitors)) != NULL)
        visitor_drop(list_entry(node, struct visitor, node));
    loop_watch_destroy(door->watch);
    if (door->timer != NULL)
        loop_timer_destroy(door->timer);
    if (door->fd >= 0)
        close(door->fd);
    free(door);
}

void pmi_door_refuse(int fd, int32_t status)
{
    uint32_t answer = htonl((uint32_t)status);

    (void)!send(fd, &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT);
    close(fd);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every descriptor is registered once, edge-triggered and for both directions; after that only the
 * flags `readable` and `writable` of a sock change, and no system call is spent on interest.
 * Listeners are level-triggered.  A whole batch of epoll events is turned into completions before
 * any is handed out, so no batch contains a sock whose BANYAN_SOCK_CLOSE has been taken.
 */
#include "config.h"

#include "fabric/sock.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "fabric/address.h"
#include "fabric/sock_private.h"

#define EVENTS_MAX 64

uint64_t sock_next_id(void)
{
    static uint64_t last;

    return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

/* ---- Completions; all below runs under the set's lock ---- */

static void operation_check(const struct operation *operation)
{
    assert(operation->state <= DONE);
    assert((operation->state == DONE) == list_is_linked(&operation->node));
}

static void sock_check(const struct banyan_sock *sock)
{
    assert(!sock->listening || !sock->connected);
    assert(!sock->closing || sock->fd < 0);
    assert(sock->fd >= 0 || !sock->connected || sock->closing);
    operation_check(&sock->input);
    operation_check(&sock->output);
    operation_check(&sock->close);
}

static void signal_set(struct banyan_sock_set *set)
{
    uint64_t one = 1;

    if (set->signalled)
        return;
    set->signalled = 1;
    if (write(set->wake_fd, &one, sizeof(one)) != sizeof(one))
        assert(errno == EAGAIN);
}

void sock_complete(struct operation *operation, enum banyan_sock_status status, int system_error)
{
    struct banyan_sock_set *set = operation->sock->set;

    assert(operation->state != DONE);
    operation->state = DONE;
    operation->status = status;
    operation->system_error = system_error;
    if (operation->vectors != &operation->single)
        free(operation->vectors);
    operation->vectors = NULL;
    list_append(&set->ready, &operation->node);
    if (set->sleeping || !set->draining)
        signal_set(set);
}

/* Moves past bytes that were read or written. */
static void advance_vectors(struct operation *operation, size_t bytes)
{
    operation->bytes += bytes;
    assert(operation->bytes <= operation->maximum);
    while (bytes > 0) {
        struct iovec *vector = &operation->vectors[operation->vector_first];
        size_t step = bytes < vector->iov_len ? bytes : vector->iov_len;
        assert(operation->vector_first < operation->vector_count);
        vector->iov_base = (char *)vector->iov_base + step;
        vector->iov_len -= step;
        bytes -= step;
        if (vector->iov_len == 0)
            operation->vector_first++;
    }
}

static ssize_t transfer_vectors(struct banyan_sock *sock, int is_write, struct iovec *vectors,
                                int count)
{
    struct msghdr message = {.msg_iov = vectors, .msg_iovlen = (size_t)count};
    ssize_t result;

    do {
        if (is_write)
            result = sendmsg(sock->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        else
            result = recvmsg(sock->fd, &message, MSG_DONTWAIT);
    } while (result < 0 && errno == EINTR);
    return result;
}

/* One transfer, which updates the readiness: bytes, or 0 for the end, or negative errno. */
static ssize_t transfer_now(struct banyan_sock *sock, int is_write, struct iovec *vectors,
                            int count, size_t wanted)
{
    ssize_t result = transfer_vectors(sock, is_write, vectors, count);
    int blocked = result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    int is_short = result > 0 && (size_t)result < wanted;

    if (is_write && (blocked || is_short))
        sock->writable = 0;
    if (!is_write && (blocked || (is_short && !sock->marks)) && !sock->ended)
        sock->readable = 0;
    if (blocked)
        return -EAGAIN;
    return result < 0 ? -errno : result;
}

/* Works on a posted read or write until it completes or would block. */
static void progress_transfer(struct banyan_sock *sock, struct operation *operation, int is_write)
{
    while (operation->state == POSTED && (is_write ? sock->writable : sock->readable)) {
        ssize_t result = transfer_now(sock, is_write, operation->vectors + operation->vector_first,
                                      operation->vector_count - operation->vector_first,
                                      operation->maximum - operation->bytes);
        if (result > 0) {
            advance_vectors(operation, (size_t)result);
            if (operation->bytes >= operation->minimum)
                sock_complete(operation, BANYAN_SOCK_OK, 0);
            else if (operation->update != NULL)
                operation->update(sock->user, operation->bytes);
        } else if (result == 0) {
            sock_complete(operation, BANYAN_SOCK_CLOSED_BY_PEER, 0);
        } else if (result != -EAGAIN) {
            sock_complete(operation, banyan_sock_status_of((int)-result), (int)-result);
        } else if (operation->minimum == 0) {
            sock_complete(operation, BANYAN_SOCK_OK, 0);
        }
    }
}

static void progress_input(struct banyan_sock *sock)
{
    struct operation *input = &sock->input;

    if (sock->listening) {
        if (input->state == IDLE) {
            input->kind = BANYAN_SOCK_ACCEPT;
            sock_complete(input, BANYAN_SOCK_OK, 0);
        }
    } else if (input->state == POSTED && input->kind == BANYAN_SOCK_READABLE) {
        if (sock->readable)
            sock_complete(input, BANYAN_SOCK_OK, 0);
    } else {
        progress_transfer(sock, input, 0);
    }
}

static void take_readiness(struct banyan_sock *sock, uint32_t ready)
{
    sock_check(sock);
    if (sock->closing)
        return;
    if ((ready & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0)
        sock->ended = 1;
    if ((ready & EPOLLPRI) != 0)
        sock->marks = 1;
    if ((ready & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
        sock->readable = 1;
        progress_input(sock);
    }
    if ((ready & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) {
        sock->writable = 1;
        if (sock->output.kind == BANYAN_SOCK_WRITE)
            progress_transfer(sock, &sock->output, 1);
    }
}

/* ---- Sets ---- */

int banyan_sock_set_create(struct banyan_sock_set **ret_set, struct error *error)
{
    struct banyan_sock_set *set;
    struct epoll_event event = {.events = EPOLLIN};
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    int wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    if (epoll_fd < 0 || wake_fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, wake_fd, &event) < 0) {
        int code = -errno;
        if (epoll_fd >= 0)
            close(epoll_fd);
        if (wake_fd >= 0)
            close(wake_fd);
        return error_set(error, code, "cannot create a set of sockets: %s", strerror(-code));
    }
    set = memory_allocate_zeroed(sizeof(*set));
    pthread_mutex_init(&set->lock, NULL);
    set->epoll_fd = epoll_fd;
    set->wake_fd = wake_fd;
    set->id = sock_next_id();
    list_init(&set->ready);
    list_link_init(&set->wakeup.node);
    set->wakeup.kind = BANYAN_SOCK_WAKEUP;
    *ret_set = set;
    return 0;
}

int banyan_sock_set_destroy(struct banyan_sock_set *set)
{
    if (set == NULL)
        return 0;
    if (set->sock_count > 0 || set->waiter)
        return -EBUSY;
    close(set->epoll_fd);
    close(set->wake_fd);
    pthread_mutex_destroy(&set->lock);
    free(set);
    return 0;
}

uint64_t banyan_sock_set_id(const struct banyan_sock_set *set)
{
    return set->id;
}

int banyan_sock_set_fd(const struct banyan_sock_set *set)
{
    return set->epoll_fd;
}

void banyan_sock_set_wakeup(struct banyan_sock_set *set)
{
    pthread_mutex_lock(&set->lock);
    if (set->wakeup.state == IDLE) {
        set->wakeup.state = DONE;
        list_append(&set->ready, &set->wakeup.node);
    }
    signal_set(set);
    pthread_mutex_unlock(&set->lock);
}

static void clear_signal(struct banyan_sock_set *set)
{
    uint64_t count;

    if (read(set->wake_fd, &count, sizeof(count)) == sizeof(count))
        set->signalled = 0;
}

/* Polls the system and turns its events into completions; lock held before and after. */
static int poll_set(struct banyan_sock_set *set, int timeout_ms)
{
    struct epoll_event events[EVENTS_MAX];
    int count;
    int system_error;

    assert(!set->sleeping);
    set->sleeping = 1;
    pthread_mutex_unlock(&set->lock);
    count = epoll_wait(set->epoll_fd, events, EVENTS_MAX, timeout_ms);
    system_error = errno;
    pthread_mutex_lock(&set->lock);
    set->sleeping = 0;
    if (count < 0)
        return system_error == EINTR ? 0 : -system_error;
    set->draining = 1;
    set->drained = count < EVENTS_MAX;
    set->handed = 0;
    for (int i = 0; i < count; i++) {
        struct watch *watch = events[i].data.ptr;
        if (watch == NULL)
            clear_signal(set);
        else if (watch->kind == WATCH_SOCK)
            take_readiness(watch->sock, events[i].events);
        else
            sock_race_event(watch);
    }
    return 0;
}

static int take_event(struct banyan_sock_set *set, struct banyan_sock_event *ret_event)
{
    struct list_link *node = list_first(&set->ready);
    struct operation *operation;
    struct banyan_sock *sock;

    if (node == NULL)
        return 0;
    operation = list_entry(node, struct operation, node);
    sock = operation->sock; /* NULL of a wake-up */
    assert(operation->state == DONE);
    *ret_event = (struct banyan_sock_event){
        .operation = operation->kind,
        .status = operation->status,
        .system_error = operation->system_error,
        .bytes = operation->bytes,
        .sock = sock,
        .user = sock != NULL ? sock->user : NULL,
    };
    list_remove(&operation->node);
    operation->state = IDLE;
    set->handed++;
    if (operation->kind == BANYAN_SOCK_CONNECT)
        sock_race_free(sock);
    if (operation->kind == BANYAN_SOCK_CLOSE) {
        assert(set->sock_count > 0);
        set->sock_count--;
        sock_free(sock);
    }
    return 1;
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Rounded up, at least 1. */
static int remaining_ms(int64_t deadline_ms)
{
    int64_t remaining = deadline_ms - now_ms() + 1;

    if (remaining < 1)
        return 1;
    return remaining < INT_MAX ? (int)remaining : INT_MAX;
}

static int wait_locked(struct banyan_sock_set *set, int timeout_ms,
                       struct banyan_sock_event *ret_event)
{
    int64_t deadline_ms = timeout_ms > 0 ? now_ms() + timeout_ms : 0;

    /* A sock that is constantly reposted must not keep the system from being polled for the
     * others. */
    if (set->handed >= EVENTS_MAX) {
        int rc = poll_set(set, 0);
        if (rc < 0)
            return rc;
    }
    for (;;) {
        int rc;
        if (take_event(set, ret_event))
            return 1;
        if (timeout_ms == 0 && set->drained && !set->signalled)
            return 0;
        rc = poll_set(set, timeout_ms);
        if (rc < 0)
            return rc;
        if (timeout_ms == 0 || (timeout_ms > 0 && now_ms() >= deadline_ms))
            return take_event(set, ret_event);
        if (timeout_ms > 0)
            timeout_ms = remaining_ms(deadline_ms);
    }
}

int banyan_sock_set_wait(struct banyan_sock_set *set, int timeout_ms,
                         struct banyan_sock_event *ret_event)
{
    int rc = -EBUSY;

    pthread_mutex_lock(&set->lock);
    if (!set->waiter) {
        set->waiter = 1;
        rc = wait_locked(set, timeout_ms, ret_event);
        set->waiter = 0;
        set->draining = rc == 1;
        if (rc != 1)
            set->drained = 0;
    }
    pthread_mutex_unlock(&set->lock);
    return rc;
}

/* ---- Posting ---- */

/* Until its BANYAN_SOCK_CONNECT has been handed out. */
static int is_connecting(const struct banyan_sock *sock)
{
    return sock->output.kind == BANYAN_SOCK_CONNECT && sock->output.state != IDLE;
}

static int check_post(const struct banyan_sock *sock, const struct operation *operation)
{
    if (sock->closing)
        return -ESHUTDOWN;
    if (!sock->connected || is_connecting(sock))
        return -ENOTCONN;
    return operation->state == IDLE ? 0 : -EBUSY;
}

/* The sum, or 0 if there is nothing to do or the call is wrong. */
static size_t vectors_bytes(const struct iovec *vectors, int count)
{
    size_t bytes = 0;

    if (count < 1 || count > BANYAN_SOCK_VECTORS_MAX)
        return 0;
    for (int i = 0; i < count; i++) {
        if (vectors[i].iov_len > SSIZE_MAX - bytes)
            return 0;
        bytes += vectors[i].iov_len;
    }
    return bytes;
}

static void post_operation(struct operation *operation, enum banyan_sock_operation kind,
                           const struct iovec *vectors, int count, size_t minimum,
                           banyan_sock_update_function *update)
{
    assert(operation->state == IDLE && count >= 1);
    operation->kind = kind;
    operation->state = POSTED;
    operation->bytes = 0;
    operation->minimum = minimum;
    operation->maximum = vectors_bytes(vectors, count);
    operation->update = update;
    operation->vector_first = 0;
    operation->vector_count = count;
    if (count == 1) {
        operation->single = vectors[0];
        operation->vectors = &operation->single;
    } else {
        operation->vectors = memory_copy(vectors, (size_t)count * sizeof(*vectors));
    }
}

static int post_transfer(struct banyan_sock *sock, int is_write, const struct iovec *vectors,
                         int count, size_t minimum, banyan_sock_update_function *update)
{
    struct operation *operation = is_write ? &sock->output : &sock->input;
    size_t maximum = vectors_bytes(vectors, count);
    int rc;

    if (maximum == 0 || minimum > maximum)
        return -EINVAL;
    pthread_mutex_lock(&sock->set->lock);
    rc = check_post(sock, operation);
    sock_check(sock);
    if (rc == 0) {
        post_operation(operation, is_write ? BANYAN_SOCK_WRITE : BANYAN_SOCK_READ, vectors, count,
                       minimum, update);
        progress_transfer(sock, operation, is_write);
        if (minimum == 0 && operation->state == POSTED)
            sock_complete(operation, BANYAN_SOCK_OK, 0);
    }
    pthread_mutex_unlock(&sock->set->lock);
    return rc;
}

int banyan_sock_post_read(struct banyan_sock *sock, void *data, size_t minimum, size_t maximum,
                          banyan_sock_update_function *update)
{
    struct iovec vector = {.iov_base = data, .iov_len = maximum};

    return post_transfer(sock, 0, &vector, 1, minimum, update);
}

int banyan_sock_post_readv(struct banyan_sock *sock, const struct iovec *vectors, int count,
                           size_t minimum, banyan_sock_update_function *update)
{
    return post_transfer(sock, 0, vectors, count, minimum, update);
}

int banyan_sock_post_write(struct banyan_sock *sock, const void *data, size_t minimum,
                           size_t maximum, banyan_sock_update_function *update)
{
    struct iovec vector = {.iov_base = (void *)data, .iov_len = maximum};

    return post_transfer(sock, 1, &vector, 1, minimum, update);
}

int banyan_sock_post_writev(struct banyan_sock *sock, const struct iovec *vectors, int count,
                            size_t minimum, banyan_sock_update_function *update)
{
    return post_transfer(sock, 1, vectors, count, minimum, update);
}

int banyan_sock_post_readable(struct banyan_sock *sock)
{
    int rc;

    pthread_mutex_lock(&sock->set->lock);
    rc = check_post(sock, &sock->input);
    if (rc == 0) {
        sock->input.kind = BANYAN_SOCK_READABLE;
        sock->input.state = POSTED;
        sock->input.bytes = 0;
        progress_input(sock);
    }
    pthread_mutex_unlock(&sock->set->lock);
    return rc;
}

static void interrupt_operation(struct operation *operation)
{
    if (operation->state == POSTED)
        sock_complete(operation, BANYAN_SOCK_INTERRUPTED, ECANCELED);
    else if (operation->state == DONE && operation->kind == BANYAN_SOCK_ACCEPT)
        operation->status = BANYAN_SOCK_INTERRUPTED;
}

int banyan_sock_post_close(struct banyan_sock *sock)
{
    struct banyan_sock_set *set = sock->set;

    pthread_mutex_lock(&set->lock);
    sock_check(sock);
    if (sock->closing) {
        pthread_mutex_unlock(&set->lock);
        return -ESHUTDOWN;
    }
    sock->closing = 1;
    interrupt_operation(&sock->input);
    interrupt_operation(&sock->output);
    sock_race_stop(sock);
    if (sock->fd >= 0) {
        /* A forked child may hold the same file: closing alone would leave it registered. */
        epoll_ctl(set->epoll_fd, EPOLL_CTL_DEL, sock->fd, NULL);
        close(sock->fd);
        sock->fd = -1;
    }
    sock_complete(&sock->close, BANYAN_SOCK_OK, 0);
    pthread_mutex_unlock(&set->lock);
    return 0;
}

/* ---- At once ---- */

static int transfer_once(struct banyan_sock *sock, int is_write, const struct iovec *vectors,
                         int count, size_t *ret_bytes)
{
    size_t wanted = vectors_bytes(vectors, count);
    ssize_t result;
    int rc;

    if (wanted == 0)
        return -EINVAL;
    pthread_mutex_lock(&sock->set->lock);
    rc = check_post(sock, is_write ? &sock->output : &sock->input);
    result = rc < 0 ? rc : transfer_now(sock, is_write, (struct iovec *)vectors, count, wanted);
    pthread_mutex_unlock(&sock->set->lock);
    if (result < 0)
        return (int)result;
    *ret_bytes = (size_t)result;
    return result == 0 && !is_write ? -EPIPE : 0;
}

int banyan_sock_read(struct banyan_sock *sock, void *data, size_t bytes, size_t *ret_bytes)
{
    struct iovec vector = {.iov_base = data, .iov_len = bytes};

    return transfer_once(sock, 0, &vector, 1, ret_bytes);
}

int banyan_sock_readv(struct banyan_sock *sock, const struct iovec *vectors, int count,
                      size_t *ret_bytes)
{
    return transfer_once(sock, 0, vectors, count, ret_bytes);
}

int banyan_sock_write(struct banyan_sock *sock, const void *data, size_t bytes, size_t *ret_bytes)
{
    struct iovec vector = {.iov_base = (void *)data, .iov_len = bytes};

    return transfer_once(sock, 1, &vector, 1, ret_bytes);
}

int banyan_sock_writev(struct banyan_sock *sock, const struct iovec *vectors, int count,
                       size_t *ret_bytes)
{
    return transfer_once(sock, 1, vectors, count, ret_bytes);
}

int banyan_sock_shutdown_write(struct banyan_sock *sock)
{
    int rc;

    pthread_mutex_lock(&sock->set->lock);
    if (sock->closing)
        rc = -ESHUTDOWN;
    else if (!sock->connected || is_connecting(sock))
        rc = -ENOTCONN;
    else
        rc = shutdown(sock->fd, SHUT_WR) < 0 ? -errno : 0;
    pthread_mutex_unlock(&sock->set->lock);
    return rc;
}

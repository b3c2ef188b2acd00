/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_thread.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "pmix/host_internal.h"

static struct {
    pthread_mutex_t mutex; /* guards all */
    struct host_call *first;
    struct host_call *last;
    int descriptor; /* -1: closed */
} queue = {.mutex = PTHREAD_MUTEX_INITIALIZER, .descriptor = -1};

int host_thread_open(struct error *error)
{
    int descriptor;

    if (queue.descriptor >= 0)
        return error_set(error, -EBUSY, "this process has a PMIx server already");
    descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (descriptor < 0)
        return error_set(error, -errno, "cannot start the PMIx server: eventfd: %s",
                         strerror(errno));
    pthread_mutex_lock(&queue.mutex);
    queue.descriptor = descriptor;
    pthread_mutex_unlock(&queue.mutex);
    return 0;
}

static struct host_call *take_all(void)
{
    struct host_call *first = queue.first;

    queue.first = NULL;
    queue.last = NULL;
    return first;
}

static void run_all(struct host *host, struct host_call *call)
{
    struct host_call *next;

    for (; call != NULL; call = next) {
        next = call->next;
        call->run(host != NULL && host->is_doomed ? NULL : host, call);
    }
}

void host_thread_close(void)
{
    struct host_call *calls;

    pthread_mutex_lock(&queue.mutex);
    calls = take_all();
    close(queue.descriptor);
    queue.descriptor = -1;
    pthread_mutex_unlock(&queue.mutex);
    run_all(NULL, calls);
}

int host_thread_descriptor(void)
{
    return queue.descriptor;
}

/* A write fails only when the counter is full, and then the daemon is woken anyway. */
static void append(struct host_call *call)
{
    if (queue.first != NULL) {
        queue.last->next = call;
    } else {
        queue.first = call;
        if (write(queue.descriptor, &(uint64_t){1}, sizeof(uint64_t)) < 0)
            assert(errno == EAGAIN);
    }
    queue.last = call;
}

void host_thread_post(struct host_call *call)
{
    int is_open;

    call->next = NULL;
    pthread_mutex_lock(&queue.mutex);
    is_open = queue.descriptor >= 0;
    if (is_open)
        append(call);
    pthread_mutex_unlock(&queue.mutex);
    if (!is_open)
        call->run(NULL, call);
}

void host_thread_run(struct host *host)
{
    struct host_call *calls;
    uint64_t count;

    /* The wake-up is taken before the calls: one that is posted in between wakes us again. */
    if (read(queue.descriptor, &count, sizeof(count)) < 0)
        assert(errno == EAGAIN);
    pthread_mutex_lock(&queue.mutex);
    calls = take_all();
    pthread_mutex_unlock(&queue.mutex);
    run_all(host, calls);
}

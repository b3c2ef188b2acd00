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
    int descriptor; /* -1: not open yet */
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
    queue.descriptor = descriptor;
    return 0;
}

int host_thread_descriptor(void)
{
    return queue.descriptor;
}

/* A write fails only when the counter is full, and then the main thread is woken anyway. */
void host_thread_post(struct host_call *call)
{
    assert(call->run != NULL && queue.descriptor >= 0);
    call->next = NULL;
    pthread_mutex_lock(&queue.mutex);
    if (queue.first != NULL) {
        queue.last->next = call;
    } else {
        queue.first = call;
        if (write(queue.descriptor, &(uint64_t){1}, sizeof(uint64_t)) < 0)
            assert(errno == EAGAIN);
    }
    queue.last = call;
    pthread_mutex_unlock(&queue.mutex);
}

static struct host_call *take_all(void)
{
    struct host_call *first;

    pthread_mutex_lock(&queue.mutex);
    first = queue.first;
    assert((queue.first == NULL) == (queue.last == NULL));
    queue.first = NULL;
    queue.last = NULL;
    pthread_mutex_unlock(&queue.mutex);
    return first;
}

void host_thread_run(struct host *host)
{
    struct host_call *call, *next;
    uint64_t count;

    /* The wake-up is taken before the calls: one that is posted in between wakes us again. */
    if (read(queue.descriptor, &count, sizeof(count)) < 0)
        assert(errno == EAGAIN);
    for (call = take_all(); call != NULL; call = next) {
        next = call->next;
        call->run(host, call);
    }
}

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

static struct {
    pthread_mutex_t mutex; /* guards first and last */
    struct host_call *first;
    struct host_call *last;
    int descriptor;
} queue = {.mutex = PTHREAD_MUTEX_INITIALIZER, .descriptor = -1};

int host_thread_open(struct error *error)
{
    assert(queue.descriptor < 0);
    queue.descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (queue.descriptor < 0)
        return error_set(error, -errno, "cannot start the PMIx server: eventfd: %s",
                         strerror(errno));
    return 0;
}

void host_thread_close(void)
{
    host_thread_run(NULL);
    close(queue.descriptor);
    queue.descriptor = -1;
}

int host_thread_descriptor(void)
{
    return queue.descriptor;
}

void host_thread_post(struct host_call *call)
{
    int was_empty;

    call->next = NULL;
    pthread_mutex_lock(&queue.mutex);
    was_empty = queue.first == NULL;
    if (was_empty)
        queue.first = call;
    else
        queue.last->next = call;
    queue.last = call;
    pthread_mutex_unlock(&queue.mutex);
    /* Fails only when the counter is full, and then the daemon is woken anyway. */
    if (was_empty && write(queue.descriptor, &(uint64_t){1}, sizeof(uint64_t)) < 0)
        assert(errno == EAGAIN);
}

void host_thread_run(struct host *host)
{
    struct host_call *call, *next;
    uint64_t count;

    /* The wake-up is taken before the calls: one that is posted in between wakes us again. */
    if (read(queue.descriptor, &count, sizeof(count)) < 0)
        assert(errno == EAGAIN);
    pthread_mutex_lock(&queue.mutex);
    call = queue.first;
    queue.first = NULL;
    queue.last = NULL;
    pthread_mutex_unlock(&queue.mutex);
    for (; call != NULL; call = next) {
        next = call->next;
        call->run(host, call);
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_loop.h"

#include <assert.h>
#include <dlfcn.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "pmix/host.h"

#include <event2/event.h>
#include <pmix.h>

enum mode { MODE_THEIRS, MODE_OURS, MODE_UNDECIDED };

/* libevent as libpmix has it: this object is not linked to another one. */
static struct {
    enum mode mode;
    struct event_base *base;
    int (*turn)(struct event_base *base, int flags);
    int came;
} loop = {.mode = MODE_UNDECIDED};

struct functions {
    struct event_base *(*base_of)(
        const char *thread); /* NULL: the one that all of libpmix shares */
    pmix_status_t (*pause)(const char *thread);
    int (*turn)(struct event_base *base, int flags);
    struct event *(*event_new)(struct event_base *base, evutil_socket_t fd, short what,
                               event_callback_fn callback, void *context);
    int (*event_add)(struct event *event, const struct timeval *timeout);
};

/* Where ISO C knows no way from a pointer to data to one to a function, POSIX does (dlsym). */
static int find_symbol(const char *name, void *ret_function)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);

    *(void **)ret_function = symbol;
    return symbol != NULL;
}

static int find_functions(struct functions *ret_functions)
{
    return find_symbol("pmix_progress_thread_init", &ret_functions->base_of) &&
           find_symbol("pmix_progress_thread_pause", &ret_functions->pause) &&
           find_symbol("event_base_loop", &ret_functions->turn) &&
           find_symbol("event_new", &ret_functions->event_new) &&
           find_symbol("event_add", &ret_functions->event_add);
}

static int is_known_version(void)
{
    int major = 0, minor = 0;

    return sscanf(PMIx_Get_version(), "%*[^0-9]%d.%d", &major, &minor) == 2 &&
           ((major == 4 && minor == 2) || (major == 5 && minor == 0));
}

static void on_ready(evutil_socket_t fd, short what, void *context)
{
    loop.came |= *(const int *)context;
}

static int watch_fd(const struct functions *functions, struct event_base *base, int fd,
                    const int *what)
{
    struct event *event =
        functions->event_new(base, fd, EV_READ | EV_PERSIST, on_ready, (void *)(uintptr_t)what);

    return event != NULL && functions->event_add(event, NULL) == 0;
}

/* Both descriptors live as long as the process. */
static enum mode take_over(int fd, int own_fd)
{
    static const int what_fd = HOST_FD, what_own = HOST_OWN;
    struct functions functions;

    if (!is_known_version() || !find_functions(&functions) || functions.pause(NULL) != PMIX_SUCCESS)
        return MODE_THEIRS;
    loop.base = functions.base_of(NULL);
    loop.turn = functions.turn;
    assert(loop.base != NULL);
    if (!watch_fd(&functions, loop.base, fd, &what_fd) ||
        !watch_fd(&functions, loop.base, own_fd, &what_own))
        abort();
    return MODE_OURS;
}

static int poll_both(int fd, int own_fd)
{
    struct pollfd fds[2] = {{.fd = fd, .events = POLLIN}, {.fd = own_fd, .events = POLLIN}};

    if (poll(fds, 2, -1) < 0)
        return 0;
    return (fds[0].revents != 0 ? HOST_FD : 0) | (fds[1].revents != 0 ? HOST_OWN : 0);
}

int host_loop_wait(int fd, int own_fd)
{
    int came;

    assert(fd >= 0 && own_fd >= 0);
    if (loop.mode == MODE_UNDECIDED)
        loop.mode = take_over(fd, own_fd);
    if (loop.mode == MODE_THEIRS)
        return poll_both(fd, own_fd);
    if (loop.came == 0)
        (void)loop.turn(loop.base, EVLOOP_ONCE);
    came = loop.came;
    loop.came = 0;
    return came;
}

static void call_over(pmix_status_t status, void *context)
{
    struct host_loop_call *call = context;

    assert(!call->is_over);
    call->status = status;
    call->is_over = 1;
}

pmix_op_cbfunc_t host_loop_callback(void)
{
    return loop.mode == MODE_OURS ? call_over : NULL;
}

pmix_status_t host_loop_finish(struct host_loop_call *call, pmix_status_t status)
{
    assert(loop.mode == MODE_OURS || !call->is_over);
    if (loop.mode != MODE_OURS || status != PMIX_SUCCESS)
        return status;
    while (!call->is_over)
        (void)loop.turn(loop.base, EVLOOP_ONCE);
    return call->status;
}

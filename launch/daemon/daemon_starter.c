/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a daemon that has not joined notices the end of its starter: its stdout is a pipe or socket, which
 * breaks when the starter, or the agent in between, exits.  A daemon waits for a parent that is not up
 * yet, but not for one whose death the broken pipe shows, except for the moment in which another
 * ancestor may accept it.
 */
#include "config.h"

#include "base/time.h"
#include "launch/daemon/daemon_internal.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "overlay/endpoint.h"

#define STARTER_GONE_MS 1500

static void end_unjoined(void *context)
{
    struct daemon *daemon = context;

    daemon_check(daemon);
    assert(daemon->starter_watch == NULL); /* on_ready sets the timer */
    if (!daemon_core_has_joined(daemon->core))
        daemon_end(daemon, ENDPOINT_END_ORPHAN, "its starter exited before it joined");
}

/* The only event at a pipe's write end is that it breaks; a socket may also have input for us. */
static int is_broken(int fd)
{
    struct pollfd state = {.fd = fd, .events = POLLIN};
    char byte;

    if (poll(&state, 1, 0) <= 0)
        return 0;
    return (state.revents & (POLLERR | POLLHUP)) != 0 ||
           recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static void on_ready(void *context, int fd, unsigned int ready)
{
    struct daemon *daemon = context;

    (void)ready;
    daemon_check(daemon);
    assert(daemon->starter_watch != NULL && fd == STDOUT_FILENO);
    loop_watch_destroy(daemon->starter_watch);
    daemon->starter_watch = NULL;
    if (is_broken(fd))
        loop_timer_set(daemon->starter_timer, loop_now_ns() + STARTER_GONE_MS * NS_PER_MS);
}

void daemon_watch_starter(struct daemon *daemon)
{
    struct stat status;

    assert(daemon->starter_timer == NULL && daemon->starter_watch == NULL);
    if (daemon->root || daemon->is_joiner || fstat(STDOUT_FILENO, &status) < 0 ||
        !(S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)))
        return;
    daemon->starter_timer = loop_timer_create(daemon->loop, end_unjoined, daemon);
    daemon->starter_watch =
        loop_watch_create(daemon->loop, STDOUT_FILENO, LOOP_READ, on_ready, daemon);
}

void daemon_forget_starter(struct daemon *daemon)
{
    loop_watch_destroy(daemon->starter_watch);
    daemon->starter_watch = NULL;
    if (daemon->starter_timer)
        loop_timer_destroy(daemon->starter_timer);
    daemon->starter_timer = NULL;
}

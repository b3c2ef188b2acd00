/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a daemon that has not joined yet can know of who started it: its output is a pipe or a socket,
 * which breaks when the starter, or the agent in between, ends.  A parent that is not up yet is waited
 * for; one that is dead is not, but for the moment in which another ancestor may take us.
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
    assert(daemon->starter_watch == NULL); /* on_ready has set the timer */
    if (!daemon_core_has_joined(daemon->core))
        daemon_end(daemon, ENDPOINT_END_ORPHAN, "its starter exited before it joined");
}

/* Nothing comes on a pipe's end for writing but its breaking; a socket may be our input, too. */
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

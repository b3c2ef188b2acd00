/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/remote/proxy_child.h"
#include "test/support/tap.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "launch/proto/exit_status.h"

#define PATIENCE_MS 20000

static struct proxy_child child;

static void become_exit(void *context)
{
    _exit(*(const int *)context);
}

static void become_nothing(void *context)
{
}

static void become_waiting(void *context)
{
    proxy_child_unblock(context);
    for (;;)
        pause();
}

/* Waits for the child's end and returns the last other signal that came. */
static int wait_for_end(void)
{
    struct signalfd_siginfo info;
    int number, last = 0;

    while (!child.has_ended) {
        struct pollfd ready = {.fd = child.signals_fd, .events = POLLIN};

        if (poll(&ready, 1, PATIENCE_MS) <= 0)
            bail_out("the child does not end");
        while ((number = proxy_child_next_signal(&child, &info)) > 0)
            last = number;
    }
    close(child.signals_fd);
    proxy_child_unblock(&child); /* for the next one */
    return last;
}

static int fork_child(void (*become)(void *context), void *context)
{
    return proxy_child_fork(&child, proxy_child_signals, proxy_child_signals_count, become,
                            context);
}

static void test_status(void)
{
    int status = 7;

    is_int(fork_child(become_exit, &status), 0, "a child is forked");
    is_int(proxy_child_exit_status(&child), EXIT_STATUS_FAILED, "its end is not known yet");
    is_int(wait_for_end(), 0, "it ends, and no other signal comes");
    is_int(proxy_child_exit_status(&child), 7, "its status is ours");
    is_int(fork_child(become_nothing, NULL), 0, "one that becomes nothing");
    (void)wait_for_end();
    is_int(proxy_child_exit_status(&child), EXIT_STATUS_FAILED, "is a failure of banyan's");
}

static void test_signals(void)
{
    struct signalfd_siginfo info = {0};

    is_int(fork_child(become_waiting, &child), 0, "one that waits");
    is_int(proxy_child_next_signal(&child, &info), 0, "no signal has come");
    ok(!child.has_ended, "and it has not ended");
    kill(getpid(), SIGUSR1);
    is_int(proxy_child_next_signal(&child, &info), SIGUSR1, "a signal to us is read");
    ok(info.ssi_pid == (uint32_t)getpid(), "with its sender");
    kill(child.pid, SIGTERM);
    kill(getpid(), SIGINT);
    is_int(wait_for_end(), SIGINT, "another one, while it ends");
    is_int(proxy_child_exit_status(&child), EXIT_STATUS_SIGNAL + SIGTERM,
           "the child had its signals unblocked, and its status says which ended it");
}

int main(void)
{
    test_status();
    test_signals();
    return done_testing();
}

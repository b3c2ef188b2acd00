/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/loop.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/support/tap.h"

static struct loop *loop;
static int order[16];
static int order_count;

static void note(void *context)
{
    if (order_count < 16)
        order[order_count++] = *(int *)context;
}

static int one = 1;
static int two = 2;
static int three = 3;

static void stop(void *context)
{
    loop_stop(loop);
}

static void test_defer(void)
{
    order_count = 0;
    loop_defer(loop, note, &one);
    loop_defer(loop, note, &two);
    loop_defer(loop, note, &three);
    loop_defer_cancel(loop, &two);
    loop_defer(loop, stop, loop);
    is_int(loop_run(loop), 0, "a deferred call ends the loop");
    is_int(order_count, 2, "two of three deferred calls ran");
    ok(order[0] == 1 && order[1] == 3, "in their order, without the cancelled one");
}

static struct loop_watch *watch;
static int turns;
static int deferred_at;

static void note_turn(void *context)
{
    deferred_at = turns;
}

static void on_readable(void *context, int fd, unsigned int ready)
{
    turns++;
    if (turns == 1)
        loop_defer(loop, note_turn, NULL);
    if (turns == 3) {
        loop_watch_destroy(watch);
        watch = NULL;
        loop_stop(loop);
    }
}

static void test_watch(void)
{
    int fds[2];

    ok(pipe(fds) == 0, "a pipe");
    ok(write(fds[1], "x", 1) == 1, "is readable");
    turns = 0;
    watch = loop_watch_create(loop, fds[0], LOOP_READ, on_readable, NULL);
    loop_run(loop);
    is_int(turns, 3, "a watch is level-triggered");
    is_int(deferred_at, 1, "what is deferred runs before the next turn");
    ok(watch == NULL, "a watch may be destroyed in its own call");
    close(fds[0]);
    close(fds[1]);
}

static unsigned int ready_seen;

static void on_ready(void *context, int fd, unsigned int ready)
{
    ready_seen |= ready;
    loop_stop(loop);
}

static void test_interest(void)
{
    int fds[2];
    struct loop_watch *both;
    struct loop_timer *timer = loop_timer_create(loop, stop, NULL);

    ok(pipe(fds) == 0, "a pipe");
    both = loop_watch_create(loop, fds[1], 0, on_ready, NULL);
    loop_timer_set(timer, loop_now_ns() + 5000000);
    loop_run(loop);
    is_uint(ready_seen, 0, "interest 0 tells nothing");
    loop_watch_set(both, LOOP_WRITE);
    loop_run(loop);
    is_uint(ready_seen, LOOP_WRITE, "then writable is told");
    loop_watch_destroy(both);
    loop_timer_destroy(timer);
    close(fds[0]);
    close(fds[1]);
}

static uint64_t fired_ns;

static void on_timer(void *context)
{
    fired_ns = loop_now_ns();
    loop_stop(loop);
}

static void test_timer(void)
{
    struct loop_timer *timer = loop_timer_create(loop, on_timer, NULL);
    int early = 0;

    for (int i = 0; i < 20; i++) {
        uint64_t deadline_ns = loop_now_ns() + 1500000;
        loop_timer_set(timer, deadline_ns + 1000000000);
        loop_timer_set(timer, deadline_ns);
        loop_run(loop);
        early += fired_ns < deadline_ns;
    }
    is_int(early, 0, "a timer is never early, also when it was set before");
    loop_timer_set(timer, 0);
    loop_run(loop);
    pass("a timer of the past fires");
    loop_timer_set(timer, UINT64_MAX);
    loop_timer_cancel(timer);
    is_int(loop_run(loop), -EDEADLK, "a loop that nothing can wake says so");
    loop_timer_destroy(timer);
}

static struct loop_timer *windowed;
static int windows;

static void on_window(void *context)
{
    windows++;
    if (context != NULL)
        loop_stop(loop);
}

static void test_window(void)
{
    struct loop_timer *other = loop_timer_create(loop, on_timer, NULL);
    struct loop_timer *lonely = loop_timer_create(loop, on_window, &one);
    uint64_t now_ns = loop_now_ns();

    windowed = loop_timer_create(loop, on_window, NULL);
    loop_timer_set_between(windowed, now_ns, now_ns + 3600 * 1000000000ull);
    loop_timer_set(other, now_ns + 1000000);
    loop_run(loop);
    is_int(windows, 1, "a timer with a window runs when another wakes the loop");
    loop_timer_set_between(windowed, now_ns + 1800 * 1000000000ull, now_ns + 3600 * 1000000000ull);
    loop_timer_set(other, now_ns);
    loop_run(loop);
    is_int(windows, 1, "but not before its window");
    loop_timer_cancel(windowed);
    now_ns = loop_now_ns();
    loop_timer_set_between(lonely, now_ns, now_ns + 1000000);
    loop_run(loop);
    ok(windows == 2 && loop_now_ns() >= now_ns, "and at its end if nothing else happens");
    loop_timer_destroy(windowed);
    loop_timer_destroy(lonely);
    loop_timer_destroy(other);
}

#define TIMERS 200

static uint64_t last_ns;
static int disorder;
static int ran;

static void on_one_of_many(void *context)
{
    uint64_t *deadline_ns = context;

    disorder += *deadline_ns < last_ns || loop_now_ns() < *deadline_ns;
    last_ns = *deadline_ns;
    if (++ran == TIMERS / 2)
        loop_stop(loop);
}

static void test_many_timers(void)
{
    struct loop_timer *timers[TIMERS];
    uint64_t deadlines_ns[TIMERS];
    uint64_t now_ns = loop_now_ns();

    for (uint32_t i = 0; i < TIMERS; i++) {
        deadlines_ns[i] = now_ns + (i * 7919 % TIMERS) * 10000;
        timers[i] = loop_timer_create(loop, on_one_of_many, &deadlines_ns[i]);
        loop_timer_set(timers[i], now_ns + (i % 3) * 1000000);
        loop_timer_set(timers[i], deadlines_ns[i]);
    }
    for (uint32_t i = 0; i < TIMERS; i += 2)
        loop_timer_cancel(timers[i]);
    loop_run(loop);
    is_int(ran, TIMERS / 2, "of many timers those run that were not cancelled");
    is_int(disorder, 0, "in the order of their deadlines, none of them early");
    for (uint32_t i = 0; i < TIMERS; i++)
        loop_timer_destroy(timers[i]);
}

static void test_wakes(void)
{
    struct loop_timer *timer = loop_timer_create(loop, on_timer, NULL);
    struct rusage before;
    struct rusage after;

    getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < 20; i++) {
        loop_timer_set(timer, loop_now_ns() + 5500000);
        loop_run(loop);
    }
    getrusage(RUSAGE_SELF, &after);
    ok(after.ru_nvcsw - before.ru_nvcsw < 30,
       "a timer wakes the process once, not until a clock has ticked");
    loop_timer_destroy(timer);
}

static void test_stop(void)
{
    loop_stop(loop);
    is_int(loop_run(loop), 0, "a stop before the run is not lost");
}

static int signals;

static void on_signal(void *context)
{
    if (++signals == *(int *)context)
        loop_stop(loop);
}

static void test_signal(void)
{
    sigset_t mask;
    struct loop_signal *user1 = loop_signal_create(loop, SIGUSR1, on_signal, &two);
    struct loop_signal *user2 = loop_signal_create(loop, SIGUSR2, on_signal, &two);

    raise(SIGUSR1);
    raise(SIGUSR2);
    loop_run(loop);
    is_int(signals, 2, "two signals are told");
    loop_signal_destroy(user1);
    sigprocmask(SIG_BLOCK, NULL, &mask);
    ok(!sigismember(&mask, SIGUSR1) && sigismember(&mask, SIGUSR2),
       "a signal is blocked while it is watched");
    loop_signal_destroy(user2);
}

/* What a forked daemon does: its parent's loop is only forgotten. */
static int child(void)
{
    loop = loop_create(NULL);
    signals = 0;
    loop_signal_create(loop, SIGUSR1, on_signal, &one);
    loop_timer_set(loop_timer_create(loop, stop, NULL), loop_now_ns() + 5000000000);
    raise(SIGUSR1);
    return loop_run(loop) == 0 && signals == 1 ? 0 : 1;
}

static void test_fork(void)
{
    struct loop_signal *signal = loop_signal_create(loop, SIGUSR1, on_signal, &one);
    int status = -1;
    pid_t pid = fork();

    if (pid == 0)
        _exit(child());
    waitpid(pid, &status, 0);
    is_int(status, 0, "a forked child makes a loop of its own");
    signals = 0;
    raise(SIGUSR1);
    loop_run(loop);
    is_int(signals, 1, "and its parent's goes on");
    loop_signal_destroy(signal);
}

int main(void)
{
    struct error error = ERROR_NONE;

    loop = loop_create(&error);
    if (loop == NULL)
        bail_out("%s", error.text);
    test_defer();
    test_watch();
    test_interest();
    test_timer();
    test_window();
    test_many_timers();
    test_wakes();
    test_stop();
    test_signal();
    test_fork();
    loop_destroy(loop);
    return done_testing();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Row K3 of the socket layer, built with the thread sanitizer where there is one: one thread waits,
 * others wake it, post to its socks and close them.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/sock_world.h"
#include "test/support/tap.h"

#define POSTERS  4
#define MESSAGES 500
#define BYTES    100

struct lane {
    struct banyan_sock *near;
    struct banyan_sock *far;
    char out[BYTES];
    char in[BYTES];
    int received;
    int wrong;
    int failed;
    pthread_mutex_t lock;
    pthread_cond_t cond;
    int writable; /* the write that was posted is done */
};

static struct lane lanes[POSTERS];
static int closed;

static void test_wait(void)
{
    struct banyan_sock_event event;

    is_int(banyan_sock_set_wait(set, 0, &event), 0, "K3: nothing has happened");
    is_int(banyan_sock_set_wait(set, 10, &event), 0, "K3: nor happens in 10 ms");
    banyan_sock_set_wakeup(set);
    banyan_sock_set_wakeup(set);
    event = next_event();
    ok(event.operation == BANYAN_SOCK_WAKEUP && event.sock == NULL, "K3: a wake-up is an event");
    is_int(banyan_sock_set_wait(set, 0, &event), 0, "K3: several are one");
}

static void *wake(void *context)
{
    banyan_sock_set_wakeup(set);
    return NULL;
}

static void test_wakeup(void)
{
    pthread_t thread;
    int wrong = 0;

    for (int i = 0; i < 100; i++) {
        pthread_create(&thread, NULL, wake, NULL);
        wrong += next_event().operation != BANYAN_SOCK_WAKEUP;
        pthread_join(thread, NULL);
    }
    is_int(wrong, 0, "K3: another thread wakes the waiter 100 times");
}

/* Wake-ups take their turn: who wakes itself again and again hears of its socks all the same. */
static void test_wakeup_fair(void)
{
    struct banyan_sock_event event;
    char data[4];
    size_t bytes;
    int turns = 0;

    connect_pair();
    banyan_sock_post_read(near, data, 4, 4, NULL);
    banyan_sock_write(far, "four", 4, &bytes);
    banyan_sock_set_wakeup(set);
    do {
        event = next_event();
        if (event.operation == BANYAN_SOCK_WAKEUP)
            banyan_sock_set_wakeup(set);
    } while (event.operation != BANYAN_SOCK_READ && ++turns < 1000);
    ok(turns <= 70, "K3: beside a waiter that wakes itself a read is told, after %d wake-ups",
       turns);
    do
        event = next_event();
    while (event.operation != BANYAN_SOCK_WAKEUP);
    close_pair();
}

static sem_t told;

static void on_part(void *user, size_t bytes)
{
    sem_post(&told);
}

static void *send_part_and_wake(void *context)
{
    size_t bytes;

    banyan_sock_write(far, "fo", 2, &bytes);
    sem_wait(&told);
    banyan_sock_set_wakeup(set);
    return NULL;
}

/* Any number of milliseconds may be waited for, and what is left of it is counted rightly when
 * something came that is no event yet. */
static void test_long_wait(void)
{
    struct banyan_sock_event event;
    pthread_t thread;
    char data[4];
    int rc;

    sem_init(&told, 0, 0);
    connect_pair();
    banyan_sock_post_read(near, data, 4, 4, on_part);
    pthread_create(&thread, NULL, send_part_and_wake, NULL);
    rc = banyan_sock_set_wait(set, INT_MAX, &event);
    pthread_join(thread, NULL);
    ok(rc == 1 && event.operation == BANYAN_SOCK_WAKEUP, "K3: the longest wait is woken");
    close_pair();
    sem_destroy(&told);
}

static void *wait_too(void *context)
{
    struct banyan_sock_event event;
    int *ret_rc = context;

    /* Until the main thread waits: its own wait ends it. */
    do
        *ret_rc = banyan_sock_set_wait(set, 0, &event);
    while (*ret_rc == 0);
    banyan_sock_set_wakeup(set);
    return NULL;
}

static void test_two_waiters(void)
{
    struct banyan_sock_event event;
    pthread_t thread;
    int rc = 0;
    int main_rc;

    pthread_create(&thread, NULL, wait_too, &rc);
    do
        main_rc = banyan_sock_set_wait(set, PATIENCE_MS, &event);
    while (main_rc == -EBUSY);
    pthread_join(thread, NULL);
    is_int(rc, -EBUSY, "K10: a second waiter is refused");
    is_int(event.operation, BANYAN_SOCK_WAKEUP, "K10: and the first is not disturbed");
}

/* ---- Posting while another waits ---- */

static void *poster(void *context)
{
    struct lane *lane = context;

    for (int i = 0; i < MESSAGES; i++) {
        pthread_mutex_lock(&lane->lock);
        while (!lane->writable)
            pthread_cond_wait(&lane->cond, &lane->lock);
        lane->writable = 0;
        pthread_mutex_unlock(&lane->lock);
        memset(lane->out, i, BYTES);
        lane->failed += banyan_sock_post_write(lane->near, lane->out, BYTES, BYTES, NULL) != 0;
        if (i % 50 == 0)
            banyan_sock_set_wakeup(set);
    }
    pthread_mutex_lock(&lane->lock);
    while (!lane->writable)
        pthread_cond_wait(&lane->cond, &lane->lock);
    pthread_mutex_unlock(&lane->lock);
    lane->failed += banyan_sock_post_close(lane->near) != 0;
    return NULL;
}

static void lane_event(struct lane *lane, const struct banyan_sock_event *event)
{
    if (event->operation == BANYAN_SOCK_WRITE) {
        pthread_mutex_lock(&lane->lock);
        lane->writable = 1;
        pthread_cond_signal(&lane->cond);
        pthread_mutex_unlock(&lane->lock);
    } else if (event->operation == BANYAN_SOCK_READ && event->status == BANYAN_SOCK_OK) {
        lane->wrong += lane->in[0] != (char)lane->received || lane->in[BYTES - 1] != lane->in[0];
        lane->received++;
        banyan_sock_post_read(lane->far, lane->in, BYTES, BYTES, NULL);
    } else if (event->operation == BANYAN_SOCK_READ) {
        banyan_sock_post_close(lane->far);
    } else if (event->operation == BANYAN_SOCK_CLOSE) {
        closed++;
    }
}

static void test_posting(void)
{
    pthread_t threads[POSTERS];
    int received = 0;
    int wrong = 0;

    for (int i = 0; i < POSTERS; i++) {
        struct lane *lane = &lanes[i];
        connect_pair();
        *lane = (struct lane){.near = near, .far = far, .writable = 1};
        pthread_mutex_init(&lane->lock, NULL);
        pthread_cond_init(&lane->cond, NULL);
        banyan_sock_set_user(near, lane);
        banyan_sock_set_user(far, lane);
        banyan_sock_post_read(far, lane->in, BYTES, BYTES, NULL);
    }
    for (int i = 0; i < POSTERS; i++)
        pthread_create(&threads[i], NULL, poster, &lanes[i]);
    while (closed < 2 * POSTERS) {
        struct banyan_sock_event event = next_event();
        if (event.user != NULL)
            lane_event(event.user, &event);
    }
    for (int i = 0; i < POSTERS; i++) {
        pthread_join(threads[i], NULL);
        received += lanes[i].received;
        wrong += lanes[i].wrong + lanes[i].failed;
    }
    is_int(received, POSTERS * MESSAGES, "K3: 4 threads post 500 writes each while one waits");
    is_int(wrong, 0, "K3: all of it arrives, in order, and each thread closes its own");
}

/* ---- Closing while another thread works on the sock ---- */

static void *close_far(void *context)
{
    banyan_sock_post_close(context);
    return NULL;
}

/* Whatever the other thread comes upon, it is an error of the call and never a wrong descriptor. */
static void test_closing(void)
{
    pthread_t thread;
    int wrong = 0;

    for (int i = 0; i < 100; i++) {
        struct banyan_sock *sock;
        size_t bytes = 0;
        int rc = 0;
        connect_pair();
        sock = far;
        pthread_create(&thread, NULL, close_far, sock);
        while (rc != -ESHUTDOWN) {
            rc = banyan_sock_write(sock, "x", 1, &bytes);
            wrong += rc != 0 && rc != -EAGAIN && rc != -ESHUTDOWN;
            (void)banyan_sock_fd(sock);
        }
        pthread_join(thread, NULL);
        while (next_event().operation != BANYAN_SOCK_CLOSE)
            ;
        close_one(near);
    }
    is_int(wrong, 0, "K3: another thread closes a sock that is written to, 100 times");
}

int main(void)
{
    world_open();
    test_wait();
    test_wakeup();
    test_wakeup_fair();
    test_long_wait();
    test_two_waiters();
    test_posting();
    test_closing();
    world_close();
    return done_testing();
}

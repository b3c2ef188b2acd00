/* SPDX-License-Identifier: BSD-3-Clause */
/* The same input for several ranks, on its way into their pipes; the test is the ranks and the sender. */
#include "config.h"

#include "launch/rank/input_fan.h"

#include "base/time.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buffer.h"
#include "test/support/tap.h"

#define PATIENCE_MS  60000u /* never reached */
#define WINDOW_BYTES (256u * 1024)
#define RANKS        3

struct bench {
    struct loop *loop;
    struct loop_timer *patience;
    struct loop_timer *turn;
    struct input_fan *fan;
    int fds[RANKS]; /* the ranks' ends, -1: closed, or not opened */
    struct buffer reads[RANKS];
    uint64_t taken_bytes;
    bool timed_out;
};

static void on_taken(void *context, uint32_t bytes)
{
    ((struct bench *)context)->taken_bytes += bytes;
}

static void out_of_patience(void *context)
{
    struct bench *bench = context;

    bench->timed_out = true;
    loop_stop(bench->loop);
}

static void stop(void *context)
{
    loop_stop(((struct bench *)context)->loop);
}

static struct bench *setup(void)
{
    struct bench *bench = memory_allocate_zeroed(sizeof(*bench));

    bench->loop = loop_create(NULL);
    bench->patience = loop_timer_create(bench->loop, out_of_patience, bench);
    bench->turn = loop_timer_create(bench->loop, stop, bench);
    bench->fan = input_fan_create(bench->loop, RANKS, on_taken, bench);
    for (int i = 0; i < RANKS; i++)
        bench->fds[i] = -1;
    return bench;
}

static void rank_starts(struct bench *bench, uint32_t rank)
{
    if (input_fan_open(bench->fan, rank, &bench->fds[rank]) < 0)
        bail_out("no pipe");
    (void)fcntl(bench->fds[rank], F_SETFL, O_NONBLOCK);
}

static struct bench *setup_started(void)
{
    struct bench *bench = setup();

    for (uint32_t i = 0; i < RANKS; i++)
        rank_starts(bench, i);
    return bench;
}

static void rank_closes(struct bench *bench, uint32_t rank)
{
    if (bench->fds[rank] >= 0)
        close(bench->fds[rank]);
    bench->fds[rank] = -1;
}

static void teardown(struct bench *bench)
{
    input_fan_destroy(bench->fan);
    for (uint32_t i = 0; i < RANKS; i++) {
        rank_closes(bench, i);
        buffer_fini(&bench->reads[i]);
    }
    loop_timer_destroy(bench->patience);
    loop_timer_destroy(bench->turn);
    loop_destroy(bench->loop);
    free(bench);
}

static void run_ready(struct bench *bench)
{
    for (int i = 0; i < 3; i++) {
        loop_timer_set(bench->turn, loop_now_ns());
        (void)loop_run(bench->loop);
    }
}

/* true at the end of file. */
static bool rank_reads(struct bench *bench, uint32_t rank)
{
    struct buffer *to = &bench->reads[rank];
    ssize_t got;

    do {
        got = read(bench->fds[rank], buffer_reserve(to, 65536), 65536);
        if (got > 0)
            buffer_commit(to, (size_t)got);
    } while (got > 0);
    return got == 0;
}

/* Runs until the rank has got it all and, if it is the last, the end. */
static bool rank_reads_all(struct bench *bench, uint32_t rank, size_t bytes, bool to_end)
{
    bool is_over = false;

    loop_timer_set(bench->patience, loop_now_ns() + PATIENCE_MS * NS_PER_MS);
    while (!is_over && !bench->timed_out) {
        bool at_end = rank_reads(bench, rank);

        is_over = bench->reads[rank].length_bytes >= bytes && (at_end || !to_end);
        run_ready(bench);
    }
    return is_over && bench->reads[rank].length_bytes == bytes;
}

static void fill_window(struct bench *bench)
{
    static char block[4096];

    for (size_t i = 0; i < sizeof(block); i++)
        block[i] = (char)('a' + i % 26);
    for (size_t bytes = 0; bytes < WINDOW_BYTES; bytes += sizeof(block))
        input_fan_write(bench->fan, block, sizeof(block));
}

static void test_small(void)
{
    struct bench *bench = setup_started();

    input_fan_write(bench->fan, "hello\n", 6);
    input_fan_write(bench->fan, "world\n", 6);
    is_uint(bench->taken_bytes, 12, "what fits into all pipes is taken at once");
    for (uint32_t i = 0; i < RANKS; i++) {
        ok(!rank_reads(bench, i), "rank %u reads on", i);
        is_string(buffer_string(&bench->reads[i]), "hello\nworld\n", "and has all of it");
    }
    input_fan_write(bench->fan, NULL, 0);
    for (uint32_t i = 0; i < RANKS; i++)
        ok(rank_reads(bench, i), "rank %u gets the end", i);
    input_fan_write(bench->fan, "late", 4);
    is_uint(bench->taken_bytes, 16, "what follows the end is dropped, which is credit");
    teardown(bench);
}

static void test_slow_rank(void)
{
    struct bench *bench = setup_started();

    fill_window(bench);
    input_fan_write(bench->fan, NULL, 0);
    ok(rank_reads_all(bench, 0, WINDOW_BYTES, true), "one that reads gets everything, and the end");
    ok(rank_reads_all(bench, 2, WINDOW_BYTES, true), "and so does another");
    ok(bench->taken_bytes > 0 && bench->taken_bytes < WINDOW_BYTES,
       "what the third has not read gives no credit");
    ok(rank_reads_all(bench, 1, WINDOW_BYTES, true), "when it reads, it gets everything");
    is_uint(bench->taken_bytes, WINDOW_BYTES, "which is credit");
    is_bytes(bench->reads[1].data, WINDOW_BYTES, bench->reads[0].data, WINDOW_BYTES,
             "and the same bytes");
    ok(bench->reads[0].data[WINDOW_BYTES - 1] == 'a' + 4095 % 26 &&
           bench->reads[0].data[4096] == 'a',
       "as they were");
    teardown(bench);
}

static void test_ranks_gone(void)
{
    struct bench *bench = setup_started();

    fill_window(bench);
    rank_closes(bench, 0);
    input_fan_close(bench->fan, 1);
    input_fan_close(bench->fan, 1);
    run_ready(bench);
    ok(bench->taken_bytes < WINDOW_BYTES,
       "one has closed its input, one has ended: the third counts");
    ok(rank_reads_all(bench, 2, WINDOW_BYTES, false), "and gets everything");
    is_uint(bench->taken_bytes, WINDOW_BYTES, "which is credit");
    fill_window(bench);
    rank_closes(bench, 2);
    run_ready(bench);
    is_uint(bench->taken_bytes, 2 * WINDOW_BYTES, "without ranks everything is taken");
    input_fan_write(bench->fan, "more", 4);
    is_uint(bench->taken_bytes, 2 * WINDOW_BYTES + 4, "also what follows");
    teardown(bench);
}

static void test_late_start(void)
{
    struct bench *bench = setup();

    rank_starts(bench, 0);
    input_fan_write(bench->fan, "hello", 5);
    input_fan_write(bench->fan, NULL, 0);
    ok(rank_reads(bench, 0), "one that has started gets its input");
    is_uint(bench->taken_bytes, 0, "others have yet to start");
    rank_starts(bench, 2);
    ok(rank_reads(bench, 2), "a late one");
    is_string(buffer_string(&bench->reads[2]), "hello", "gets it from the beginning");
    input_fan_close(bench->fan, 1);
    is_uint(bench->taken_bytes, 5, "the last does not start: this is credit");
    teardown(bench);
}

static void test_no_descriptors(void)
{
    struct bench *bench = setup();
    struct rlimit before, none;
    int fd = -1;

    getrlimit(RLIMIT_NOFILE, &before);
    none = before;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &none);
    is_int(input_fan_open(bench->fan, 0, &fd), -EMFILE, "no descriptor is left");
    setrlimit(RLIMIT_NOFILE, &before);
    input_fan_close(bench->fan, 1);
    input_fan_close(bench->fan, 2);
    input_fan_write(bench->fan, "hello", 5);
    is_uint(bench->taken_bytes, 5, "that rank does not count");
    teardown(bench);
}

int main(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    test_small();
    test_slow_rank();
    test_ranks_gone();
    test_late_start();
    test_no_descriptors();
    return done_testing();
}

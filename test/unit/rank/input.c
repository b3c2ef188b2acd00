/* SPDX-License-Identifier: BSD-3-Clause */
/* Standard input on its way into a rank's pipe; the test is the rank and the sender. */
#include "config.h"

#include "base/time.h"
#include "launch/rank/input.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "test/support/tap.h"

#define PATIENCE_MS  30000u /* never reached */
#define WINDOW_BYTES (256u * 1024)

struct bench {
    struct loop *loop;
    struct loop_timer *patience;
    struct loop_timer *turn;
    struct input *input;
    int fd; /* the rank's end, -1: closed */
    struct buffer read;
    uint64_t taken_bytes;
    uint64_t wanted_bytes;
    int timed_out;
};

static void on_taken(void *context, uint32_t bytes)
{
    struct bench *bench = context;

    bench->taken_bytes += bytes;
    if (bench->taken_bytes >= bench->wanted_bytes)
        loop_stop(bench->loop);
}

static void out_of_patience(void *context)
{
    struct bench *bench = context;

    bench->timed_out = 1;
    loop_stop(bench->loop);
}

static void stop(void *context)
{
    loop_stop(((struct bench *)context)->loop);
}

static struct bench *setup(void)
{
    struct bench *bench = memory_allocate_zeroed(sizeof *bench);
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        bail_out("no pipe");
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    bench->fd = ends[0];
    bench->loop = loop_create(NULL);
    bench->patience = loop_timer_create(bench->loop, out_of_patience, bench);
    bench->turn = loop_timer_create(bench->loop, stop, bench);
    bench->wanted_bytes = UINT64_MAX;
    bench->input = input_create(bench->loop, ends[1], on_taken, bench);
    return bench;
}

static void rank_closes(struct bench *bench)
{
    if (bench->fd >= 0)
        close(bench->fd);
    bench->fd = -1;
}

static void teardown(struct bench *bench)
{
    input_destroy(bench->input);
    rank_closes(bench);
    buffer_fini(&bench->read);
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

/* 1 at the end of file. */
static int rank_reads(struct bench *bench)
{
    ssize_t got;

    do {
        got = read(bench->fd, buffer_reserve(&bench->read, 65536), 65536);
        if (got > 0)
            buffer_commit(&bench->read, (size_t)got);
    } while (got > 0);
    return got == 0;
}

static void fill_window(struct bench *bench)
{
    static char block[4096];

    for (size_t i = 0; i < sizeof block; i++)
        block[i] = (char)('a' + i % 26);
    for (size_t bytes = 0; bytes < WINDOW_BYTES; bytes += sizeof block)
        input_write(bench->input, block, sizeof block);
}

static void test_small(void)
{
    struct bench *bench = setup();

    input_write(bench->input, "hello\n", 6);
    input_write(bench->input, "world\n", 6);
    is_uint(bench->taken_bytes, 12, "what fits into the pipe is taken at once");
    ok(!rank_reads(bench), "the rank reads on");
    is_string(buffer_string(&bench->read), "hello\nworld\n", "in order");
    input_write(bench->input, NULL, 0);
    ok(rank_reads(bench), "and sees the end");
    input_write(bench->input, "late", 4);
    is_uint(bench->taken_bytes, 16, "what comes behind the end is thrown away, which is credit");
    teardown(bench);
}

static void test_slow_rank(void)
{
    struct bench *bench = setup();
    int ended = 0;

    fill_window(bench);
    input_write(bench->input, NULL, 0);
    ok(bench->taken_bytes < WINDOW_BYTES, "a rank that does not read gives no credit");
    bench->wanted_bytes = bench->taken_bytes + 1;
    while (!ended && !bench->timed_out) {
        ended = rank_reads(bench);
        if (bench->taken_bytes < WINDOW_BYTES) {
            loop_timer_set(bench->patience, loop_now_ns() + PATIENCE_MS * NS_PER_MS);
            (void)loop_run(bench->loop);
            bench->wanted_bytes = bench->taken_bytes + 1;
        }
    }
    ok(ended, "when it reads the rest comes, and then the end");
    is_uint(bench->taken_bytes, WINDOW_BYTES, "all was credited");
    is_uint(bench->read.length_bytes, WINDOW_BYTES, "and came");
    ok(bench->read.data[WINDOW_BYTES - 1] == 'a' + 4095 % 26 && bench->read.data[4096] == 'a',
       "as it was");
    teardown(bench);
}

static void test_rank_gone(void)
{
    struct bench *bench = setup();

    fill_window(bench);
    ok(bench->taken_bytes < WINDOW_BYTES, "the pipe is full");
    rank_closes(bench);
    run_ready(bench);
    is_uint(bench->taken_bytes, WINDOW_BYTES, "when the rank has gone all is credited");
    input_write(bench->input, "more", 4);
    input_write(bench->input, NULL, 0);
    is_uint(bench->taken_bytes, WINDOW_BYTES + 4, "also what still comes");
    teardown(bench);

    bench = setup();
    rank_closes(bench);
    input_write(bench->input, "hello", 5);
    is_uint(bench->taken_bytes, 5, "a rank that closes its input at once does no harm");
    teardown(bench);
}

static void test_destroy_early(void)
{
    struct bench *bench = setup();

    fill_window(bench);
    input_destroy(bench->input);
    bench->input = NULL;
    ok(rank_reads(bench), "when the job is closed the rank sees the end");
    teardown(bench);
}

int main(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    test_small();
    test_slow_rank();
    test_rank_gone();
    test_destroy_early();
    return done_testing();
}

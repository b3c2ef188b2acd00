/* SPDX-License-Identifier: BSD-3-Clause */
/* Output of ranks on its way to the root: real pipes on a real loop; the test is the ranks. */
#include "config.h"

#include "base/time.h"
#include "launch/proto/control.h"
#include "launch/rank/output.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "test/support/tap.h"

#define RANKS_MAX   256u
#define PATIENCE_MS 30000u /* never reached */
/* What may be under way: the window, and what one more read brings. */
#define UNDER_WAY_BYTES_MAX (CONTROL_NODE_WINDOW + 32u * 1024)

struct bench {
    struct loop *loop;
    struct loop_timer *patience;
    struct loop_timer *turn;
    struct output *output;
    int fds[RANKS_MAX][2]; /* write ends */
    struct buffer seen[RANKS_MAX][2];
    uint64_t seen_bytes;
    uint64_t wanted_bytes; /* the loop stops when so many have come */
    uint32_t calls;
    uint32_t broken_lines; /* calls whose data did not end with a line */
    uint32_t ended_lines;
    uint64_t first_ns; /* times of the pieces */
    uint64_t last_ns;
    uint32_t disordered;
    uint32_t drained;
    uint64_t drained_bytes;
    int echo_fd; /* somebody who writes whenever something was read, or -1 */
    int timed_out;
};

static void on_data(void *context, uint32_t index, uint8_t stream, uint64_t time_ns,
                    const void *data, size_t bytes)
{
    struct bench *bench = context;

    bench->first_ns = bench->last_ns == 0 ? time_ns : bench->first_ns;
    bench->disordered += time_ns < bench->last_ns;
    bench->last_ns = time_ns;

    buffer_append(&bench->seen[index][stream - 1], data, bytes);
    bench->calls++;
    bench->seen_bytes += bytes;
    bench->broken_lines += ((const char *)data)[bytes - 1] != '\n';
    if (bench->echo_fd >= 0 && write(bench->echo_fd, "y\n", 2) < 0)
        bench->echo_fd = -1;
    if (bench->seen_bytes >= bench->wanted_bytes)
        loop_stop(bench->loop);
}

static void on_drained(void *context, uint64_t total_bytes)
{
    struct bench *bench = context;

    bench->drained++;
    bench->drained_bytes = total_bytes;
    loop_stop(bench->loop);
}

static void on_line_ended(void *context, uint32_t index, uint8_t stream)
{
    struct bench *bench = context;

    (void)index;
    (void)stream;
    bench->ended_lines++;
}

static const struct output_events events = {.data = on_data,
                                            .line_ended = on_line_ended,
                                            .drained = on_drained};

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

static void run(struct bench *bench)
{
    loop_timer_set(bench->patience, loop_now_ns() + PATIENCE_MS * NS_PER_MS);
    if (loop_run(bench->loop) < 0 || bench->timed_out)
        bail_out("what is waited for does not come");
}

/* Everything that is ready now is done; nothing is waited for. */
static void run_ready(struct bench *bench)
{
    bench->wanted_bytes = UINT64_MAX;
    for (int i = 0; i < 20; i++) {
        loop_timer_set(bench->turn, loop_now_ns());
        (void)loop_run(bench->loop);
    }
}

static void run_bytes(struct bench *bench, uint64_t bytes)
{
    bench->wanted_bytes = bytes;
    if (bench->seen_bytes < bytes)
        run(bench);
}

static void run_drained(struct bench *bench)
{
    bench->wanted_bytes = UINT64_MAX;
    if (!bench->drained)
        run(bench);
}

static struct bench *setup(uint32_t ranks)
{
    struct bench *bench = memory_allocate_zeroed(sizeof *bench);

    bench->loop = loop_create(NULL);
    bench->patience = loop_timer_create(bench->loop, out_of_patience, bench);
    bench->turn = loop_timer_create(bench->loop, stop, bench);
    bench->output = output_create(bench->loop, ranks, CONTROL_NODE_WINDOW, &events, bench);
    bench->wanted_bytes = UINT64_MAX;
    bench->echo_fd = -1;
    for (uint32_t i = 0; i < RANKS_MAX; i++)
        bench->fds[i][0] = bench->fds[i][1] = -1;
    return bench;
}

static void close_fd(struct bench *bench, uint32_t index, uint8_t stream)
{
    if (bench->fds[index][stream - 1] >= 0)
        close(bench->fds[index][stream - 1]);
    bench->fds[index][stream - 1] = -1;
}

static void teardown(struct bench *bench)
{
    output_destroy(bench->output);
    for (uint32_t i = 0; i < RANKS_MAX; i++)
        for (uint8_t stream = 1; stream <= 2; stream++) {
            close_fd(bench, i, stream);
            buffer_fini(&bench->seen[i][stream - 1]);
        }
    loop_timer_destroy(bench->patience);
    loop_timer_destroy(bench->turn);
    loop_destroy(bench->loop);
    free(bench);
}

static void open_pipe(struct bench *bench, uint32_t index, uint8_t stream)
{
    if (output_pipe(bench->output, index, stream, &bench->fds[index][stream - 1]) < 0)
        bail_out("no pipe for rank %u", index);
}

static void say(struct bench *bench, uint32_t index, uint8_t stream, const char *text)
{
    if (write(bench->fds[index][stream - 1], text, strlen(text)) != (ssize_t)strlen(text))
        bail_out("cannot write to a pipe");
}

/* As much as the pipe takes now; how much that was. */
static uint64_t fill(struct bench *bench, uint32_t index, uint8_t stream, char byte)
{
    int fd = bench->fds[index][stream - 1];
    char block[4096];
    uint64_t bytes = 0;
    ssize_t wrote;

    memset(block, byte, sizeof block);
    block[sizeof block - 1] = '\n';
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    while ((wrote = write(fd, block, sizeof block)) > 0)
        bytes += (uint64_t)wrote;
    return bytes;
}

static const char *seen(struct bench *bench, uint32_t index, uint8_t stream)
{
    return buffer_string(&bench->seen[index][stream - 1]);
}

/* ---- lines ---- */

static void test_whole_lines(void)
{
    struct bench *bench = setup(1);

    open_pipe(bench, 0, 1);
    say(bench, 0, 1, "one\ntwo\nthr");
    run_ready(bench);
    is_string(seen(bench, 0, 1), "one\ntwo\n", "whole lines go at once");
    say(bench, 0, 1, "ee\n");
    run_ready(bench);
    is_string(seen(bench, 0, 1), "one\ntwo\nthree\n", "an unfinished one waits for its end");
    is_uint(bench->calls, 2, "and goes as one");
    say(bench, 0, 1, "four\nfi");
    run_ready(bench);
    say(bench, 0, 1, "ve\nsix\nse");
    run_ready(bench);
    is_uint(bench->broken_lines, 0, "no line was broken");
    close_fd(bench, 0, 1);
    run_ready(bench);
    is_string(seen(bench, 0, 1), "one\ntwo\nthree\nfour\nfive\nsix\nse",
              "what has no newline at the end comes with the end");
    teardown(bench);
}

static void test_streams_apart(void)
{
    struct bench *bench = setup(2);

    open_pipe(bench, 0, 1);
    open_pipe(bench, 0, 2);
    open_pipe(bench, 1, 2);
    say(bench, 0, 1, "out");
    say(bench, 0, 2, "err");
    say(bench, 1, 2, "other\n");
    say(bench, 0, 1, "\n");
    say(bench, 0, 2, "\n");
    run_bytes(bench, 14);
    is_string(seen(bench, 0, 1), "out\n", "stdout of a rank");
    is_string(seen(bench, 0, 2), "err\n", "its stderr");
    is_string(seen(bench, 1, 2), "other\n", "another rank's stderr");
    is_uint(bench->broken_lines, 0, "none in the line of another");
    teardown(bench);
}

static void test_tail_timer(void)
{
    struct bench *bench = setup(2);
    uint64_t start_ns;

    open_pipe(bench, 0, 1);
    open_pipe(bench, 1, 1);
    say(bench, 0, 1, "name? ");
    start_ns = loop_now_ns();
    run_ready(bench);
    is_string(seen(bench, 0, 1), "", "a question without newline waits");
    say(bench, 1, 1, "age? ");
    run_bytes(bench, 11);
    ok(loop_now_ns() - start_ns >= OUTPUT_TAIL_MS * NS_PER_MS, "for a moment");
    is_string(seen(bench, 0, 1), "name? ", "then it is shown");
    is_string(seen(bench, 1, 1), "age? ", "and so is that of another rank");
    say(bench, 0, 1, "again? ");
    run_bytes(bench, 18);
    is_string(seen(bench, 0, 1), "name? again? ", "the next one, too");
    teardown(bench);
}

static void test_long_lines(void)
{
    struct bench *bench = setup(1);
    static char line[60 * 1024];

    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 2] = '\n';
    open_pipe(bench, 0, 1);
    say(bench, 0, 1, line);
    run_bytes(bench, sizeof line - 1);
    is_string(seen(bench, 0, 1), line, "a line that is longer than is kept comes whole in the end");
    ok(bench->broken_lines > 0, "in pieces");
    teardown(bench);
}

/* So much of a line that it is not kept until it ends. */
static void say_long(struct bench *bench, uint32_t index, uint8_t stream, uint32_t bytes)
{
    char *text = memory_allocate(bytes + 1);

    memset(text, 'x', bytes);
    text[bytes] = 0;
    say(bench, index, stream, text);
    free(text);
}

static void test_long_line_first(void)
{
    struct bench *bench = setup(3);

    for (uint32_t i = 0; i < 3; i++)
        open_pipe(bench, i, 1);
    open_pipe(bench, 1, 2);
    say_long(bench, 0, 1, 20000);
    run_ready(bench);
    is_uint(bench->seen_bytes, 20000, "a long line is under way");
    say(bench, 1, 1, "one\n");
    say(bench, 2, 1, "two\n");
    say(bench, 1, 2, "error\n");
    run_ready(bench);
    is_string(seen(bench, 1, 1), "", "others are not read meanwhile");
    is_string(seen(bench, 1, 2), "error\n", "but for their stderr");
    say_long(bench, 0, 1, 100);
    run_ready(bench);
    is_uint(bench->seen[0][0].length_bytes, 20100, "it goes on in pieces of any size");
    say(bench, 0, 1, "\n");
    run_ready(bench);
    is_string(seen(bench, 1, 1), "one\n", "at its end the others are read");
    is_string(seen(bench, 2, 1), "two\n", "all of them");
    is_uint(bench->ended_lines, 0, "no line has ended without a newline");
    say_long(bench, 0, 1, 20000);
    run_ready(bench);
    say(bench, 1, 1, "three\n");
    close_fd(bench, 0, 1);
    run_ready(bench);
    is_string(seen(bench, 1, 1), "one\nthree\n", "the end of the stream ends its line, too");
    is_uint(bench->ended_lines, 1, "and is told");
    teardown(bench);
}

/* A rank writes a line without end until another's line comes; *ret_taken_ns is how long that took, 0 if it
 * did not come.  Returns 0 if we were stopped in between for so long that the line stood still. */
static int judge_endless_line(struct bench *bench, uint64_t *ret_taken_ns)
{
    size_t wanted = strlen(seen(bench, 1, 1)) + strlen("me, too\n");
    uint64_t start_ns = loop_now_ns(); /* no later than the line begins */
    uint64_t last_ns = start_ns, longest_ns = 0, now_ns;

    say_long(bench, 0, 1, 20000);
    run_ready(bench);
    say(bench, 1, 1, "me, too\n");
    do {
        say_long(bench, 0, 1, 64);
        output_credit(bench->output, 64);
        run_ready(bench);
        now_ns = loop_now_ns();
        if (now_ns - last_ns > longest_ns)
            longest_ns = now_ns - last_ns;
        last_ns = now_ns;
    } while (strlen(seen(bench, 1, 1)) < wanted && now_ns - start_ns < PATIENCE_MS * NS_PER_MS);
    *ret_taken_ns = strlen(seen(bench, 1, 1)) == wanted ? now_ns - start_ns : 0;
    return longest_ns < OUTPUT_TAIL_MS * NS_PER_MS / 2;
}

/* Who waits for another rank in the midst of a line must not keep that one from writing. */
static void test_long_line_gives_way(void)
{
    struct bench *bench = setup(2);
    uint64_t start_ns, taken_ns = 0;
    int was_seen_to = 0, was_late;

    open_pipe(bench, 0, 1);
    open_pipe(bench, 1, 1);
    start_ns = loop_now_ns();
    say_long(bench, 0, 1, 20000);
    run_ready(bench);
    say(bench, 1, 1, "I am asked\n");
    run_ready(bench);
    was_late = seen(bench, 1, 1)[0] != '\0';
    if (was_late && loop_now_ns() - start_ns > OUTPUT_TAIL_MS * NS_PER_MS)
        skip(1, "this machine stops us for as long as a line may stand still");
    else
        ok(!was_late, "a long line that stands still is waited for");
    run_bytes(bench, 20011);
    is_string(seen(bench, 1, 1), "I am asked\n", "for a moment");
    for (int tries = 0; tries < 10 && !was_seen_to; tries++)
        was_seen_to = judge_endless_line(bench, &taken_ns);
    ok(taken_ns > 0, "one without end gives way as well");
    if (was_seen_to)
        ok(taken_ns >= (OUTPUT_LINE_MS - 10) * NS_PER_MS, "after a while");
    else
        skip(1, "this machine stops us for as long as a line may stand still");
    teardown(bench);
}

/* ---- the end ---- */

static void test_drained(void)
{
    struct bench *bench = setup(2);

    open_pipe(bench, 0, 1);
    open_pipe(bench, 0, 2);
    say(bench, 0, 1, "hello\n");
    close_fd(bench, 0, 1);
    close_fd(bench, 0, 2);
    run_ready(bench);
    is_uint(bench->drained, 0, "while processes may come there is no last output");
    output_cut(bench->output, PATIENCE_MS, 0);
    run_drained(bench);
    is_uint(bench->drained_bytes, 6, "then all is told to have come");
    output_cut(bench->output, 0, 1);
    run_ready(bench);
    is_uint(bench->drained, 1, "once");
    teardown(bench);

    bench = setup(0);
    output_cut(bench->output, PATIENCE_MS, 0);
    run_drained(bench);
    is_uint(bench->drained_bytes, 0, "where nothing was started all has come at once");
    teardown(bench);
}

/* A rank is started again. */
static void test_again(void)
{
    struct bench *bench = setup(1);

    open_pipe(bench, 0, 1);
    say(bench, 0, 1, "one\nhalf");
    close_fd(bench, 0, 1);
    run_bytes(bench, 8);
    is_uint(bench->ended_lines, 1, "the line of a process that has ended is no longer one");
    open_pipe(bench, 0, 1);
    say(bench, 0, 1, "two\n");
    run_bytes(bench, 12);
    is_string(seen(bench, 0, 1), "one\nhalftwo\n", "a second pipe where the first has ended");
    say(bench, 0, 1, "last words\n");
    (void)fcntl(bench->fds[0][0], F_SETFL, O_NONBLOCK);
    close_fd(bench, 0, 1);
    open_pipe(bench, 0, 1);
    is_int(fcntl(bench->fds[0][0], F_GETFL) & O_NONBLOCK, 0,
           "its writer is not bothered by what the one before it had set");
    say(bench, 0, 1, "first words\n");
    close_fd(bench, 0, 1);
    output_cut(bench->output, PATIENCE_MS, 0);
    run_drained(bench);
    is_string(seen(bench, 0, 1), "one\nhalftwo\nlast words\nfirst words\n",
              "what was not read yet comes first");
    is_uint(bench->drained_bytes, 35, "and is counted");
    teardown(bench);
}

static void test_cut_before_end(void)
{
    struct bench *bench = setup(1);

    open_pipe(bench, 0, 1);
    say(bench, 0, 1, "last words");
    output_cut(bench->output, PATIENCE_MS, 0);
    close_fd(bench, 0, 1);
    run_drained(bench);
    is_string(seen(bench, 0, 1), "last words", "who ends in time is not cut");
    teardown(bench);
}

static void test_cut_escaped(void)
{
    struct bench *bench = setup(1);

    open_pipe(bench, 0, 1);
    open_pipe(bench, 0, 2);
    say(bench, 0, 1, "before\nthe cut");
    output_cut(bench->output, 20, 0);
    close_fd(bench, 0, 2);
    run_drained(bench);
    is_string(seen(bench, 0, 1), "before\nthe cut", "what an escaped process wrote before is told");
    is_uint(bench->drained_bytes, 14, "and counted");
    ok(write(bench->fds[0][0], "x", 1) < 0, "it cannot write any more");
    teardown(bench);
}

/* It would go on for ever. */
static void test_cut_escaped_writer(void)
{
    struct bench *bench = setup(1);

    open_pipe(bench, 0, 1);
    say(bench, 0, 1, "y\n");
    bench->echo_fd = bench->fds[0][0];
    output_cut(bench->output, 20, 0);
    for (int i = 0; i < 1000 && !bench->drained; i++) {
        output_credit(bench->output, 4096);
        run_ready(bench);
    }
    run_drained(bench);
    ok(bench->drained_bytes == bench->seen_bytes && bench->seen_bytes > 0,
       "an escaped process that never stops writing does not keep the job");
    teardown(bench);
}

/* ---- credit ---- */

/* Fills pipe and window until nothing moves; what was written. */
static uint64_t exhaust(struct bench *bench)
{
    uint64_t bytes = 0, more;

    while ((more = fill(bench, 0, 1, 'a')) > 0) {
        bytes += more;
        run_ready(bench);
    }
    return bytes;
}

static void test_credit(void)
{
    struct bench *bench = setup(2);
    uint64_t written, stuck;

    open_pipe(bench, 0, 1);
    written = exhaust(bench);
    stuck = bench->seen_bytes;
    ok(stuck >= CONTROL_NODE_WINDOW && stuck <= UNDER_WAY_BYTES_MAX,
       "without credit about a window is under way: %llu bytes", (unsigned long long)stuck);
    ok(written > stuck, "the rest stays in the pipe");
    open_pipe(bench, 1, 1);
    say(bench, 1, 1, "hello\n");
    run_ready(bench);
    is_uint(bench->seen_bytes, stuck, "also that of a process that starts now");
    output_credit(bench->output, (uint32_t)(stuck - CONTROL_NODE_WINDOW));
    run_ready(bench);
    is_uint(bench->seen_bytes, stuck, "credit for what was read beyond the window is no credit");
    output_credit(bench->output, CONTROL_NODE_WINDOW);
    run_bytes(bench, written + 6);
    is_string(seen(bench, 1, 1), "hello\n", "with credit it goes on");
    close_fd(bench, 0, 1);
    close_fd(bench, 1, 1);
    output_cut(bench->output, PATIENCE_MS, 0);
    run_drained(bench);
    is_uint(bench->drained_bytes, written + 6, "nothing was lost");
    teardown(bench);
}

/* What was under way has not come, and its credit never will. */
static void test_credit_lost(void)
{
    struct bench *bench = setup(1);
    uint64_t written, stuck;

    open_pipe(bench, 0, 1);
    written = exhaust(bench);
    stuck = bench->seen_bytes;
    output_credit_renew(bench->output);
    run_bytes(bench, written);
    ok(written > stuck, "after a loss there is credit again");
    output_credit_renew(bench->output);
    output_credit_renew(bench->output);
    bench->wanted_bytes = UINT64_MAX;
    (void)exhaust(bench);
    ok(bench->seen_bytes <= written + UNDER_WAY_BYTES_MAX, "for a window and not for more");
    teardown(bench);
}

/* All processes have ended while the reader at the far end was busy. */
static void test_cut_waits_for_credit(void)
{
    struct bench *bench = setup(1);
    uint64_t written;

    open_pipe(bench, 0, 1);
    written = exhaust(bench);
    close_fd(bench, 0, 1);
    output_cut(bench->output, 0, 0);
    run_ready(bench);
    is_uint(bench->drained, 0, "what has no credit is waited for");
    for (int i = 0; i < 10000 && !bench->drained; i++) {
        output_credit(bench->output, 4096);
        run_ready(bench);
    }
    is_uint(bench->drained_bytes, written, "until it has come, however slowly");
    teardown(bench);
}

static void test_discard(void)
{
    struct bench *bench = setup(1);
    uint64_t stuck;

    open_pipe(bench, 0, 1);
    (void)exhaust(bench);
    stuck = bench->seen_bytes;
    output_cut(bench->output, 0, 1);
    run_drained(bench);
    is_uint(bench->drained_bytes, stuck, "what nobody waits for and has no credit is given up");
    teardown(bench);

    bench = setup(1);
    open_pipe(bench, 0, 1);
    (void)exhaust(bench);
    output_cut(bench->output, 0, 0);
    run_ready(bench);
    is_uint(bench->drained, 0, "what is waited for");
    output_cut(bench->output, 500, 1);
    run_ready(bench);
    is_uint(bench->drained, 1, "is given up at once when it is not any more");
    teardown(bench);
}

/* ---- many ---- */

static void test_many_ranks(void)
{
    struct bench *bench = setup(RANKS_MAX);
    char *text;
    uint32_t right = 0;

    for (uint32_t i = 0; i < RANKS_MAX; i++) {
        open_pipe(bench, i, 1);
        open_pipe(bench, i, 2);
        text = memory_printf("rank %u\nof many\nwithout end", i);
        say(bench, i, 1, text);
        close_fd(bench, i, 1);
        close_fd(bench, i, 2);
        free(text);
    }
    output_cut(bench->output, PATIENCE_MS, 0);
    run_drained(bench);
    for (uint32_t i = 0; i < RANKS_MAX; i++) {
        text = memory_printf("rank %u\nof many\nwithout end", i);
        right += strcmp(seen(bench, i, 1), text) == 0 && seen(bench, i, 2)[0] == 0;
        free(text);
    }
    is_uint(right, RANKS_MAX, "all of %u ranks that end at once are heard", RANKS_MAX);
    is_uint(bench->drained_bytes, bench->seen_bytes, "and counted");
    teardown(bench);
}

static void test_destroy_early(void)
{
    struct bench *bench = setup(2);

    open_pipe(bench, 0, 1);
    open_pipe(bench, 1, 2);
    say(bench, 0, 1, "unfinished");
    run_ready(bench);
    output_cut(bench->output, 0, 0);
    teardown(bench);
    pass("output can be given up at any time");
}

static uint64_t utc_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void test_times(void)
{
    struct bench *bench = setup(1);
    uint64_t before_ns = utc_ns(), between_ns;

    open_pipe(bench, 0, 1);
    say(bench, 0, 1, "early\n");
    run_bytes(bench, 6);
    between_ns = utc_ns();
    ok(bench->first_ns >= before_ns && bench->first_ns <= between_ns,
       "the time of a piece is when it was read");
    say(bench, 0, 1, "late");
    run_bytes(bench, 10);
    ok(bench->last_ns >= between_ns && bench->last_ns <= utc_ns(),
       "also of an unfinished line that was held");
    is_uint(bench->disordered, 0, "times of a stream are in order");
    teardown(bench);
}

int main(void)
{
    struct rlimit limit;

    (void)signal(SIGPIPE, SIG_IGN);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    test_whole_lines();
    test_streams_apart();
    test_tail_timer();
    test_long_lines();
    test_long_line_first();
    test_long_line_gives_way();
    test_drained();
    test_again();
    test_cut_before_end();
    test_cut_escaped();
    test_cut_escaped_writer();
    test_credit();
    test_credit_lost();
    test_cut_waits_for_credit();
    test_discard();
    test_many_ranks();
    test_destroy_early();
    test_times();
    return done_testing();
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/time.h"
#include "launch/cli/client/output_writer.h"
#include "test/support/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buffer.h"

#define LONG_MS     30000u /* never reached */
#define LARGE_BYTES (3u * 1024 * 1024)

/* A writer, what it writes to, and what came out of it. */
struct bench {
    struct loop *loop;
    struct output_writer *writer;
    struct loop_timer *timer;
    int out[2]; /* read end, write end; both streams unless err is open */
    int err[2];
    struct buffer seen;
    size_t put_bytes;
    size_t told_bytes;
    size_t told_of_second_bytes; /* of these, from place 2 */
    int failures;
    struct error failure;
    int read_while_waiting;
    size_t wanted_bytes; /* so many are read while waiting, 0: all */
};

static void read_all(int fd, struct buffer *seen)
{
    for (;;) {
        ssize_t got = read(fd, buffer_reserve(seen, 65536), 65536);
        if (got <= 0)
            return;
        buffer_commit(seen, (size_t)got);
    }
}

static void on_written(void *context, const struct unwritten_part *part)
{
    struct bench *bench = context;

    bench->told_bytes += part->bytes;
    bench->told_of_second_bytes += part->place == 2 ? part->bytes : 0;
}

static void on_moved(void *context)
{
    struct bench *bench = context;

    if (output_writer_queued(bench->writer) == 0)
        loop_stop(bench->loop);
}

static void on_failed(void *context, const struct error *error)
{
    struct bench *bench = context;

    bench->failures++;
    bench->failure = *error;
    loop_stop(bench->loop);
}

static const struct output_writer_events events = {.written = on_written,
                                                   .moved = on_moved,
                                                   .failed = on_failed};

#define LARGE_LINE_BYTES (100u * 1024)

static void on_timer(void *context)
{
    struct bench *bench = context;

    if (bench->read_while_waiting) {
        read_all(bench->out[0], &bench->seen);
        if (bench->wanted_bytes > 0 && bench->seen.length_bytes >= bench->wanted_bytes)
            loop_stop(bench->loop);
        loop_timer_set(bench->timer, loop_now_ns() + NS_PER_MS);
    } else {
        loop_stop(bench->loop);
    }
}

static void bench_open_style(struct bench *bench, const struct output_label_style *style,
                             int two_pipes)
{
    *bench = (struct bench){.loop = loop_create(NULL), .err = {-1, -1}};
    if (pipe2(bench->out, O_CLOEXEC) < 0 || (two_pipes && pipe2(bench->err, O_CLOEXEC) < 0))
        bail_out("pipe: %s", strerror(errno));
    fcntl(bench->out[0], F_SETFL, O_NONBLOCK);
    if (two_pipes)
        fcntl(bench->err[0], F_SETFL, O_NONBLOCK);
    bench->timer = loop_timer_create(bench->loop, on_timer, bench);
    bench->writer =
        output_writer_create(bench->loop, bench->out[1], two_pipes ? bench->err[1] : bench->out[1],
                             style, &events, bench);
}

static void bench_open(struct bench *bench, int label, int two_pipes)
{
    bench_open_style(bench, &(struct output_label_style){.ranks = label}, two_pipes);
}

static void bench_close(struct bench *bench)
{
    output_writer_destroy(bench->writer);
    loop_timer_destroy(bench->timer);
    loop_destroy(bench->loop);
    for (int i = 0; i < 2; i++) {
        if (bench->out[i] >= 0)
            close(bench->out[i]);
        if (bench->err[i] >= 0)
            close(bench->err[i]);
    }
    buffer_fini(&bench->seen);
}

static void put(struct bench *bench, uint32_t rank, uint8_t stream, const char *text)
{
    bench->put_bytes += strlen(text);
    output_writer_put(bench->writer, &(struct output_piece){.rank = rank,
                                                            .place = rank + 1,
                                                            .stream = stream,
                                                            .data = text,
                                                            .data_bytes = strlen(text)});
}

/* Runs the loop until all is written or for so long. */
static void run_for(struct bench *bench, uint32_t milliseconds)
{
    loop_timer_set(bench->timer, loop_now_ns() + (uint64_t)milliseconds * NS_PER_MS);
    loop_run(bench->loop);
    loop_timer_cancel(bench->timer);
    read_all(bench->out[0], &bench->seen);
}

static const char *seen(struct bench *bench)
{
    return buffer_string(&bench->seen);
}

static void test_lines_stay_whole(void)
{
    struct bench bench;

    bench_open(&bench, 0, 0);
    put(&bench, 0, 1, "zero ");
    put(&bench, 1, 1, "one\n");
    put(&bench, 2, 2, "two ");
    put(&bench, 0, 1, "has a line\n");
    put(&bench, 2, 2, "as well\n");
    run_for(&bench, LONG_MS);
    is_string(seen(&bench), "zero has a line\none\ntwo as well\n", "no line is inside another one");
    is_uint(bench.told_bytes, bench.put_bytes, "all bytes are told as written");
    bench_close(&bench);
}

static void test_owner_first(void)
{
    struct bench bench;

    bench_open(&bench, 0, 0);
    put(&bench, 0, 1, "a");
    put(&bench, 1, 1, "b");
    put(&bench, 2, 1, "c\n");
    put(&bench, 1, 1, "b");
    put(&bench, 1, 1, "b\nb");
    put(&bench, 3, 1, "d\n");
    put(&bench, 1, 1, "b\n");
    put(&bench, 0, 1, "a\n");
    run_for(&bench, LONG_MS);
    is_string(seen(&bench), "aa\nbbb\nbb\nc\nd\n", "who holds the line goes on, the rest in order");
    bench_close(&bench);
}

static void test_prompt(void)
{
    struct bench bench;
    uint64_t start_ns;

    bench_open(&bench, 0, 0);
    put(&bench, 0, 1, "Your name? ");
    run_for(&bench, LONG_MS);
    is_string(seen(&bench), "Your name? ", "a prompt is shown at once");
    put(&bench, 1, 1, "meanwhile\n");
    start_ns = loop_now_ns();
    run_for(&bench, LONG_MS);
    is_string(seen(&bench), "Your name? meanwhile\n", "but does not keep the terminal for ever");
    ok(loop_now_ns() - start_ns >= (uint64_t)(WHOLE_LINE_WAIT_MS - 5) * NS_PER_MS,
       "just for a while");
    for (int rank = 0; rank < 50; rank++)
        put(&bench, (uint32_t)rank, 1, ".");
    start_ns = loop_now_ns();
    run_for(&bench, LONG_MS);
    is_uint(bench.seen.length_bytes, 21 + 50, "unfinished lines of many");
    ok(loop_now_ns() - start_ns < 5ull * WHOLE_LINE_WAIT_MS * NS_PER_MS,
       "do not wait one after the other");
    put(&bench, 7, 1, "end");
    output_writer_release(bench.writer);
    start_ns = loop_now_ns();
    run_for(&bench, LONG_MS);
    has_string(seen(&bench), "end", "after the release nothing is held back");
    is_uint(bench.told_bytes, bench.put_bytes, "all bytes are told as written");
    bench_close(&bench);
}

static void test_labels(void)
{
    struct bench bench;

    bench_open(&bench, 1, 0);
    put(&bench, 3, 1, "a\n\nb\n");
    put(&bench, 12, 2, "c");
    run_for(&bench, LONG_MS);
    put(&bench, 12, 2, "d\ne");
    run_for(&bench, LONG_MS);
    output_writer_message(bench.writer, "rank 12 is slow");
    output_writer_release(bench.writer);
    run_for(&bench, LONG_MS);
    is_string(seen(&bench), "[3] a\n[3] \n[3] b\n[12] cd\n[12] e\nbanyan: rank 12 is slow\n",
              "labels stand once in front of each line");
    put(&bench, 1, 1, "open");
    put(&bench, 2, 1, "other\n");
    output_writer_release(bench.writer);
    run_for(&bench, LONG_MS);
    has_string(seen(&bench), "[1] open\n[2] other\n", "a line left open is ended before a label");
    is_uint(bench.told_bytes, bench.put_bytes, "labels are not counted");
    bench.put_bytes += 6;
    output_writer_put(bench.writer,
                      &(struct output_piece){
                          .job = 3, .rank = 1, .stream = 1, .data = "other\n", .data_bytes = 6});
    run_for(&bench, LONG_MS);
    has_string(seen(&bench), "[3.1] other\n",
               "a rank of a spawned job is labelled with both numbers");
    bench_close(&bench);
}

static void end_stream(struct bench *bench, uint32_t rank, uint8_t stream)
{
    output_writer_put(bench->writer, &(struct output_piece){.rank = rank, .stream = stream});
}

static void test_labels_inside(void)
{
    struct bench bench;

    bench_open(&bench, 1, 0);
    put(&bench, 1, 1, "name? ");
    put(&bench, 2, 1, "x\n");
    run_for(&bench, WHOLE_LINE_WAIT_MS + LONG_MS);
    put(&bench, 1, 1, "again? ");
    run_for(&bench, LONG_MS);
    put(&bench, 1, 1, "y\n");
    run_for(&bench, LONG_MS);
    is_string(seen(&bench), "[1] name? [2] x\n[1] again? y\n",
              "no newline is put into a line: it is labelled again where others came between");
    bench_close(&bench);

    bench_open(&bench, 1, 0);
    put(&bench, 1, 1, "a");
    put(&bench, 2, 1, "b");
    end_stream(&bench, 1, 1);
    end_stream(&bench, 2, 1);
    put(&bench, 3, 1, "c\n");
    run_for(&bench, LONG_MS);
    is_string(seen(&bench), "[1] a\n[2] b\n[3] c\n", "one that has ended without gets it");
    is_uint(bench.told_bytes, bench.put_bytes, "which is not counted");
    bench_close(&bench);
}

static void test_ended_streams(void)
{
    struct bench bench;
    uint64_t start_ns = loop_now_ns();

    bench_open(&bench, 0, 0);
    for (uint32_t rank = 0; rank < 100; rank++)
        put(&bench, rank, 1, "-");
    for (uint32_t rank = 0; rank < 100; rank++)
        end_stream(&bench, rank, 1);
    put(&bench, 100, 1, "\n");
    run_for(&bench, WHOLE_LINE_WAIT_MS * 3 / 4);
    is_uint(bench.seen.length_bytes, 101, "a line that ended with its stream holds nobody up");
    ok(loop_now_ns() - start_ns < WHOLE_LINE_WAIT_MS * (uint64_t)NS_PER_MS, "at all");
    bench_close(&bench);
}

static void put_long(struct bench *bench, uint32_t rank)
{
    char *text = memory_allocate(LARGE_LINE_BYTES + 1);

    memset(text, 'x', LARGE_LINE_BYTES);
    text[LARGE_LINE_BYTES] = 0;
    put(bench, rank, 1, text);
    free(text);
}

/* Two nodes send long lines: the second one's window is held back while the first one goes on. */
static void test_long_line(void)
{
    struct bench bench;

    bench_open(&bench, 0, 0);
    bench.read_while_waiting = 1;
    put_long(&bench, 0);
    put(&bench, 1, 1, "other\n");
    bench.wanted_bytes = LARGE_LINE_BYTES;
    run_for(&bench, 1);
    is_uint(bench.seen.length_bytes, LARGE_LINE_BYTES, "a long line that goes on is not broken");
    put_long(&bench, 0);
    bench.wanted_bytes = 2 * LARGE_LINE_BYTES;
    run_for(&bench, 1);
    is_uint(bench.seen.length_bytes, 2 * LARGE_LINE_BYTES, "as long as it does");
    bench.read_while_waiting = 0;
    run_for(&bench, WHOLE_LINE_WAIT_MS / 2);
    is_uint(bench.seen.length_bytes, 2 * LARGE_LINE_BYTES + 6,
            "it is not waited for long when it stands still");
    bench_close(&bench);
}

static void test_messages(void)
{
    struct bench bench;
    struct buffer err = {0};

    bench_open(&bench, 0, 1);
    put(&bench, 0, 1, "out");
    put(&bench, 0, 2, "err");
    output_writer_message(bench.writer, "rank 0 was killed");
    run_for(&bench, LONG_MS);
    read_all(bench.err[0], &err);
    is_string(seen(&bench), "out", "stdout has its bytes only");
    is_string(buffer_string(&err), "err\nbanyan: rank 0 was killed\n",
              "a message is a line of its own on stderr");
    buffer_fini(&err);
    bench_close(&bench);
}

static void test_slow_reader(void)
{
    struct bench bench;
    char *data = memory_allocate(LARGE_BYTES + 1);

    memset(data, 'x', LARGE_BYTES);
    for (size_t i = 80; i < LARGE_BYTES; i += 81)
        data[i] = '\n';
    data[LARGE_BYTES - 1] = '\n';
    data[LARGE_BYTES] = '\0';
    bench_open(&bench, 0, 0);
    put(&bench, 0, 1, data);
    run_for(&bench, 20);
    ok(bench.told_bytes < LARGE_BYTES / 2, "what a reader does not take is not told as written");
    is_int(fcntl(bench.out[1], F_GETFL) & O_NONBLOCK, 0, "the user's description stays blocking");
    bench.read_while_waiting = 1;
    run_for(&bench, 1);
    is_uint(bench.told_bytes, LARGE_BYTES, "it is when it was read");
    is_bytes(bench.seen.data, bench.seen.length_bytes, data, LARGE_BYTES, "unchanged");
    put(&bench, 0, 1, data);
    bench.read_while_waiting = 0;
    run_for(&bench, 20);
    output_writer_discard(bench.writer);
    run_for(&bench, LONG_MS);
    is_uint(bench.told_bytes, bench.put_bytes, "what is discarded is told, too");
    is_uint(output_writer_queued(bench.writer), 0, "nothing is queued after it");
    free(data);
    bench_close(&bench);
}

/* The rank whose line is open must get credit for what is written of it, and not another one. */
static void test_held_is_not_told(void)
{
    struct bench bench;

    bench_open(&bench, 0, 0);
    put(&bench, 0, 1, "open");
    put(&bench, 1, 1, "held\n");
    put(&bench, 0, 1, " line");
    run_for(&bench, 20);
    is_uint(bench.told_bytes, 9, "of an open line all is told as written");
    is_uint(bench.told_of_second_bytes, 0, "of others, which are held back, nothing is");
    put(&bench, 0, 1, "\n");
    run_for(&bench, LONG_MS);
    is_uint(bench.told_of_second_bytes, 5, "until the line has ended");
    is_uint(bench.told_bytes, bench.put_bytes, "then all is");
    bench_close(&bench);
}

/* What the one stream owes is not reported as written by what the other has written. */
static void test_slow_reader_of_one(void)
{
    struct bench bench;
    char *data = memory_allocate(LARGE_BYTES + 1);

    memset(data, '\n', LARGE_BYTES);
    data[LARGE_BYTES] = '\0';
    bench_open(&bench, 0, 1);
    put(&bench, 0, 1, data);
    put(&bench, 1, 2, "stderr\n");
    run_for(&bench, 20);
    is_uint(bench.told_of_second_bytes, 7, "stderr is written though nobody reads stdout");
    ok(bench.told_bytes < LARGE_BYTES / 2, "which is not told as written");
    put(&bench, 1, 2, "again\n");
    run_for(&bench, 20);
    is_uint(bench.told_of_second_bytes, 13, "again");
    output_writer_discard(bench.writer);
    run_for(&bench, LONG_MS);
    is_uint(bench.told_bytes, bench.put_bytes, "at last all of it is");
    is_uint(bench.told_of_second_bytes, 13, "each of its stream");
    free(data);
    bench_close(&bench);
}

static void test_reader_gone(void)
{
    struct bench bench;

    bench_open(&bench, 0, 1);
    close(bench.out[0]);
    bench.out[0] = bench.err[0];
    bench.err[0] = -1;
    put(&bench, 0, 1, "nobody reads this\n");
    run_for(&bench, LONG_MS);
    is_int(bench.failures, 1, "a reader that is gone is told");
    is_int(bench.failure.code, -EPIPE, "with its code");
    is_string(bench.failure.text, "cannot write to stdout: Broken pipe (the reader has exited)",
              "in one line");
    put(&bench, 0, 1, "nor this\n");
    put(&bench, 0, 2, "but this\n");
    run_for(&bench, LONG_MS);
    is_int(bench.failures, 1, "once");
    is_string(seen(&bench), "but this\n", "the other stream goes on");
    is_uint(bench.told_bytes, bench.put_bytes, "dropped bytes are credited");
    bench_close(&bench);
}

/* Writes to the named file through a writer; returns the failure's text. */
static const char *write_file(const char *path, int flags, int two)
{
    static struct bench bench;
    int fd = open(path, flags | O_CLOEXEC, 0600);
    int other = two ? dup(fd) : open("/dev/null", O_RDONLY | O_CLOEXEC);

    bench_open(&bench, 0, 0);
    output_writer_destroy(bench.writer);
    bench.writer = output_writer_create(bench.loop, fd, other, &(struct output_label_style){0},
                                        &events, &bench);
    put(&bench, 0, 1, "one\n");
    put(&bench, 0, two ? 2 : 1, "two\n");
    put(&bench, 0, 1, "three\n");
    run_for(&bench, LONG_MS);
    close(fd);
    close(other);
    is_uint(output_writer_queued(bench.writer), 0, "%s: nothing is left", path);
    bench_close(&bench);
    return bench.failure.text;
}

static void test_files(void)
{
    char path[] = "/tmp/output_writer.XXXXXX";
    int fd = mkstemp(path);
    char text[64] = "";

    is_string(write_file(path, O_WRONLY, 1), "", "a file is written");
    is_int(read(fd, text, sizeof(text) - 1), 14, "as much as was put");
    is_string(text, "one\ntwo\nthree\n", "both streams of one file in order");
    is_string(write_file("/dev/null", O_WRONLY, 0), "", "/dev/null takes all");
    is_string(write_file("/dev/full", O_WRONLY, 0),
              "cannot write to stdout: No space left on device", "/dev/full is told");
    is_string(write_file("/dev/null", O_RDONLY, 0), "cannot write to stdout: Bad file descriptor",
              "and so is a stdout that was not open for writing");
    close(fd);
    unlink(path);
}

static void test_socket(void)
{
    struct bench bench;
    int fds[2];

    bench_open(&bench, 0, 0);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
        bail_out("socketpair: %s", strerror(errno));
    output_writer_destroy(bench.writer);
    bench.writer = output_writer_create(bench.loop, fds[0], fds[0], &(struct output_label_style){0},
                                        &events, &bench);
    close(bench.out[0]);
    bench.out[0] = fds[1];
    fcntl(fds[1], F_SETFL, O_NONBLOCK);
    put(&bench, 0, 1, "to a socket\n");
    run_for(&bench, LONG_MS);
    is_string(seen(&bench), "to a socket\n", "a socket is written");
    is_int(fcntl(fds[0], F_GETFL) & O_NONBLOCK, 0, "and stays blocking");
    bench_close(&bench);
    close(fds[0]);
}

/* A line keeps the time of its first piece; one that was held back has its own. */
static void test_times(void)
{
    static const struct output_label_style style = {.times = OUTPUT_LABEL_MILLISECONDS, .ranks = 1};
    static const struct output_piece pieces[] = {
        {.rank = 1, .stream = 1, .time_ns = NS_PER_S, .data = "a", .data_bytes = 1},
        {.rank = 2, .stream = 1, .time_ns = 2ull * NS_PER_S, .data = "x\n", .data_bytes = 2},
        {.rank = 1, .stream = 1, .time_ns = 3ull * NS_PER_S, .data = "b\nc\n", .data_bytes = 4}};
    struct bench bench;

    bench_open_style(&bench, &style, 0);
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++)
        output_writer_put(bench.writer, &pieces[i]);
    run_for(&bench, LONG_MS);
    is_string(seen(&bench),
              "1970-01-01T00:00:01.000Z [1] ab\n1970-01-01T00:00:03.000Z [1] c\n"
              "1970-01-01T00:00:02.000Z [2] x\n",
              "each line has the time of its rank's output");
    bench_close(&bench);
}

/* ---- files ---- */

struct route_test {
    struct bench bench;
    struct request_output output;
    struct allocation nodes;
    struct output_route route;
    char directory[64];
    char patterns[2][128];
};

static void route_open(struct route_test *test, const char *out, const char *err, int merged)
{
    *test = (struct route_test){.output = {.is_merged = merged}};
    snprintf(test->directory, sizeof(test->directory), "/tmp/output_writer.XXXXXX");
    if (mkdtemp(test->directory) == NULL)
        bail_out("mkdtemp: %s", strerror(errno));
    snprintf(test->patterns[0], sizeof(test->patterns[0]), "%s/%s", test->directory, out);
    snprintf(test->patterns[1], sizeof(test->patterns[1]), "%s/%s", test->directory, err);
    test->output.patterns[0] = out[0] == '/' ? (char *)out : test->patterns[0];
    test->output.patterns[1] = err[0] != '\0' ? test->patterns[1] : NULL;
    allocation_init(&test->nodes);
    allocation_add(&test->nodes, "n1", 1);
    allocation_add(&test->nodes, "n2", 1);
    test->route = (struct output_route){.output = &test->output, .nodes = &test->nodes};
    bench_open(&test->bench, 0, 0);
    output_writer_route(test->bench.writer, &test->route);
}

static void route_put(struct route_test *test, uint32_t rank, uint8_t stream, const char *text)
{
    test->bench.put_bytes += strlen(text);
    output_writer_put(test->bench.writer, &(struct output_piece){.number = 3,
                                                                 .rank = rank,
                                                                 .place = rank + 1,
                                                                 .stream = stream,
                                                                 .data = text,
                                                                 .data_bytes = strlen(text)});
}

static void route_holds(const struct route_test *test, const char *name, const char *expected)
{
    char path[160], text[256] = "";
    ssize_t got;
    int fd;

    snprintf(path, sizeof(path), "%s/%s", test->directory, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    text[got > 0 ? got : 0] = '\0';
    is_string(text, expected, "what is in %s", name);
    if (fd >= 0)
        close(fd);
    unlink(path);
}

static void route_close(struct route_test *test)
{
    bench_close(&test->bench);
    ranges_fini(&test->output.from);
    allocation_fini(&test->nodes);
    is_int(rmdir(test->directory), 0, "there is no other file");
}

static void test_route(void)
{
    struct route_test test;
    struct error error = ERROR_NONE;

    route_open(&test, "%h.%j.%2r.%t", "%h.%j.%2r.%t", 0);
    for (int i = 0; i < 3; i++) {
        route_put(&test, 0, 1, "zero\n");
        route_put(&test, 1, 1, "on");
        route_put(&test, 1, 2, "bad\n");
        run_for(&test.bench, LONG_MS);
    }
    route_put(&test, 2, 1, "nowhere\n");
    output_writer_message(test.bench.writer, "rank 1 is slow");
    run_for(&test.bench, LONG_MS);
    is_string(seen(&test.bench), "banyan: rank 1 is slow\n", "only messages go to the user");
    is_uint(test.bench.told_bytes, test.bench.put_bytes, "all is reported as written");
    is_int(output_writer_close_files(test.bench.writer, &error), 0, "the files can be closed");
    route_holds(&test, "n1.3.00.out", "zero\nzero\nzero\n");
    route_holds(&test, "n2.3.01.out", "ononon");
    route_holds(&test, "n2.3.01.err", "bad\nbad\nbad\n");
    route_holds(&test, "unknown.3.02.out", "nowhere\n");
    route_close(&test);
}

static void test_route_shared(void)
{
    struct route_test test;

    route_open(&test, "all", "", 1);
    ranges_add(&test.output.from, 0, 1);
    route_put(&test, 0, 1, "be");
    route_put(&test, 1, 2, "other\n");
    route_put(&test, 2, 1, "left out\n");
    route_put(&test, 0, 1, "gin\n");
    run_for(&test.bench, LONG_MS);
    is_uint(test.bench.told_bytes, test.bench.put_bytes, "also what is left out is reported");
    route_holds(&test, "all", "begin\nother\n");
    is_string(seen(&test.bench), "", "nothing goes to the user");
    route_close(&test);
}

static void test_fold(void)
{
    static const struct request_output output = {.is_folded = 1};
    struct allocation nodes;
    const struct output_route route = {.output = &output, .nodes = &nodes};
    struct bench bench;

    allocation_init(&nodes);
    bench_open(&bench, 0, 0);
    output_writer_route(bench.writer, &route);
    for (uint32_t rank = 0; rank < 5; rank++) {
        put(&bench, rank, 1, rank == 3 ? "odd\n" : "hel");
        put(&bench, rank, 1, "lo\n");
    }
    output_writer_put(bench.writer,
                      &(struct output_piece){
                          .job = 2, .rank = 1, .stream = 2, .data = "spawned\n", .data_bytes = 8});
    bench.put_bytes += 8;
    output_writer_release(bench.writer);
    run_for(&bench, LONG_MS);
    is_string(seen(&bench), "[0-2,4] hello\n[3] odd\n[3] lo\n[2.1] spawned\n",
              "lines of ranks are folded");
    is_uint(bench.told_bytes, bench.put_bytes, "all is reported as written");
    put(&bench, 0, 1, "lost\n");
    ok(output_writer_queued(bench.writer) > 0, "a line that waits counts as queued");
    output_writer_discard(bench.writer);
    is_uint(output_writer_queued(bench.writer), 0, "what is dropped does not");
    run_for(&bench, LONG_MS);
    is_uint(bench.told_bytes, bench.put_bytes, "it is reported, too");
    bench_close(&bench);
    allocation_fini(&nodes);
}

/* Nobody reads: credit stops, so that what is queued stays bounded. */
static void test_fold_slow_reader(void)
{
    static const struct request_output output = {.is_folded = 1};
    struct allocation nodes;
    const struct output_route route = {.output = &output, .nodes = &nodes};
    struct bench bench;
    char line[1024];

    allocation_init(&nodes);
    bench_open(&bench, 0, 0);
    output_writer_route(bench.writer, &route);
    memset(line, 'x', sizeof(line) - 1);
    line[sizeof(line) - 2] = '\n';
    line[sizeof(line) - 1] = '\0';
    for (uint32_t i = 0; i < 4096; i++) {
        line[0] = (char)('a' + i % 26);
        line[1] = (char)('a' + i / 26 % 26);
        line[2] = (char)('a' + i / 676);
        put(&bench, 0, 1, line);
        if (i == 3000)
            run_for(&bench, 0);
    }
    run_for(&bench, 0);
    ok(bench.told_bytes < bench.put_bytes, "credit waits for the reader");
    output_writer_release(bench.writer);
    bench.read_while_waiting = 1;
    run_for(&bench, 1);
    read_all(bench.out[0], &bench.seen);
    is_uint(bench.told_bytes, bench.put_bytes, "and comes when it has read");
    is_uint(bench.seen.length_bytes, bench.put_bytes + 4096ull * 4, "every line has come");
    bench_close(&bench);
    allocation_fini(&nodes);
}

static void test_route_full(void)
{
    struct route_test test;

    route_open(&test, "/dev/full", "", 0);
    route_put(&test, 0, 1, "lost\n");
    run_for(&test.bench, LONG_MS);
    is_int(test.bench.failures, 1, "a full disk is reported once");
    is_string(test.bench.failure.text, "cannot write to /dev/full: No space left on device",
              "with the file's name");
    route_put(&test, 0, 1, "more\n");
    route_put(&test, 0, 2, "still\n");
    run_for(&test.bench, LONG_MS);
    is_string(seen(&test.bench), "still\n", "others are still written");
    is_uint(test.bench.told_bytes, test.bench.put_bytes, "what is lost is reported as written");
    is_int(test.bench.failures, 1, "and the failure is not reported again");
    route_close(&test);
}

/* A line that passes. */
static void test_status(void)
{
    struct bench bench;

    bench_open(&bench, 0, 0);
    output_writer_status(bench.writer, NULL);
    output_writer_status(bench.writer, "1 of 3");
    run_for(&bench, LONG_MS);
    output_writer_status(bench.writer, "2 of 3");
    run_for(&bench, LONG_MS);
    is_string(seen(&bench), "1 of 3\r\033[K2 of 3", "it replaces the one before");
    buffer_clear(&bench.seen);
    put(&bench, 0, 1, "hello\nwor");
    output_writer_status(bench.writer, "dropped");
    run_for(&bench, LONG_MS);
    output_writer_status(bench.writer, "dropped");
    put(&bench, 0, 1, "ld\n");
    run_for(&bench, LONG_MS);
    is_string(seen(&bench), "\r\033[Khello\nworld\n",
              "it goes before output comes, and comes into no line");
    buffer_clear(&bench.seen);
    output_writer_status(bench.writer, "3 of 3");
    output_writer_message(bench.writer, "why");
    output_writer_status(bench.writer, "dropped");
    run_for(&bench, LONG_MS);
    output_writer_status(bench.writer, "4");
    output_writer_release(bench.writer);
    run_for(&bench, LONG_MS);
    is_string(seen(&bench), "3 of 3\r\033[Kbanyan: why\n4\r\033[K",
              "likewise before messages, and the end");
    is_uint(bench.told_bytes, bench.put_bytes, "it is no output of ranks");
    bench_close(&bench);
    bench_open(&bench, 0, 1);
    output_writer_status(bench.writer, "here");
    put(&bench, 0, 1, "out\n");
    run_for(&bench, LONG_MS);
    is_string(seen(&bench), "out\n", "stdout is not touched");
    bench_close(&bench);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    test_status();
    test_lines_stay_whole();
    test_owner_first();
    test_prompt();
    test_labels();
    test_labels_inside();
    test_times();
    test_route();
    test_route_shared();
    test_route_full();
    test_fold();
    test_fold_slow_reader();
    test_ended_streams();
    test_long_line();
    test_messages();
    test_slow_reader();
    test_slow_reader_of_one();
    test_held_is_not_told();
    test_reader_gone();
    test_files();
    test_socket();
    return done_testing();
}

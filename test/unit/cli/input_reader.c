/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/time.h"
#include "launch/cli/client/input_reader.h"
#include "test/support/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"

#define WINDOW_BYTES 10000u
#define TEXT_BYTES   55555u
#define PAUSE_MS     30

struct bench {
    struct loop *loop;
    struct loop_timer *timer;
    struct buffer seen;
    int ends;
    struct error failure;
};

static void on_data(void *context, const void *data, size_t bytes)
{
    struct bench *bench = context;

    buffer_append(&bench->seen, data, bytes);
    bench->ends += bytes == 0;
    if (bytes == 0)
        loop_stop(bench->loop);
}

static void on_failed(void *context, const struct error *error)
{
    struct bench *bench = context;

    bench->failure = *error;
}

static void on_timer(void *context)
{
    struct bench *bench = context;

    loop_stop(bench->loop);
}

static const struct input_reader_events events = {.data = on_data, .failed = on_failed};

static void bench_open(struct bench *bench)
{
    *bench = (struct bench){.loop = loop_create(NULL)};
    bench->timer = loop_timer_create(bench->loop, on_timer, bench);
}

static void bench_close(struct bench *bench)
{
    loop_timer_destroy(bench->timer);
    loop_destroy(bench->loop);
    buffer_fini(&bench->seen);
}

/* Until the end of the input, or for a while. */
static void run(struct bench *bench)
{
    loop_timer_set(bench->timer, loop_now_ns() + (uint64_t)PAUSE_MS * NS_PER_MS);
    loop_run(bench->loop);
    loop_timer_cancel(bench->timer);
}

static char *make_text(void)
{
    char *text = memory_allocate(TEXT_BYTES);

    for (size_t i = 0; i < TEXT_BYTES; i++)
        text[i] = (char)('a' + i % 23);
    return text;
}

/* Reads all of fd, giving credit a window at a time. */
static void check_windows(int fd, const char *name)
{
    struct bench bench;
    struct input_reader *reader;
    char *text = make_text();
    size_t expected = WINDOW_BYTES;

    bench_open(&bench);
    reader = input_reader_create(bench.loop, fd, WINDOW_BYTES, &events, &bench);
    for (; expected < TEXT_BYTES; expected += WINDOW_BYTES) {
        run(&bench);
        if (bench.seen.length_bytes != expected)
            break;
        input_reader_credit(reader, WINDOW_BYTES);
    }
    ok(expected > TEXT_BYTES, "%s: never more than a window is read ahead", name);
    run(&bench);
    is_int(bench.ends, 1, "%s: the end is told", name);
    input_reader_credit(reader, WINDOW_BYTES);
    input_reader_resume(reader);
    run(&bench);
    is_int(bench.ends, 1, "%s: once", name);
    is_bytes(bench.seen.data, bench.seen.length_bytes, text, TEXT_BYTES, "%s: all is read", name);
    is_string(bench.failure.text, "", "%s: without complaint", name);
    input_reader_destroy(reader);
    bench_close(&bench);
    free(text);
}

static void test_file(void)
{
    char path[] = "/tmp/input_reader.XXXXXX";
    int fd = mkstemp(path);
    char *text = make_text();

    if (fd < 0 || write(fd, text, TEXT_BYTES) != (ssize_t)TEXT_BYTES)
        bail_out("%s: %s", path, strerror(errno));
    lseek(fd, 0, SEEK_SET);
    unlink(path);
    check_windows(fd, "file");
    close(fd);
    free(text);
}

static void test_pipe(void)
{
    char *text = make_text();
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) < 0 || write(fds[1], text, TEXT_BYTES) != (ssize_t)TEXT_BYTES)
        bail_out("pipe: %s", strerror(errno));
    close(fds[1]);
    check_windows(fds[0], "pipe");
    is_int(fcntl(fds[0], F_GETFL) & O_NONBLOCK, 0, "the user's description stays blocking");
    close(fds[0]);
    free(text);
}

static void test_unreadable(void)
{
    struct bench bench;
    struct input_reader *reader;
    int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    bench_open(&bench);
    reader = input_reader_create(bench.loop, fd, WINDOW_BYTES, &events, &bench);
    run(&bench);
    is_string(bench.failure.text, "cannot read stdin: Is a directory", "a directory is refused");
    is_int(bench.ends, 1, "which ends the input");
    input_reader_destroy(reader);
    bench_close(&bench);
    close(fd);
}

static void test_null(void)
{
    struct bench bench;
    struct input_reader *reader;
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    bench_open(&bench);
    reader = input_reader_create(bench.loop, fd, WINDOW_BYTES, &events, &bench);
    run(&bench);
    ok(bench.ends == 1 && bench.seen.length_bytes == 0, "/dev/null is empty");
    input_reader_destroy(reader);
    bench_close(&bench);
    close(fd);
}

int main(void)
{
    test_file();
    test_pipe();
    test_unreadable();
    test_null();
    return done_testing();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The terminal of a rank (launch/rank/pseudo_terminal.c), and its output, which is sent at once. */
#include "config.h"

#include "launch/rank/pseudo_terminal.h"

#include "base/time.h"
#include "launch/rank/output.h"

#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "test/support/tap.h"

#define PATIENCE_MS 60000u /* never reached */

static struct loop *loop;
static struct buffer shown;
static uint64_t drained_bytes = UINT64_MAX;

static void on_data(void *context, uint32_t index, uint8_t stream, uint64_t time_ns,
                    const void *data, size_t bytes)
{
    (void)context;
    (void)time_ns;
    ok(index == 1 && stream == 1 && bytes > 0, "it is what the rank writes to standard output");
    buffer_append(&shown, data, bytes);
    loop_stop(loop);
}

static void on_drained(void *context, uint64_t total_bytes)
{
    (void)context;
    drained_bytes = total_bytes;
    loop_stop(loop);
}

static void out_of_patience(void *context)
{
    (void)context;
    bail_out("what is waited for does not come");
}

/* Each piece comes by itself, within no time that a line would wait. */
static void test_output(int fd, int process_fd)
{
    static const struct output_events events = {.data = on_data, .drained = on_drained};
    struct loop_timer *patience;
    struct output *output;

    loop = loop_create(NULL);
    patience = loop_timer_create(loop, out_of_patience, NULL);
    loop_timer_set(patience, loop_now_ns() + PATIENCE_MS * NS_PER_MS);
    output = output_create(loop, 2, 65536, &events, NULL);
    output_terminal(output, 1, fd);
    is_int(write(process_fd, "> ", 2), 2, "a prompt");
    (void)loop_run(loop);
    is_string(buffer_string(&shown), "> ", "is shown");
    is_int(write(process_fd, "line\n", 5), 5, "and a line");
    (void)loop_run(loop);
    is_string(buffer_string(&shown), "> line\r\n", "as a terminal has it");
    is_int(write(process_fd, "last", 4), 4, "what it writes last");
    close(process_fd);
    output_cut(output, PATIENCE_MS, 0);
    while (drained_bytes == UINT64_MAX)
        (void)loop_run(loop);
    is_string(buffer_string(&shown), "> line\r\nlast", "is shown, too");
    is_uint(drained_bytes, 12, "then it is over");
    output_destroy(output);
    loop_timer_destroy(patience);
    loop_destroy(loop);
}

static void test_no_descriptors(void)
{
    const struct window window = {.rows = 1, .columns = 1};
    struct rlimit before, none;
    int fd, process_fd;

    getrlimit(RLIMIT_NOFILE, &before);
    none = before;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &none);
    ok(pseudo_terminal_open(&window, &fd, &process_fd) < 0, "without descriptors there is none");
    setrlimit(RLIMIT_NOFILE, &before);
}

int main(void)
{
    const struct window window = {.rows = 31, .columns = 97}, larger = {.rows = 40, .columns = 132};
    struct winsize size = {0};
    int fd = -1, process_fd = -1;

    if (pseudo_terminal_open(&window, &fd, &process_fd) < 0)
        skip_all("this system has no pseudo-terminals");
    ok(isatty(process_fd), "the process gets a terminal");
    is_int(ioctl(process_fd, TIOCGWINSZ, &size), 0, "which has a size");
    ok(size.ws_row == 31 && size.ws_col == 97, "the one asked for");
    pseudo_terminal_resize(fd, &larger);
    (void)ioctl(process_fd, TIOCGWINSZ, &size);
    ok(size.ws_row == 40 && size.ws_col == 132, "it can be changed");
    ok((fcntl(fd, F_GETFD) & FD_CLOEXEC) && (fcntl(process_fd, F_GETFD) & FD_CLOEXEC),
       "both ends are closed on exec");
    ok((fcntl(fd, F_GETFL) & O_NONBLOCK) && !(fcntl(process_fd, F_GETFL) & O_NONBLOCK),
       "ours does not block, that of the process does");
    test_output(fd, process_fd);
    test_no_descriptors();
    buffer_fini(&shown);
    return done_testing();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* A terminal that shows pages (launch/cli/verb/top_screen.c), played by this process. */
#include "config.h"

#include "launch/cli/verb/top_screen.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "test/support/tap.h"

#define PAGES_END "\033[J"

static int terminal, line; /* both ends */

static void child_shows(void)
{
    struct buffer page = {0};
    uint32_t lines, columns;
    enum top_screen_event event;

    (void)setsid();
    (void)ioctl(line, TIOCSCTTY, 0);
    (void)dup2(line, 0);
    (void)dup2(line, 1);
    setenv("TERM", "xterm", 1);
    if (!top_screen_is_possible())
        _exit(9);
    top_screen_open();
    do {
        top_screen_size(&lines, &columns);
        buffer_clear(&page);
        buffer_printf(&page, "%u x %u\nlast\n", lines, columns);
        top_screen_show(&page);
        event = top_screen_wait(120000);
    } while (event == TOP_SCREEN_RESIZED);
    top_screen_close();
    _exit(event == TOP_SCREEN_QUIT ? 7 : 8);
}

static pid_t begin(void)
{
    pid_t child = fork();

    if (child == 0)
        child_shows();
    return child;
}

/* What the terminal gets, up to a text. */
static void await(const char *end, struct buffer *seen)
{
    buffer_clear(seen);
    while (strstr(buffer_string(seen), end) == NULL) {
        ssize_t bytes = read(terminal, buffer_reserve(seen, 1), 1);

        if (bytes <= 0)
            bail_out("read");
        buffer_commit(seen, (size_t)bytes);
    }
}

static int has_modes(tcflag_t flags)
{
    struct termios modes;

    return tcgetattr(line, &modes) == 0 && (modes.c_lflag & (ICANON | ECHO)) == flags;
}

static void ends(pid_t child, int expected, const char *name)
{
    struct buffer seen = {0};
    int status = 0;

    await("\033[?25h\033[?1049l", &seen);
    waitpid(child, &status, 0);
    is_int(status, expected, "%s", name);
    ok(has_modes(ICANON | ECHO), "%s: the terminal is as before", name);
    buffer_fini(&seen);
}

static void test_pages(void)
{
    const struct winsize wide = {.ws_row = 50, .ws_col = 132}, narrow = {.ws_row = 5, .ws_col = 9};
    struct buffer seen = {0};
    pid_t child;

    (void)ioctl(line, TIOCSWINSZ, &wide);
    child = begin();
    await(PAGES_END, &seen);
    is_string(buffer_string(&seen),
              "\033[?1049h\033[?25l\033[H\033[2J\033[H50 x 132\033[K\r\nlast\033[K" PAGES_END,
              "a page on the other screen");
    ok(has_modes(0), "what is typed is read at once and not shown");
    (void)ioctl(terminal, TIOCSWINSZ, &narrow);
    await(PAGES_END, &seen);
    is_string(buffer_string(&seen), "\033[H5 x 9\033[K\r\nlast\033[K" PAGES_END,
              "it is shown again when the size changes");
    (void)!write(terminal, "xq", 2);
    ends(child, 7 << 8, "q");
    buffer_fini(&seen);
}

static void test_signals(void)
{
    struct buffer seen = {0};
    pid_t child = begin();
    int status = 0;

    await(PAGES_END, &seen);
    (void)!write(terminal, "\003", 1);
    ends(child, 0, "Ctrl-C");
    child = begin();
    await(PAGES_END, &seen);
    kill(child, SIGHUP);
    ends(child, SIGHUP, "a signal");
    child = begin();
    await(PAGES_END, &seen);
    kill(child, SIGTSTP);
    waitpid(child, &status, WUNTRACED);
    ok(WIFSTOPPED(status) && has_modes(ICANON | ECHO), "who stops it has the terminal");
    kill(child, SIGCONT);
    await(PAGES_END, &seen);
    ok(has_modes(0), "it takes it again");
    (void)!write(terminal, "q", 1);
    ends(child, 7 << 8, "q after a stop");
    buffer_fini(&seen);
}

int main(void)
{
    setenv("TERM", "dumb", 1);
    ok(!top_screen_is_possible(), "not every terminal can do this");
    terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal < 0 || grantpt(terminal) < 0 || unlockpt(terminal) < 0)
        bail_out("posix_openpt");
    line = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
    test_pages();
    test_signals();
    return done_testing();
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/top_screen.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "fabric/loop.h"

#define ENTER "\033[?1049h\033[?25l\033[H\033[2J"
#define LEAVE "\033[?25h\033[?1049l"

static const int endings[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};

#define ENDINGS (sizeof(endings) / sizeof(endings[0]))

/* Handlers use it. */
static struct {
    bool is_open;
    bool reads; /* standard input is a terminal, whose modes are changed */
    struct termios modes;
    volatile sig_atomic_t is_resized;
} screen;

bool top_screen_is_possible(void)
{
    const char *kind = getenv("TERM");

    return isatty(STDOUT_FILENO) && kind != NULL && kind[0] != '\0' && strcmp(kind, "dumb") != 0;
}

static void put(const char *text, size_t bytes)
{
    while (bytes > 0) {
        ssize_t written = write(STDOUT_FILENO, text, bytes);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return;
        text += written;
        bytes -= (size_t)written;
    }
}

/* Safe in a handler, as is give_back. */
static void take(void)
{
    struct termios modes = screen.modes;

    modes.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    modes.c_cc[VMIN] = 1;
    modes.c_cc[VTIME] = 0;
    if (screen.reads)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &modes);
    put(ENTER, sizeof(ENTER) - 1);
}

static void give_back(void)
{
    put(LEAVE, sizeof(LEAVE) - 1);
    if (screen.reads)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &screen.modes);
}

static void on_ending(int number)
{
    int saved = errno;

    give_back();
    if (number == SIGINT)
        _exit(EXIT_SUCCESS);
    if (number != SIGTSTP) {
        (void)signal(number, SIG_DFL); /* pending until the handler returns */
        (void)raise(number);
        return;
    }
    (void)raise(SIGSTOP);
    take(); /* it goes on */
    screen.is_resized = 1;
    errno = saved;
}

static void on_resize(int number)
{
    (void)number;
    screen.is_resized = 1;
}

static void set_handlers(void (*ending)(int number), void (*resize)(int number))
{
    struct sigaction action = {.sa_handler = ending};

    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < ENDINGS; i++)
        (void)sigaction(endings[i], &action, NULL);
    action.sa_handler = resize;
    (void)sigaction(SIGWINCH, &action, NULL);
}

void top_screen_open(void)
{
    assert(!screen.is_open);
    screen.reads = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &screen.modes) == 0;
    screen.is_open = true;
    set_handlers(on_ending, on_resize);
    take();
}

void top_screen_close(void)
{
    assert(screen.is_open);
    give_back(); /* twice does no harm */
    set_handlers(SIG_DFL, SIG_DFL);
    screen.is_open = false;
}

void top_screen_size(uint32_t *ret_lines, uint32_t *ret_columns)
{
    struct winsize size = {0};

    (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    *ret_lines = size.ws_row;
    *ret_columns = size.ws_col;
}

/* Lines overwrite those of the page before, so that nothing flickers; the last line does not scroll. */
void top_screen_show(const struct buffer *page)
{
    struct buffer text = {0};

    assert(screen.is_open);
    buffer_append_string(&text, "\033[H");
    for (size_t i = 0; i < page->length_bytes; i++) {
        if (page->data[i] != '\n')
            buffer_append(&text, &page->data[i], 1);
        else if (i + 1 < page->length_bytes)
            buffer_append_string(&text, "\033[K\n");
        else
            buffer_append_string(&text, "\033[K");
    }
    buffer_append_string(&text, "\033[J");
    put(buffer_string(&text), text.length_bytes);
    buffer_fini(&text);
}

/* The end of the input is an end, too, and so is a terminal that has gone. */
static bool quits(void)
{
    char key;
    ssize_t bytes = read(STDIN_FILENO, &key, 1);

    if (bytes < 0)
        return errno != EINTR && errno != EAGAIN;
    return bytes == 0 || key == 'q' || key == 'Q';
}

enum top_screen_event top_screen_wait(uint32_t milliseconds)
{
    uint64_t until_ns = loop_now_ns() + (uint64_t)milliseconds * 1000000;
    struct pollfd input = {.fd = screen.reads ? STDIN_FILENO : -1, .events = POLLIN};

    assert(screen.is_open);
    for (;;) {
        uint64_t now_ns = loop_now_ns();

        if (screen.is_resized) {
            screen.is_resized = 0;
            return TOP_SCREEN_RESIZED;
        }
        if (now_ns >= until_ns)
            return TOP_SCREEN_DUE;
        if (poll(&input, 1, (int)((until_ns - now_ns) / 1000000 + 1)) > 0 && quits())
            return TOP_SCREEN_QUIT;
    }
}

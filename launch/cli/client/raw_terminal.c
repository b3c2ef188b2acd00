/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/raw_terminal.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* They end this process, and no other code of it handles them. */
static const int deadly[] = {SIGABRT, SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,    SIGSYS,
                             SIGALRM, SIGXCPU, SIGXFSZ, SIGPROF, SIGVTALRM, SIGTRAP};

static struct termios saved;
static volatile sig_atomic_t is_entered;
static pid_t owner; /* not a process that it has forked */

static void restore(void)
{
    sigset_t stop, before;

    if (!is_entered || getpid() != owner)
        return;
    is_entered = 0;
    /* In the background, too: the kernel would stop us. */
    sigemptyset(&stop);
    sigaddset(&stop, SIGTTOU);
    sigprocmask(SIG_BLOCK, &stop, &before);
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &saved);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

static void on_deadly_signal(int number)
{
    restore();
    signal(number, SIG_DFL);
    raise(number);
}

static void catch_deadly_signals(void)
{
    struct sigaction action = {.sa_handler = on_deadly_signal};

    for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++) {
        struct sigaction before;

        if (sigaction(deadly[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            (void)sigaction(deadly[i], &action, NULL);
    }
}

void raw_terminal_enter(void)
{
    struct termios mode;

    if (is_entered || tcgetpgrp(STDIN_FILENO) != getpgrp() || tcgetattr(STDIN_FILENO, &saved) < 0)
        return;
    mode = saved;
    cfmakeraw(&mode);
    owner = getpid();
    catch_deadly_signals();
    is_entered = 1;
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &mode);
    assert(owner > 0);
}

void raw_terminal_leave(void)
{
    restore();
}

bool raw_terminal_is_entered(void)
{
    return is_entered;
}

int raw_terminal_size(struct window *ret_window)
{
    struct winsize size;

    if (!isatty(STDIN_FILENO))
        return -ENOTTY;
    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0)
        return -errno;
    *ret_window = (struct window){.rows = size.ws_row, .columns = size.ws_col};
    return 0;
}

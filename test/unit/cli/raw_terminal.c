/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The user's terminal and its mode (launch/cli/client/raw_terminal.c).  Each case is a process that leads a session with
 * a terminal of its own as its standard input; the test looks at the mode from outside.
 */
#include "config.h"

#include "launch/cli/client/raw_terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "test/support/tap.h"

static int master, slave;
static int said[2]; /* a pipe on which a case says how far it is, and waits for us on the other */
static int answers[2];

static bool is_raw(void)
{
    struct termios mode;

    if (tcgetattr(slave, &mode) < 0)
        bail_out("no terminal");
    return (mode.c_lflag & (tcflag_t)(ICANON | ECHO | ISIG)) == 0;
}

/* In a case: the test looks now. */
static void show(void)
{
    char byte = 0;

    if (write(said[1], &byte, 1) != 1 || read(answers[0], &byte, 1) != 1)
        _exit(99);
}

static void seen(bool raw, const char *name)
{
    char byte;

    if (read(said[0], &byte, 1) != 1)
        bail_out("a case has ended early");
    ok(is_raw() == raw, "%s", name);
    if (write(answers[1], &byte, 1) != 1)
        bail_out("a case is gone");
}

static pid_t begin(void (*what)(void))
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    if (setsid() < 0 || ioctl(slave, TIOCSCTTY, 0) < 0 || dup2(slave, STDIN_FILENO) < 0)
        _exit(98);
    what();
    _exit(0);
}

static void ends(pid_t pid, int expected, const char *name)
{
    int status = -1;

    is_int(waitpid(pid, &status, 0), pid, "%s: it ends", name);
    is_int(WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status), expected, "as expected");
    ok(!is_raw(), "and the terminal is as it was");
}

static void enter_and_leave(void)
{
    struct window window;

    if (raw_terminal_size(&window) < 0 || window.rows != 30 || raw_terminal_is_entered())
        _exit(1);
    raw_terminal_enter();
    raw_terminal_enter();
    show();
    raw_terminal_leave();
    raw_terminal_leave();
    show();
    _exit(raw_terminal_is_entered());
}

static void enter_and_abort(void)
{
    raw_terminal_enter();
    show();
    abort();
}

/* What it has forked does not restore it. */
static void enter_and_fork(void)
{
    pid_t pid;

    raw_terminal_enter();
    pid = fork();
    if (pid == 0) {
        raw_terminal_leave();
        _exit(0);
    }
    (void)waitpid(pid, NULL, 0);
    show();
    raw_terminal_leave();
}

/* Nobody in the background changes it. */
static void enter_behind(void)
{
    (void)signal(SIGTTOU, SIG_IGN);
    if (fork() == 0) {
        (void)setpgid(0, 0);
        raw_terminal_enter();
        show();
        _exit(raw_terminal_is_entered());
    }
    (void)wait(NULL);
}

static void no_terminal(void)
{
    struct window window;

    (void)close(STDIN_FILENO);
    (void)open("/dev/null", O_RDONLY);
    raw_terminal_enter();
    _exit(raw_terminal_is_entered() || raw_terminal_size(&window) != -ENOTTY);
}

int main(void)
{
    const struct winsize size = {.ws_row = 30, .ws_col = 90};
    pid_t pid;

    master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
        skip_all("this system has no pseudo-terminals");
    slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    if (slave < 0 || pipe(said) < 0 || pipe(answers) < 0)
        bail_out("no descriptors");
    (void)ioctl(slave, TIOCSWINSZ, &size);
    pid = begin(enter_and_leave);
    seen(true, "every key comes as it is typed");
    seen(false, "until it is left");
    ends(pid, 0, "a good end");
    pid = begin(enter_and_abort);
    seen(true, "it is raw");
    ends(pid, SIGABRT, "a failed assertion");
    pid = begin(enter_and_fork);
    seen(true, "a child's end does not matter");
    ends(pid, 0, "the parent's does");
    pid = begin(enter_behind);
    seen(false, "in the background nothing changes");
    ends(pid, 0, "a job in the background");
    pid = begin(no_terminal);
    ends(pid, 0, "no terminal");
    return done_testing();
}

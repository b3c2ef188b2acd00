/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The TAP library tests itself: each case runs in a child whose output is read back.
 */
#include "config.h"

#include "test/support/tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the child printed, both streams together, and how it ended. */
struct outcome {
    char text[4096];
    int status;
};

static void run(int (*body)(void), struct outcome *ret_outcome)
{
    int fds[2];
    size_t used = 0;
    ssize_t count;
    pid_t pid;

    fflush(stdout);
    if (pipe(fds) < 0 || (pid = fork()) < 0)
        bail_out("cannot start a child");
    if (pid == 0) {
        dup2(fds[1], STDOUT_FILENO);
        dup2(fds[1], STDERR_FILENO);
        close(fds[0]);
        exit(body());
    }
    close(fds[1]);
    while ((count = read(fds[0], ret_outcome->text + used, sizeof ret_outcome->text - 1 - used)) >
           0)
        used += (size_t)count;
    ret_outcome->text[used] = '\0';
    close(fds[0]);
    if (waitpid(pid, &ret_outcome->status, 0) != pid)
        bail_out("cannot wait for a child");
}

static int body_good(void)
{
    ok(true, "first");
    is_int(-1, -1, "second");
    is_string("a", "a", "third");
    is_bytes("ab", 2, "abc", 2, "fourth");
    return done_testing();
}

static int body_bad(void)
{
    is_int(1, 2, "numbers");
    is_string("left\nside", NULL, "strings");
    is_bytes("abc", 3, "abd", 3, "bytes");
    return done_testing();
}

static int body_short(void)
{
    plan(2);
    pass("only one");
    return done_testing();
}

static int body_empty(void)
{
    return done_testing();
}

static int body_skip(void)
{
    skip(2, "no such thing here");
    return done_testing();
}

static int body_skip_all(void)
{
    skip_all("not on this machine");
}

static int body_hash(void)
{
    fail("a # TODO in a name\nis no directive");
    return done_testing();
}

/* The child shares the counters of this program, so they start at the same number every time:
 * the children run before the first check of the parent. */
int main(void)
{
    struct outcome good, bad, cut, empty, skipped, none, hash;

    run(body_good, &good);
    run(body_bad, &bad);
    run(body_short, &cut);
    run(body_empty, &empty);
    run(body_skip, &skipped);
    run(body_skip_all, &none);
    run(body_hash, &hash);

    is_string(good.text, "ok 1 - first\nok 2 - second\nok 3 - third\nok 4 - fourth\n1..4\n",
              "checks that hold print one line each and the plan");
    is_int(good.status, 0, "and the test succeeds");
    has_string(bad.text, "not ok 1 - numbers\n# failed at ", "a failed check says where");
    has_string(bad.text, "#      got: 1\n# expected: 2\n", "a failed is_int says what");
    has_string(bad.text, "#      got: left\n# side\n# expected: (null)\n",
               "a failed is_string comments every line");
    has_string(bad.text, "# expected, 3 bytes, from 0: 61 62 64\n",
               "a failed is_bytes shows bytes");
    ok(WIFEXITED(bad.status) && WEXITSTATUS(bad.status) == 1, "and the test fails");
    ok(cut.status != 0, "a check too few fails the test");
    ok(empty.status != 0, "no check at all fails the test");
    is_string(skipped.text,
              "ok 1 # SKIP no such thing here\nok 2 # SKIP no such thing here\n1..2\n",
              "skipped checks are counted with their reason");
    is_string(none.text, "1..0 # SKIP not on this machine\n", "a whole test can be skipped");
    has_string(hash.text, "not ok 1 - a _ TODO in a name_is no directive\n",
               "a name cannot smuggle in a directive");
    return done_testing();
}

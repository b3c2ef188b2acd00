/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/virtual_node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/support/tap.h"

static void check_address(const char *name, const char *expected)
{
    char text[VIRTUAL_NODE_TEXT_BYTES];

    virtual_node_address(name, text);
    is_string(text, expected, "the address of %s", name != NULL ? name : "the root");
}

static void test_address(void)
{
    check_address(NULL, "127.0.0.1");
    check_address("v1", "127.1.0.1");
    check_address("v256", "127.1.1.0");
    check_address("v65536", "127.2.0.0");
    check_address("v16711678", "127.255.255.254");
    check_address("v16711679", "127.0.0.1");
    check_address("v0", "127.0.0.1");
    check_address("v01", "127.0.0.1");
    check_address("v1x", "127.0.0.1");
    check_address("v", "127.0.0.1");
    check_address("n7", "127.0.0.1");
    check_address("v99999999999999999999999", "127.0.0.1");
}

static double now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* In a child: the name spaces cannot be left again. 0: as it should be, 1: not isolated. */
static int enter(const char *base)
{
    struct error error = ERROR_NONE;
    char name[64] = "";
    char path[128];
    const char *tmpdir;

    if (virtual_node_enter("v5", base, &error) < 0)
        return 2;
    snprintf(path, sizeof path, "%s/v5", base);
    tmpdir = getenv("TMPDIR");
    if (tmpdir == NULL || strcmp(tmpdir, path) != 0 || access(path, W_OK) < 0)
        return 3;
    if (!virtual_node_is_isolated())
        return 1;
    gethostname(name, sizeof name - 1);
    if (strcmp(name, "v5") != 0)
        return 4;
    /* Its own /dev/shm is empty, and what is in it is not seen outside. */
    if (system("[ -z \"$(ls /dev/shm)\" ] && touch /dev/shm/banyan-test-$PPID") != 0)
        return 5;
    return 0;
}

static int run_child(int (*function)(const char *base), const char *base)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0)
        _exit(function(base));
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int enter_only(const char *base)
{
    struct error error = ERROR_NONE;
    double start_us = now_us();
    int rc = virtual_node_enter("v5", base, &error);

    diag("to become a node: %.0f us", now_us() - start_us);
    return rc < 0;
}

static int enter_nowhere(const char *base)
{
    struct error error = ERROR_NONE;

    return virtual_node_enter("v5", base, &error) < 0 && strstr(error.text, base) != NULL;
}

static void test_enter(void)
{
    char base[] = "/tmp/bt-v.XXXXXX";
    char before[64] = "";
    char after[64] = "";
    char path[64];
    int result;

    if (mkdtemp(base) == NULL)
        bail_out("no scratch directory");
    gethostname(before, sizeof before - 1);
    result = run_child(enter, base);
    if (result == 1 && geteuid() != 0)
        skip(1, "the system lets ordinary users have no name spaces");
    else
        is_int(result, 0, "a process becomes a node of its own");
    gethostname(after, sizeof after - 1);
    is_string(after, before, "outside the host name is as before");
    is_int(system("ls /dev/shm/banyan-test-* >/dev/null 2>&1") != 0, 1, "and /dev/shm, too");
    is_int(run_child(enter_only, base), 0, "its TMPDIR may be there already");
    is_int(run_child(enter_nowhere, "/no/such/base"), 1, "a missing base is named");
    snprintf(path, sizeof path, "%s/v5", base);
    rmdir(path);
    is_int(rmdir(base), 0, "nothing is left");
}

int main(void)
{
    test_address();
    test_enter();
    return done_testing();
}

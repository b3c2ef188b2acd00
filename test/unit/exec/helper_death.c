/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is left when a daemon, its helper or both die, or a daemon is stopped.  A child of the test is
 * the daemon; its processes are found by a setting in their environment.
 */
#include "config.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "launch/exec/helper.h"
#include "test/support/processes.h"
#include "test/support/tap.h"

#define PATIENCE_MS 20000
#define LIMIT_MS    15000
#define LEASE_MS    1500
#define RENEW_NS    50000000ull
#define GONE_STATUS 42
#define GROUPS      5
#define STUBBORN    "trap '' TERM; setsid sh -c 'setsid sleep 300 & sleep 300' & exec sleep 300"

struct dialogue {
    pid_t daemon;
    pid_t helper;
    int report_fd;
};

static const char *setting;
static char directory[64];
static int report_fd; /* in the daemon */

/* ---- In the daemon ---- */

static struct helper *helper;
static struct loop *loop;
static struct loop_timer *timer;

static void on_started(void *context, uint64_t id, pid_t pid)
{
}

static void on_failed(void *context, uint64_t id, int code, enum start_step step, const char *text)
{
}

static void on_exited(void *context, uint64_t id, int wait_status, enum helper_end end,
                      const struct usage_rank *usage)
{
    if (id == 1)
        dprintf(report_fd, "exited %d\n", end == HELPER_END_US);
}

static void on_group_empty(void *context, uint32_t group)
{
}

static void on_gone(void *context)
{
    _exit(GONE_STATUS);
}

static const struct helper_events events = {.started = on_started,
                                            .failed = on_failed,
                                            .exited = on_exited,
                                            .group_empty = on_group_empty,
                                            .gone = on_gone};

static void renew(void *context)
{
    helper_lease(helper, LEASE_MS);
    loop_timer_set(timer, loop_now_ns() + RENEW_NS);
}

static void start_shell(uint64_t id, uint32_t group, const char *script)
{
    const char *argv[] = {"sh", "-c", script, NULL};
    const char *variables[] = {setting, "PATH=/bin:/usr/bin", NULL};
    struct helper_process process = {.id = id,
                                     .group = group,
                                     .argv = (char *const *)(uintptr_t)argv,
                                     .environment = (char *const *)(uintptr_t)variables};

    helper_start(helper, &process);
}

static void open_daemon(void)
{
    struct error error = ERROR_NONE;

    helper = helper_fork(&error);
    loop = loop_create(&error);
    if (helper == NULL || loop == NULL)
        _exit(1);
    helper_attach(helper, loop, &events, NULL);
    dprintf(report_fd, "helper %d\n", (int)helper_pid(helper));
}

static void run_plain(void)
{
    open_daemon();
    helper_own_directory(helper, directory);
    start_shell(1, 1, STUBBORN);
    start_shell(2, 1, "exec sleep 300");
    start_shell(3, 0, "exec sleep 300");
    loop_run(loop);
}

static void run_direct(void)
{
    open_daemon();
    for (uint64_t id = 1; id <= 4; id++)
        start_shell(id, 1, "exec sleep 300");
    loop_run(loop);
}

static void run_leased(void)
{
    open_daemon();
    timer = loop_timer_create(loop, renew, NULL);
    renew(NULL);
    start_shell(1, 1, STUBBORN);
    start_shell(2, 0, "exec sleep 300");
    loop_run(loop);
}

/* Its helper does not come to obeying the end. */
static void run_closing(void)
{
    open_daemon();
    helper_own_directory(helper, directory);
    start_shell(1, 1, STUBBORN);
    start_shell(2, 0, "exec sleep 300");
    (void)processes_wait(setting, 4, PATIENCE_MS);
    kill(helper_pid(helper), SIGSTOP);
    dprintf(report_fd, "closing\n");
    dprintf(report_fd, "closed %d\n", helper_close(helper));
}

/* On one processor the helper has not run by the time of the kill, unless it is waited for: certainly
 * where we may go first, probably elsewhere. */
static void run_grouped(void)
{
    const struct sched_param first = {.sched_priority = 1};
    cpu_set_t processor;

    CPU_ZERO(&processor);
    CPU_SET(sched_getcpu(), &processor);
    (void)sched_setaffinity(0, sizeof processor, &processor);
    (void)sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first);
    (void)setpgid(0, 0);
    open_daemon();
    helper_own_directory(helper, directory);
    (void)mkdir(directory, 0700);
    kill(0, SIGKILL);
}

/* The daemon of a node on this machine, started by another's helper. */
static int inner_daemon(const char *virtual_node)
{
    report_fd = STDOUT_FILENO;
    open_daemon();
    start_shell(1, 1, STUBBORN);
    loop_run(loop);
    return 0;
}

static void run_outer(void)
{
    struct helper_fd output = {report_fd, STDOUT_FILENO};

    helper_set_daemon(inner_daemon);
    open_daemon();
    helper_start_daemon(helper, 1, NULL, NULL, &output, 1);
    loop_run(loop);
}

/* ---- In the test ---- */

static pid_t read_helper(const struct dialogue *dialogue)
{
    char line[64] = "";
    size_t length = 0;
    int pid = 0;

    while (length < sizeof line - 1 && read(dialogue->report_fd, line + length, 1) == 1 &&
           line[length] != '\n')
        length++;
    if (sscanf(line, "helper %d", &pid) != 1)
        bail_out("the daemon said \"%s\"", line);
    return pid;
}

static struct dialogue begin(void (*run)(void))
{
    struct dialogue dialogue = {0};
    int fds[2];

    if (pipe(fds) < 0)
        bail_out("no pipe");
    dialogue.report_fd = fds[0];
    dialogue.daemon = fork();
    if (dialogue.daemon == 0) {
        close(fds[0]);
        report_fd = fds[1];
        run();
        _exit(0);
    }
    close(fds[1]);
    dialogue.helper = read_helper(&dialogue);
    return dialogue;
}

static int end(struct dialogue *dialogue)
{
    int status = -1;

    waitpid(dialogue->daemon, &status, 0);
    close(dialogue->report_fd);
    return status;
}

static void expect_none(const char *what)
{
    int64_t spent_ms = processes_wait(setting, 0, PATIENCE_MS);

    ok(spent_ms >= 0 && spent_ms < LIMIT_MS, "%s: no process is left after %d ms", what,
       (int)spent_ms);
    processes_kill(setting);
}

static int64_t wait_for_path(const char *path, int present)
{
    for (int i = 0; i < PATIENCE_MS / 10; i++) {
        if ((access(path, F_OK) == 0) == present)
            return i;
        processes_wait(setting, 1000000, 10);
    }
    return -1;
}

static void test_daemon_killed(void)
{
    struct dialogue dialogue;

    if (mkdir(directory, 0700) < 0)
        bail_out("cannot make %s", directory);
    dialogue = begin(run_plain);
    ok(processes_wait(setting, 6, PATIENCE_MS) >= 0, "a daemon's processes run");
    kill(dialogue.daemon, SIGKILL);
    expect_none("daemon killed");
    ok(wait_for_path(directory, 0) >= 0, "its directory is removed");
    end(&dialogue);
}

static void test_group_killed(void)
{
    for (int i = 0; i < GROUPS; i++) {
        struct dialogue dialogue = begin(run_grouped);
        int status = end(&dialogue);

        ok(WIFSIGNALED(status) && wait_for_path(directory, 0) >= 0,
           "killed with its process group right after it made its directory: it is removed");
        rmdir(directory);
    }
}

static void test_helper_killed(void)
{
    struct dialogue dialogue;
    int status;

    mkdir(directory, 0700);
    dialogue = begin(run_plain);
    ok(processes_wait(setting, 6, PATIENCE_MS) >= 0, "a daemon's processes run");
    kill(dialogue.helper, SIGKILL);
    status = end(&dialogue);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == GONE_STATUS, "the daemon is told of the death");
    expect_none("helper killed");
    rmdir(directory);
}

static void test_helper_killed_at_the_end(void)
{
    struct dialogue dialogue = begin(run_closing);
    char line[32] = "", wanted[32];

    is_int(read(dialogue.report_fd, line, sizeof "closing"), sizeof "closing",
           "a daemon closes its helper");
    kill(dialogue.helper, SIGKILL);
    memset(line, 0, sizeof line);
    (void)!read(dialogue.report_fd, line, sizeof line - 1);
    snprintf(wanted, sizeof wanted, "closed %d\n", -EOWNERDEAD);
    is_string(line, wanted, "and is told that it was killed instead");
    expect_none("helper killed at the end");
    end(&dialogue);
}

static void test_both_killed(void)
{
    struct dialogue dialogue = begin(run_direct);

    ok(processes_wait(setting, 4, PATIENCE_MS) >= 0, "a daemon's processes run");
    kill(dialogue.helper, SIGKILL);
    kill(dialogue.daemon, SIGKILL);
    expect_none("both killed");
    end(&dialogue);
    dialogue = begin(run_direct);
    processes_wait(setting, 4, PATIENCE_MS);
    kill(dialogue.daemon, SIGKILL);
    kill(dialogue.helper, SIGKILL);
    expect_none("both killed, in the other order");
    end(&dialogue);
}

static void test_lease(void)
{
    struct dialogue dialogue = begin(run_leased);
    char line[16] = "";
    int64_t spent_ms;

    ok(processes_wait(setting, 5, PATIENCE_MS) >= 0, "a daemon's processes run");
    spent_ms = processes_wait(setting, 4, LEASE_MS * 3);
    is_int(spent_ms, -1, "as long as it renews the lease");
    kill(dialogue.helper, SIGSTOP);
    (void)processes_wait(setting, 1, LEASE_MS * 3);
    kill(dialogue.helper, SIGCONT);
    spent_ms = processes_wait(setting, 4, LEASE_MS * 3);
    is_int(spent_ms, -1, "also when the helper itself was stopped for longer");
    kill(dialogue.daemon, SIGSTOP);
    spent_ms = processes_wait(setting, 1, PATIENCE_MS);
    ok(spent_ms >= 0 && spent_ms < LIMIT_MS, "a stopped daemon's ranks are killed after %d ms",
       (int)spent_ms);
    kill(dialogue.daemon, SIGCONT);
    is_int(read(dialogue.report_fd, line, sizeof line - 1), 9, "when it goes on it is told");
    is_string(line, "exited 1\n", "that its rank was ended by us");
    kill(dialogue.daemon, SIGKILL);
    expect_none("then killed");
    end(&dialogue);
}

static void test_inner_daemon(void)
{
    struct dialogue dialogue = begin(run_outer);
    pid_t inner = read_helper(&dialogue);
    char path[64];
    FILE *file;
    int parent = 0;

    ok(processes_wait(setting, 4, PATIENCE_MS) >= 0, "a daemon's daemon has processes");
    snprintf(path, sizeof path, "/proc/%d/stat", (int)inner);
    file = fopen(path, "re");
    is_int(file != NULL && fscanf(file, "%*d %*s %*c %d", &parent) == 1, 1, "its daemon is found");
    if (file != NULL)
        fclose(file);
    if (parent > 1) {
        kill(inner, SIGKILL);
        kill(parent, SIGKILL);
    }
    expect_none("inner daemon and helper killed together");
    is_int(waitpid(dialogue.daemon, NULL, WNOHANG), 0, "the outer daemon lives on");
    kill(dialogue.daemon, SIGKILL);
    end(&dialogue);
    dialogue = begin(run_outer);
    read_helper(&dialogue);
    processes_wait(setting, 4, PATIENCE_MS);
    kill(dialogue.daemon, SIGKILL);
    expect_none("outer daemon killed");
    end(&dialogue);
    dialogue = begin(run_outer);
    read_helper(&dialogue);
    processes_wait(setting, 4, PATIENCE_MS);
    kill(dialogue.helper, SIGKILL);
    expect_none("outer helper killed");
    end(&dialogue);
}

int main(void)
{
    setting = processes_setting();
    snprintf(directory, sizeof directory, "/tmp/%016x.1", (unsigned int)getpid());
    (void)signal(SIGPIPE, SIG_IGN);
    test_daemon_killed();
    test_group_killed();
    test_helper_killed();
    test_helper_killed_at_the_end();
    test_both_killed();
    test_lease();
    test_inner_daemon();
    return done_testing();
}

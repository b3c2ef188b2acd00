/* SPDX-License-Identifier: BSD-3-Clause */
/* How what a helper has started ends, with all that it leaves behind. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "fabric/file_read.h"
#include "launch/exec/helper.h"
#include "test/support/helper_notes.h"
#include "test/support/processes.h"
#include "test/support/tap.h"

#define THREAD_WORD "only-a-thread"

static void test_signal(void)
{
    forget();
    start_shell(1, 3, "trap 'exit 7' USR1; kill -0 $$; while :; do sleep 0.01; done");
    start_shell(2, 3, "exec sleep 300");
    wait_for(&started_count, 2);
    ok(processes_wait_at_least(setting, 2, PATIENCE_MS) >= 0, "two processes run");
    helper_signal(helper, 2, SIGINT);
    wait_for(&exited_count, 1);
    ok(WIFSIGNALED(notes[2].status) && WTERMSIG(notes[2].status) == SIGINT,
       "one process gets a signal");
    is_int(notes[2].by_us, 0, "which was not meant to end it");
    helper_end_group(helper, 3, 0);
    wait_for(&empty_count, 1);
    is_int(WTERMSIG(notes[1].status), SIGKILL, "the other is killed with its group");
    is_int(notes[1].by_us, 1, "by us");
}

static void test_wrapper(void)
{
    forget();
    start_shell(1, 3, "sleep 300 & sleep 300 & wait");
    wait_for(&started_count, 1);
    ok(processes_wait_at_least(setting, 3, PATIENCE_MS) >= 0, "a wrapper script has two children");
    helper_end_group(helper, 3, 1000);
    ok(wait_for(&empty_count, 1) >= 0, "it ends");
    is_int(WTERMSIG(notes[1].status), SIGTERM, "by SIGTERM");
    is_uint(processes_count(setting), 0, "and its children with it");
}

static void test_stubborn(void)
{
    int64_t spent_ms;

    forget();
    start_shell(1, 4, "trap '' TERM; while :; do sleep 0.1; done");
    start_shell(2, 4, "kill -STOP $$; exit 3");
    start_shell(3, 4, "setsid sh -c 'trap \"\" TERM; setsid sleep 300 & sleep 300' & sleep 300");
    start_shell(4, 4, "setsid env -i sleep 301 & exit 0");
    start_shell(5, 4, "setsid sh -c 'trap \"\" TERM; (sleep 300 &); exit 0' & exec sleep 300");
    wait_for(&exited_count, 1);
    ok(processes_wait_at_least(setting, 7, PATIENCE_MS) >= 0, "processes that do not want to end");
    helper_end_group(helper, 4, 100);
    spent_ms = wait_for(&empty_count, 1);
    ok(spent_ms >= 0 && spent_ms < 5000, "end within 5 s (%d ms)", (int)spent_ms);
    is_uint(processes_count(setting), 0, "none of them is left");
    is_int(system("pgrep -f '^sleep 301$' >/dev/null") != 0, 1, "nor one without environment");
}

/* Each process of a chain lives for some milliseconds, in a session of its own, and leaves the next
 * behind. */
static void test_chain(void)
{
    char *script = make_file("chain", "sleep 0.02\nsetsid sh \"$0\" &\nexit 0\n", 0755);
    char *command = memory_printf("for i in 1 2 3 4 5 6 7 8 9 10; do sh %s & done; wait", script);

    forget();
    start_shell(1, 5, command);
    wait_for(&exited_count, 1);
    ok(wait_for(&empty_count, 1) >= 0, "the group of a forking chain is empty at last");
    is_uint(processes_count(setting), 0, "nothing is left of it");
    processes_kill(setting);
    free(command);
    free(script);
}

static void test_leftover(void)
{
    forget();
    start_shell(1, 6, "setsid sleep 300 & exit 0");
    start_shell(2, 6, "exec sleep 300");
    wait_for(&exited_count, 1);
    ok(processes_wait(setting, 2, PATIENCE_MS) >= 0,
       "what a rank leaves behind lives as long as another rank does");
    is_int(empty_count, 0, "the group is not empty");
    helper_signal(helper, 2, SIGTERM);
    ok(wait_for(&empty_count, 1) >= 0, "and ends with the last one");
    is_uint(processes_count(setting), 0, "nothing is left");
}

/* An agent has its orphans in its process group, and on one machine daemons as well. */
static void test_agent(void)
{
    const char *const orphan = "BT_ORPHAN=1";

    forget();
    start_shell(1, 0, "(exec env -i BT_ORPHAN=1 sleep 300 &) ; exec sleep 300");
    ok(processes_wait(orphan, 1, PATIENCE_MS) >= 0,
       "an agent leaves a process of its group behind");
    start_shell(2, 0, "exit 0");
    ok(processes_wait(orphan, 0, PATIENCE_MS) >= 0, "it is killed when another agent ends");
    wait_for(&exited_count, 1);
    is_int(notes[1].exited, 0, "the agent of its group is not");
    is_uint(processes_count(setting), 1, "but lives");
    helper_signal(helper, 1, SIGKILL);
    wait_for(&exited_count, 2);
    is_int(WTERMSIG(notes[1].status), SIGKILL, "until it is to end");
}

/* Only a thread of it is left, as after a call of pthread_exit in main: it has neither program nor environment. */
static void test_thread(void)
{
    char *path = memory_printf("%s/thread", scratch);
    char *script =
        memory_printf("setsid /proc/%d/exe " THREAD_WORD " & echo $! >%s.new; mv %s.new %s; "
                      "exec sleep 300",
                      (int)getpid(), path, path, path);
    struct buffer text = {0};
    pid_t pid;

    forget();
    start_shell(1, 15, script);
    for (int i = 0; i < PATIENCE_MS / 10 && access(path, F_OK) < 0; i++)
        usleep(10000);
    (void)file_read(path, 64, &text);
    pid = (pid_t)atoi(buffer_string(&text));
    ok(pid > 0 && processes_wait(setting, 1, PATIENCE_MS) >= 0,
       "a process whose first thread has ended stands beside a rank");
    is_int(kill(pid, 0), 0, "and lives");
    helper_signal(helper, 1, SIGTERM);
    ok(wait_for(&empty_count, 1) >= 0, "the rank ends");
    is_int(kill(pid, 0), -1, "and so does that process");
    buffer_fini(&text);
    free(script);
    free(path);
}

/* Waits for its end. */
static void start_with_group(uint32_t group, const char *script)
{
    const char *argv[] = {"sh", "-c", script, NULL};
    struct helper_process process = {.id = 1,
                                     .group = group,
                                     .argv = (char *const *)(uintptr_t)argv,
                                     .environment = (char *const *)(uintptr_t)environment(),
                                     .directory = scratch,
                                     .ends_group = 1,
                                     .more_follow = 1};

    forget();
    helper_start(helper, &process);
    wait_for(&exited_count, 1);
}

static void test_ends_group(void)
{
    start_with_group(14, "sleep 300 & exit 3");
    ok(processes_wait(setting, 0, PATIENCE_MS) >= 0,
       "what a failed rank leaves in its group is killed");
    is_int(notes[1].status, 3 << 8, "and its own status is reported");
    start_with_group(14, "sleep 300 & kill -KILL $$");
    ok(processes_wait(setting, 0, PATIENCE_MS) >= 0, "also of one that is killed");
    is_int(notes[1].status, SIGKILL, "by which signal");
    is_int(notes[1].by_us, 0, "is not ours");
    start_with_group(14, "sleep 300 & exit 0");
    ok(processes_wait(setting, 1, PATIENCE_MS) >= 0, "what one leaves that ends well lives on");
    is_int(empty_count, 0, "the group is kept for others");
    helper_seal_group(helper, 14);
    ok(wait_for(&empty_count, 1) >= 0, "until there are no more");
    is_uint(processes_count(setting), 0, "then nothing is left");
}

static void test_two_groups(void)
{
    forget();
    start_shell(1, 8, "setsid sleep 300 & exec sleep 300");
    start_shell(2, 9, "setsid sleep 300 & exec sleep 300");
    ok(processes_wait(setting, 4, PATIENCE_MS) >= 0, "two jobs");
    helper_end_group(helper, 8, 0);
    wait_for(&empty_count, 1);
    is_uint(processes_count(setting), 2, "the end of one leaves the other alone");
    helper_end_group(helper, 9, 0);
    wait_for(&empty_count, 2);
    is_uint(processes_count(setting), 0, "then it ends, too");
    helper_end_group(helper, 10, 1000);
    ok(wait_for(&empty_count, 3) >= 0, "a group that has no process is empty at once");
}

static void test_late_start(void)
{
    forget();
    start_shell(1, 11, "trap '' TERM; while :; do sleep 0.05; done");
    wait_for(&started_count, 1);
    helper_end_group(helper, 11, 300);
    start_shell(2, 11, "exec sleep 300");
    wait_for(&empty_count, 1);
    is_int(notes[2].code, -ECANCELED, "nothing is started in a group that is being ended");
    is_int(notes[2].started, 0, "nothing at all");
}

static void test_close(void)
{
    char *directory = memory_printf("%s/0123456789abcdef.1", scratch);
    char *inner = memory_printf("%s/0123456789abcdef.1/inner", scratch);

    forget();
    start_shell(1, 1, "setsid sleep 300 & exec sleep 300");
    start_shell(2, 0, "exec sleep 300");
    ok(processes_wait(setting, 3, PATIENCE_MS) >= 0, "a job and a starter run");
    if (mkdir(directory, 0700) < 0 || mkdir(inner, 0700) < 0)
        bail_out("cannot make %s", inner);
    helper_own_directory(helper, directory);
    helper_close(helper);
    is_uint(processes_count(setting), 0, "with the helper all processes end");
    is_int(access(directory, F_OK), -1, "and its directories are removed");
    free(inner);
    free(directory);
}

static void *sleep_long(void *argument)
{
    sleep(300);
    return argument;
}

int main(int argc, char **argv)
{
    pthread_t thread;

    if (argc == 2 && strcmp(argv[1], THREAD_WORD) == 0) {
        if (pthread_create(&thread, NULL, sleep_long, NULL) != 0)
            return 1;
        pthread_exit(NULL);
    }
    helper_notes_begin(NULL);
    test_signal();
    test_wrapper();
    test_stubborn();
    test_chain();
    test_leftover();
    test_agent();
    test_thread();
    test_ends_group();
    test_two_groups();
    test_late_start();
    test_close();
    helper_notes_end();
    return done_testing();
}

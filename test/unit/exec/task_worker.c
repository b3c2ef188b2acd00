/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker of --tasks (launch/exec/task_worker.c, task_spawn.c): this program run again as one, with pipes in place of
 * the job's.  Each case waits for frames, never for time.
 */
#include "config.h"

#include "launch/exec/task_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/exec/task_spawn.h"
#include "launch/proto/task_frame.h"
#include "test/support/tap.h"

struct worker {
    pid_t pid;
    int to, from;
    struct buffer seen;
    struct buffer out[2]; /* of the task that has just ended */
    struct task_ended ended;
};

static void worker_open(struct worker *worker)
{
    int to[2], from[2];

    *worker = (struct worker){.pid = 0};
    if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
        bail_out("no pipes");
    worker->to = to[1];
    worker->from = from[0];
    worker->pid = fork();
    if (worker->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setpgid(0, 0);
        setenv("BANYAN_PLACE", "3", 1);
        setenv("BANYAN_NODE", "n3", 1);
        dup2(to[0], 0);
        dup2(from[1], 1);
        execl("/proc/self/exe", "worker", TASK_WORKER_WORD, (char *)NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
}

static int worker_close(struct worker *worker)
{
    int status;

    close(worker->to);
    close(worker->from);
    waitpid(worker->pid, &status, 0);
    buffer_fini(&worker->seen);
    buffer_fini(&worker->out[0]);
    buffer_fini(&worker->out[1]);
    return status;
}

/* The bytes of the next frame; 0: it has ended. */
static size_t next_frame(struct worker *worker, struct task_frame *frame)
{
    for (;;) {
        long length = task_frame_next(worker->seen.data, worker->seen.length_bytes, frame);
        ssize_t got;

        if (length != 0)
            return length > 0 ? (size_t)length : 0;
        got = read(worker->from, buffer_reserve(&worker->seen, 65536), 65536);
        if (got <= 0)
            return 0;
        buffer_commit(&worker->seen, (size_t)got);
    }
}

static void give(struct worker *worker, uint32_t task, const char *script, const char *directory,
                 char *const *set)
{
    char *argv[] = {(char *)"sh", (char *)"-c", (char *)(uintptr_t)script, NULL};
    struct task_order order = {
        .task = task, .directory = directory, .argv = argv, .set = (char **)(uintptr_t)set};
    struct buffer bytes = {0};

    task_frame_put_order(&order, &bytes);
    if (write(worker->to, bytes.data, bytes.length_bytes) != (ssize_t)bytes.length_bytes)
        bail_out("the worker does not read");
    buffer_fini(&bytes);
}

/* Until a task has ended; its number, or 0 if the worker has. */
static uint32_t wait_ended(struct worker *worker)
{
    struct task_frame frame;
    struct task_output output;
    size_t bytes;
    uint32_t task = 0;

    buffer_clear(&worker->out[0]);
    buffer_clear(&worker->out[1]);
    while (task == 0 && (bytes = next_frame(worker, &frame)) > 0) {
        if (frame.kind == TASK_FRAME_OUTPUT && task_frame_get_output(&frame, &output) == 0)
            buffer_append(&worker->out[output.stream - 1], output.data.data,
                          output.data.length_bytes);
        if (frame.kind == TASK_FRAME_ENDED && task_frame_get_ended(&frame, &worker->ended) == 0)
            task = worker->ended.task;
        buffer_consume(&worker->seen, bytes);
    }
    return task;
}

static void said(struct worker *worker, const char *out, const char *err, const char *name)
{
    is_string(buffer_string(&worker->out[0]), out, "%s: stdout", name);
    is_string(buffer_string(&worker->out[1]), err, "%s: stderr", name);
}

static void test_tasks(struct worker *worker)
{
    char *set[] = {(char *)"COLOUR=red", (char *)"PATH=/nowhere", NULL};
    char *words[] = {(char *)"banyan-no-such-program", NULL};
    struct task_order order = {.task = 5, .argv = words};
    struct buffer bytes = {0};

    give(worker, 7, "echo out; echo err >&2; exit 3", NULL, NULL);
    is_uint(wait_ended(worker), 7, "a task ends");
    is_int(worker->ended.wait_status, 3 << 8, "its status");
    is_uint(worker->ended.output_bytes, 8, "the bytes of its output");
    ok(worker->ended.started_us > 1500000000ull * 1000000, "when it was started");
    said(worker, "out\n", "err\n", "it");
    give(worker, 8, "kill -9 $$", NULL, NULL);
    is_uint(wait_ended(worker), 8, "one that is killed");
    is_int(worker->ended.wait_status, 9, "the signal");
    give(worker, 9, "echo $COLOUR $BANYAN_TASK; pwd; cat", "/", &set[0]);
    is_uint(wait_ended(worker), 9, "one whose environment has no program");
    is_int(worker->ended.wait_status, 127 << 8, "is not found");
    said(worker, "", "banyan: cannot run sh on n3: No such file or directory\n", "it");
    set[1] = NULL;
    give(worker, 10, "echo $COLOUR $BANYAN_TASK; pwd; cat", "/", set);
    is_uint(wait_ended(worker), 10, "one with a variable and a directory");
    said(worker, "red 10\n/\n", "", "it has both, and nothing to read");
    give(worker, 11, "echo \"<$COLOUR>\"", NULL, NULL);
    (void)wait_ended(worker);
    said(worker, "<>\n", "", "the next has none of its variables");
    give(worker, 12, "true", "/no/such/directory", NULL);
    is_uint(wait_ended(worker), 12, "one in a directory that does not exist");
    is_int(worker->ended.wait_status, 125 << 8, "does not run");
    said(worker, "", "banyan: cannot enter /no/such/directory on n3: No such file or directory\n",
         "it");
    task_frame_put_order(&order, &bytes);
    is_int(write(worker->to, bytes.data, bytes.length_bytes), (int64_t)bytes.length_bytes,
           "a program that does not exist");
    is_uint(wait_ended(worker), 5, "ends, too");
    is_int(worker->ended.wait_status, 127 << 8, "as a shell says it");
    buffer_fini(&bytes);
}

/* More than any pipe and the memory of a spool hold. */
static void test_much_output(struct worker *worker)
{
    give(worker, 20, "head -c 1000000 /dev/zero; head -c 300000 /dev/zero >&2", NULL, NULL);
    is_uint(wait_ended(worker), 20, "a task that writes much ends");
    is_uint(worker->out[0].length_bytes, 1000000, "all of its stdout");
    is_uint(worker->out[1].length_bytes, 300000, "and of its stderr");
    is_uint(worker->ended.output_bytes, 1300000, "as it says");
}

static void add_task(void *context, uint32_t task)
{
    buffer_printf(context, "%u ", task);
}

/* The first of three has begun, and waits until the others have been given back. */
static void test_recall(struct worker *worker)
{
    char path[] = "/tmp/task_worker.XXXXXX";
    char script[160], begun[sizeof(path) + 8];
    struct buffer recall = {0}, returned = {0};
    struct task_frame frame;
    size_t bytes;
    int fd = mkstemp(path);

    snprintf(begun, sizeof(begun), "%s.begun", path);
    snprintf(script, sizeof(script), ": >%s; while [ -e %s ]; do sleep 0.01; done", begun, path);
    give(worker, 30, script, NULL, NULL);
    while (access(begun, F_OK) != 0)
        usleep(1000); /* until then it is the worker's to give back, too */
    give(worker, 31, "true", NULL, NULL);
    give(worker, 32, "true", NULL, NULL);
    task_frame_put_recall(&recall);
    is_int(write(worker->to, recall.data, recall.length_bytes), (int64_t)recall.length_bytes,
           "a recall");
    do
        bytes = next_frame(worker, &frame);
    while (bytes > 0 && frame.kind != TASK_FRAME_RETURNED);
    is_int(task_frame_each_returned(&frame, add_task, &returned), 0, "is answered");
    buffer_consume(&worker->seen, bytes);
    is_string(buffer_string(&returned), "31 32 ", "with what had not begun");
    unlink(path);
    unlink(begun);
    is_uint(wait_ended(worker), 30, "the first goes on to its end");
    give(worker, 33, "true", NULL, NULL);
    is_uint(wait_ended(worker), 33, "and others follow");
    close(fd);
    buffer_fini(&recall);
    buffer_fini(&returned);
}

static void test_end(void)
{
    struct worker worker;
    struct task_frame frame;
    struct task_hello hello;
    size_t bytes;

    worker_open(&worker);
    bytes = next_frame(&worker, &frame);
    is_int(task_frame_get_hello(&frame, &hello), 0, "it says hello");
    ok(hello.place == 3 && strcmp(hello.node, "n3") == 0, "from its node");
    buffer_consume(&worker.seen, bytes);
    test_tasks(&worker);
    test_much_output(&worker);
    test_recall(&worker);
    give(&worker, 40, "echo last", NULL, NULL);
    give(&worker, 41, "echo later", NULL, NULL);
    close(worker.to);
    worker.to = open("/dev/null", O_WRONLY);
    is_uint(wait_ended(&worker), 40, "when its input ends");
    is_uint(wait_ended(&worker), 41, "it does what it has been given");
    is_uint(wait_ended(&worker), 0, "and ends");
    is_int(worker_close(&worker), 0, "in order");
}

/* The task has said that it runs before the group is sent the signal, and ends by it. */
static void test_terminate(void)
{
    char path[] = "/tmp/task_worker.XXXXXX";
    char script[160];
    struct worker worker;
    int fd = mkstemp(path);
    char byte;

    worker_open(&worker);
    snprintf(script, sizeof(script), "echo x >%s; while :; do sleep 0.01; done", path);
    give(&worker, 1, script, NULL, NULL);
    give(&worker, 2, "true", NULL, NULL);
    while (pread(fd, &byte, 1, 0) != 1)
        usleep(1000);
    kill(-worker.pid, SIGTERM);
    is_uint(wait_ended(&worker), 1, "the running task ends by SIGTERM");
    is_int(worker.ended.wait_status, SIGTERM, "as its status says");
    is_uint(wait_ended(&worker), 0, "and no other begins");
    is_int(worker_close(&worker), 0, "the worker ends in order");
    close(fd);
    unlink(path);
}

static void test_broken(void)
{
    struct worker worker;

    worker_open(&worker);
    is_int(write(worker.to, "\0\0\0\0\0", 5), 5, "what is no frame");
    is_uint(wait_ended(&worker), 0, "ends the worker");
    is_int(worker_close(&worker), 125 << 8, "with a failure");
}

static void test_spawn(void)
{
    char *argv[] = {(char *)"true", NULL};
    char *environment[] = {(char *)"PATH=/no:/bin:/usr/bin", NULL};
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct task_spawn spawn = {
        .argv = argv, .environment = environment, .fds = {null_fd, null_fd, null_fd}};
    const char *step = NULL;
    int status = -1;
    pid_t pid = task_spawn(&spawn, &step);

    ok(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "a program in the second place");
    argv[0] = (char *)"/dev/null";
    is_int(task_spawn(&spawn, &step), -EACCES, "a file that is no program");
    is_string(step, "run", "cannot be run");
    close(null_fd);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], TASK_WORKER_WORD) == 0)
        return task_worker_run();
    signal(SIGPIPE, SIG_IGN);
    alarm(300); /* for a worker that hangs */
    test_end();
    test_terminate();
    test_broken();
    test_spawn();
    return done_testing();
}

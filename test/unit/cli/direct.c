/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A run without daemons: the script of a process (launch/cli/client/direct_script.c), given to a shell, the call of srun
 * (launch/cli/client/direct_srun.c), and runs of a few processes here (launch/cli/client/direct.c).
 */
#include "config.h"

#include "launch/cli/client/direct.h"
#include "launch/cli/client/direct_script.h"
#include "launch/cli/client/direct_srun.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "fabric/loop.h"
#include "test/support/tap.h"

static char *words[] = {(char *)"sh", (char *)"-c", NULL, NULL};
static char *set[] = {(char *)"A=it's", NULL};
static struct app_spec app = {.argv = words, .set = set, .directory = (char *)"/"};

/* All that can be read, and then the status of who has written it. */
static int gather(pid_t pid, int fd, char *text, size_t text_bytes)
{
    size_t used = 0;
    ssize_t bytes;
    int status = -1;

    while (used + 1 < text_bytes && (bytes = read(fd, text + used, text_bytes - 1 - used)) > 0)
        used += (size_t)bytes;
    text[used] = '\0';
    waitpid(pid, &status, 0);
    close(fd);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- A script ---- */

static void await_dot(int fd)
{
    char byte = '\0';

    while (byte != '.')
        if (read(fd, &byte, 1) != 1)
            bail_out("read");
}

/* What a shell prints that gets the script, whose input ends, if cut, when it has printed a dot; its exit status. */
static int shell(const char *program, int cut, char *text, size_t text_bytes)
{
    const struct direct_process process = {
        .rank = 1, .size = 4, .local_rank = 0, .local_size = 2, .node = "n1"};
    struct buffer script = {0};
    int input[2], output[2], status;
    pid_t pid;

    words[2] = (char *)(uintptr_t)program;
    direct_script_put(&app, &process, 1, &script);
    if (pipe(input) < 0 || pipe(output) < 0)
        bail_out("pipe");
    pid = fork();
    if (pid == 0) {
        (void)dup2(input[0], 0);
        (void)dup2(output[1], 1);
        close(input[0]);
        close(input[1]);
        close(output[0]);
        close(output[1]);
        execl("/bin/sh", "sh", "-s", (char *)NULL);
        _exit(99);
    }
    close(input[0]);
    close(output[1]);
    (void)!write(input[1], script.data, script.length_bytes);
    if (cut) {
        await_dot(output[0]);
        close(input[1]);
    }
    status = gather(pid, output[0], text, text_bytes);
    if (!cut)
        close(input[1]);
    buffer_fini(&script);
    return status;
}

static void test_script(void)
{
    char text[512];
    pid_t left;

    is_int(shell("echo $A $BANYAN_RANK/$BANYAN_SIZE $BANYAN_LOCAL_RANK/$BANYAN_LOCAL_SIZE "
                 "$BANYAN_NODE; pwd; cat; exit 7",
                 0, text, sizeof(text)),
           7, "the status of the process");
    is_string(text, DIRECT_SCRIPT_MARK "\nit's 1/4 0/2 n1\n/\n", "it learns who it is");
    is_int(shell("trap '' TERM; echo .; while :; do sleep 0.1; done", 1, text, sizeof(text)),
           128 + SIGKILL, "when the input ends it is killed, if it does not end");
    is_int(shell("sleep 1000 & echo $!", 0, text, sizeof(text)), 0, "who leaves another process");
    left = (pid_t)atoi(text + sizeof(DIRECT_SCRIPT_MARK));
    ok(left > 1, "that was there");
    while (kill(left, 0) == 0)
        usleep(1000); /* until somebody has reaped it */
    is_int(errno, ESRCH, "takes it along");
    app.directory = (char *)"/no/such/directory";
    is_int(shell("true", 0, text, sizeof(text)), 126, "no such directory");
    is_string(text, "", "it has not begun");
    app.directory = (char *)"/";
}

/* ---- Runs ---- */

static void make_request(struct run_request *request, const char *program, uint32_t processes,
                         enum starter_kind starter)
{
    struct placement_rule rule = {.processes = processes};

    *request = (struct run_request){.instance_fd = -1};
    instance_spec_init(&request->instance);
    job_spec_init(&request->job);
    allocation_init(&request->allocation);
    allocation_generate(&request->allocation, "n", 2, 4);
    request->instance.starter = starter;
    placement_add(&request->job.placement, &rule);
    request->job.apps = memory_allocate_zeroed(sizeof(*request->job.apps));
    request->job.apps_count = 1;
    request->job.apps[0].argv = memory_allocate_zeroed(4 * sizeof(char *));
    request->job.apps[0].argv[0] = memory_copy_string("sh");
    request->job.apps[0].argv[1] = memory_copy_string("-c");
    request->job.apps[0].argv[2] = memory_copy_string(program);
    request->job.apps[0].set = memory_allocate_zeroed(sizeof(char *));
    request->job.apps[0].directory = memory_copy_string("/");
}

static void test_srun(void)
{
    struct run_request request;
    struct placement_map map;
    struct buffer text = {0};
    struct error error = ERROR_NONE;
    char **call;

    make_request(&request, "x", 6, STARTER_SRUN);
    request.label = 1;
    if (placement_map_make(&map, &request.job.placement, &request.allocation, &error) < 0)
        bail_out("%s", error.text);
    direct_srun_hosts(&request, &map, &text);
    is_string(buffer_string(&text), "n1\nn1\nn1\nn1\nn2\nn2\n", "the node of each rank");
    buffer_clear(&text);
    call = direct_srun_words(&request, &map);
    for (size_t i = 0; call[i] != NULL; i++) {
        buffer_printf(&text, "%s ", i == 9 ? "SCRIPT" : call[i]);
        free(call[i]);
    }
    free(call);
    is_string(buffer_string(&text),
              "srun --ntasks=6 --distribution=arbitrary --input=none --kill-on-bad-exit=1 --label "
              "--chdir=/ /bin/sh -c SCRIPT sh -c x ",
              "the call of srun");
    buffer_fini(&text);
    placement_map_fini(&map);
    request_fini(&request);
}

/* In another process; its exit status. */
static int run(const char *program, uint32_t processes, enum job_on_failure on_failure,
               uint32_t timeout_s, char *text, size_t text_bytes)
{
    struct run_request request;
    int output[2], status;
    pid_t pid;

    if (pipe(output) < 0)
        bail_out("pipe");
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        (void)dup2(output[1], 1);
        (void)dup2(output[1], 2);
        close(output[0]);
        close(output[1]);
        make_request(&request, program, processes, STARTER_LOCAL);
        request.job.on_failure = on_failure;
        request.timeout_s = timeout_s;
        status = direct_run(&request, loop_now_ns());
        request_fini(&request);
        exit(status);
    }
    close(output[1]);
    return gather(pid, output[0], text, text_bytes);
}

static void test_run(void)
{
    char text[4096];

    is_int(run("echo $BANYAN_RANK", 1, JOB_ON_FAILURE_ABORT, 0, text, sizeof(text)), 0, "one");
    is_string(text, "0\n", "has its output");
    is_int(run("[ $BANYAN_RANK != 1 ] && exec sleep 1000; exit 3", 4, JOB_ON_FAILURE_ABORT, 0, text,
               sizeof(text)),
           3, "one that fails ends the others");
    is_string(text, "banyan: rank 1 on n1 exited with status 3\n", "with one line");
    is_int(run("exit $BANYAN_RANK", 3, JOB_ON_FAILURE_CONTINUE, 0, text, sizeof(text)), 2,
           "or they go on, and the highest status counts");
    is_int(run("exec sleep 1000", 2, JOB_ON_FAILURE_ABORT, 1, text, sizeof(text)), 124,
           "time is over");
    is_string(text, "banyan: timed out after 1 s\n", "which is said");
}

int main(void)
{
    test_script();
    test_srun();
    test_run();
    return done_testing();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A run without daemons: the script of a process (launch/cli/client/direct_script.c), given to a shell, the call of srun
 * (launch/cli/client/direct_srun.c), and runs of a few processes here (launch/cli/client/direct.c, which obeys
 * launch/cli/client/caller_signal.c).
 */
#include "config.h"

#include "launch/cli/client/caller_signal.h"
#include "launch/cli/client/direct.h"
#include "launch/cli/client/direct_script.h"
#include "launch/cli/client/direct_srun.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "fabric/loop.h"
#include "launch/start/starter_srun.h"
#include "test/support/tap.h"

static char *words[] = {(char *)"sh", (char *)"-c", NULL, NULL};
static char *set[] = {(char *)"A=it's",   (char *)"LD_A=l", (char *)"UID=7",
                      (char *)"a.b=left", (char *)"s=b c",  NULL};
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

static const char *sh[3] = {"/bin/sh", "-s", NULL};

static void await_dot(int fd)
{
    char byte = '\0';

    while (byte != '.')
        if (read(fd, &byte, 1) != 1)
            bail_out("read");
}

static void put_script(const char *program, uint32_t grace_s, struct buffer *script)
{
    const struct direct_process process = {
        .rank = 1, .size = 4, .local_rank = 0, .local_size = 2, .node = "n1"};

    words[2] = (char *)(uintptr_t)program;
    direct_script_put(&app, &process, grace_s, script);
}

/* Its output and error are one, and it has a process group. */
static pid_t start_shell(int input[2], int output[2])
{
    pid_t pid;

    if (pipe(input) < 0 || pipe(output) < 0)
        bail_out("pipe");
    pid = fork();
    if (pid == 0) {
        for (int number = 1; number <= SIGTERM; number++)
            (void)signal(number, SIG_DFL);
        (void)setpgid(0, 0);
        (void)dup2(input[0], 0);
        (void)dup2(output[1], 1);
        (void)dup2(output[1], 2);
        close(input[0]);
        close(input[1]);
        close(output[0]);
        close(output[1]);
        execlp(sh[0], sh[0], sh[1], sh[2], (char *)NULL);
        _exit(99);
    }
    close(input[0]);
    close(output[1]);
    return pid;
}

enum after_dot { NOTHING, CUT, KILL_LINE, GROUP_TERM };

/* What a shell prints that gets the script, and to which something happens when it has printed a dot; its exit status. */
static int shell(const char *program, uint32_t grace_s, enum after_dot after, char *text,
                 size_t text_bytes)
{
    struct buffer script = {0};
    int input[2], output[2], status;
    pid_t pid = start_shell(input, output);

    put_script(program, grace_s, &script);
    (void)!write(input[1], script.data, script.length_bytes);
    buffer_fini(&script);
    if (after != NOTHING)
        await_dot(output[0]);
    if (after == GROUP_TERM)
        kill(-pid, SIGTERM);
    if (after == KILL_LINE)
        (void)!write(input[1], "TERM\nKILL\n", 10);
    else if (after != NOTHING)
        close(input[1]);
    status = gather(pid, output[0], text, text_bytes);
    if (after == NOTHING || after == KILL_LINE)
        close(input[1]);
    return status;
}

/* A process of another parent, until that has reaped it, if there is one that does. */
static void await_end(pid_t pid)
{
    char path[64], text[256];
    FILE *file;

    for (uint32_t tries = 0; tries < 60000 && kill(pid, 0) == 0; tries++) {
        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        file = fopen(path, "r");
        text[0] = '\0';
        if (file != NULL && fgets(text, sizeof(text), file) != NULL && strstr(text, ") Z") != NULL)
            tries = 60000;
        if (file != NULL)
            fclose(file);
        usleep(1000);
    }
    ok(kill(pid, 0) < 0 || strstr(text, ") Z") != NULL, "process %d has ended", (int)pid);
}

static void test_end(void)
{
    static const char stubborn[] = "trap '' TERM; echo .; while :; do sleep 0.1; done";
    char text[512];
    pid_t left;

    is_int(shell(stubborn, 1, CUT, text, sizeof(text)), 128 + SIGKILL,
           "when the input ends it is killed, if it does not end");
    is_int(shell(stubborn, 100000, KILL_LINE, text, sizeof(text)), 128 + SIGKILL,
           "or at once, if its input says so");
    is_int(shell(stubborn, 1, GROUP_TERM, text, sizeof(text)), 128 + SIGKILL,
           "and although the agent's group was ended");
    is_int(shell("echo .; exec sleep 1000", 100000, CUT, text, sizeof(text)), 128 + SIGTERM,
           "it is asked before");
    is_int(shell("sleep 1000 & echo $!", 1, NOTHING, text, sizeof(text)), 0,
           "who leaves another process");
    left = (pid_t)atoi(text + sizeof(DIRECT_SCRIPT_MARK));
    ok(left > 1, "that was there");
    await_end(left);
}

static void test_signals_of_process(void)
{
    static const int numbers[] = {SIGHUP, SIGTERM, SIGINT, SIGQUIT};
    unsigned long long ignored = 0;
    char text[512], command[128];
    size_t count;

    snprintf(command, sizeof(command), "%s %s -c 'env --default-signal=INT,QUIT true' 2>/dev/null",
             sh[0], sh[2] != NULL ? sh[1] : "");
    count = system(command) == 0 ? 4 : 2; /* the shell may have an env of its own, which cannot */

    is_int(shell("grep SigIgn /proc/$$/status", 1, NOTHING, text, sizeof(text)), 0,
           "the signals of a process");
    ok(sscanf(text, DIRECT_SCRIPT_MARK " SigIgn: %llx", &ignored) == 1, "as they are");
    for (size_t i = 0; i < count; i++)
        ok((ignored >> (numbers[i] - 1) & 1) == 0, "signal %d is not ignored", numbers[i]);
}

static void test_words(void)
{
    struct buffer script = {0};
    const char *call;

    put_script("true", 1, &script);
    ok(strstr(buffer_string(&script), "\nexport s='b c'\n") != NULL, "a variable is exported");
    call = strstr(buffer_string(&script), "exec setsid ");
    ok(call != NULL && strstr(call, "b c") == NULL, "and not an argument");
    ok(call != NULL && strstr(call, " LD_A=l UID=7 sh -c true)") != NULL,
       "but for those that are of use to env");
    ok(strstr(buffer_string(&script), "a.b") == NULL, "what no shell can set is left out");
    buffer_fini(&script);
}

static void test_script(void)
{
    char text[512];

    is_int(
        shell("echo $A $s $BANYAN_RANK/$BANYAN_SIZE $BANYAN_LOCAL_RANK/$BANYAN_LOCAL_SIZE "
              "$BANYAN_NODE; pwd; cat; tr '\\0' '\\n' </proc/$$/environ | grep -E '^(UID|LD_A)='; "
              "exit 7",
              1, NOTHING, text, sizeof(text)),
        7, "%s: the status of the process", sh[0]);
    is_string(text, DIRECT_SCRIPT_MARK "\nit's b c 1/4 0/2 n1\n/\nLD_A=l\nUID=7\n",
              "it learns who it is");
    test_signals_of_process();
    test_end();
    app.directory = (char *)"/no/such/directory";
    is_int(shell("true", 1, NOTHING, text, sizeof(text)), 126, "no such directory");
    ok(strstr(text, DIRECT_SCRIPT_MARK) == NULL, "it has not begun");
    app.directory = (char *)"/";
}

/* With each shell that a node may have. */
static void test_shells(void)
{
    static const char *const shells[][3] = {
        {"dash", "-s", NULL}, {"bash", "-s", NULL}, {"busybox", "sh", "-s"}};
    char command[64];

    test_script();
    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
        snprintf(command, sizeof(command), "command -v %s >/dev/null", shells[i][0]);
        if (system(command) != 0)
            continue;
        memcpy(sh, shells[i], sizeof(sh));
        test_script();
    }
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

static void test_caller(void)
{
    (void)signal(SIGUSR2, SIG_IGN);
    ok(caller_signal_is_ignored(SIGUSR2), "a signal that is ignored");
    (void)signal(SIGUSR2, SIG_DFL);
    ok(!caller_signal_is_ignored(SIGUSR2), "and one that is not");
    ok(starter_srun_drops("SLURM_EXACT=1"), "an option of srun in the environment");
    ok(starter_srun_drops("SLURM_NTASKS_PER_NODE=1"), "and one that begins like one");
    ok(!starter_srun_drops("SLURM_JOB_ID=7"), "but not what the job is");
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
        buffer_printf(&text, "%s ", i == 11 ? "SCRIPT" : call[i]);
        free(call[i]);
    }
    free(call);
    is_string(buffer_string(&text),
              "srun --overlap --export=ALL --ntasks=6 --distribution=arbitrary --input=none "
              "--kill-on-bad-exit=1 --label --chdir=/ /bin/sh -c SCRIPT sh -c x ",
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
    test_words();
    test_shells();
    test_caller();
    test_srun();
    test_run();
    return done_testing();
}

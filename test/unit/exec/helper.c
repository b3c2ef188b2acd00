/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/time.h"
#include "launch/exec/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "launch/exec/helper_cgroup.h"
#include "test/support/processes.h"
#include "test/support/tap.h"

#define IDS_MAX     1024
#define PATIENCE_MS 20000
#define OUTPUT_MAX  (512u * 1024)

/* ---- A daemon of which only this much is left: it notes what it is told ---- */

struct note {
    int started;
    int failed;
    int code;
    enum start_step step;
    char text[16];
    int exited;
    int status;
    int by_us;
    int order_is_right;
};

static struct note notes[IDS_MAX];
static pid_t last_pid;
static int started_count, failed_count, exited_count, empty_count, gone_count;
static struct loop *loop;
static struct helper *helper;
static char scratch[64];
static const char *setting;

static void on_started(void *context, uint64_t id, pid_t pid)
{
    notes[id].started++;
    last_pid = pid;
    started_count++;
}

static void on_failed(void *context, uint64_t id, int code, enum start_step step, const char *text)
{
    notes[id].failed++;
    notes[id].code = code;
    notes[id].step = step;
    snprintf(notes[id].text, sizeof notes[id].text, "%s", text);
    failed_count++;
}

static void on_exited(void *context, uint64_t id, int wait_status, enum helper_end end,
                      const struct usage_rank *usage)
{
    notes[id].order_is_right = notes[id].started == 1;
    notes[id].exited++;
    notes[id].status = wait_status;
    notes[id].by_us = end == HELPER_END_US;
    exited_count++;
}

static void on_group_empty(void *context, uint32_t group)
{
    empty_count++;
}

static void on_room(void *context);

static void on_gone(void *context)
{
    gone_count++;
}

static const struct helper_events events = {.started = on_started,
                                            .failed = on_failed,
                                            .exited = on_exited,
                                            .group_empty = on_group_empty,
                                            .room = on_room,
                                            .gone = on_gone};

static void on_timer(void *context)
{
    loop_stop(loop);
}

/* Runs the loop until *counter is at least `wanted`; the milliseconds it took, or -1. */
static int64_t wait_for(const int *counter, int wanted)
{
    uint64_t start_ns = loop_now_ns();
    struct loop_timer *timer = loop_timer_create(loop, on_timer, NULL);
    int64_t result = -1;

    while (loop_now_ns() - start_ns < PATIENCE_MS * NS_PER_MS) {
        if (*counter >= wanted) {
            result = (int64_t)((loop_now_ns() - start_ns) / NS_PER_MS);
            break;
        }
        loop_timer_set(timer, loop_now_ns() + NS_PER_MS);
        loop_run(loop);
    }
    loop_timer_destroy(timer);
    return result;
}

static void forget(void)
{
    memset(notes, 0, sizeof notes);
    started_count = failed_count = exited_count = empty_count = 0;
}

/* The environment of this test and its setting. */
static const char *const *environment(void)
{
    static const char *list[4096];
    size_t count = 0;

    for (; environ[count] != NULL && count < 4000; count++)
        list[count] = environ[count];
    list[count++] = setting;
    list[count] = NULL;
    return list;
}

static void start_full(uint64_t id, uint32_t group, const char *const *argv,
                       const char *const *variables, const char *directory,
                       const struct helper_fd *fds, uint32_t count)
{
    struct helper_process process = {.id = id,
                                     .group = group,
                                     .argv = (char *const *)(uintptr_t)argv,
                                     .environment = (char *const *)(uintptr_t)variables,
                                     .directory = directory,
                                     .fds = fds,
                                     .fds_count = count};

    helper_start(helper, &process);
}

static void start_shell(uint64_t id, uint32_t group, const char *script)
{
    const char *argv[] = {"sh", "-c", script, NULL};

    start_full(id, group, argv, environment(), scratch, NULL, 0);
}

static void on_output(void *context, int fd, unsigned int ready)
{
    struct buffer *output = context;
    ssize_t bytes = read(fd, buffer_reserve(output, OUTPUT_MAX), OUTPUT_MAX);

    if (bytes > 0)
        buffer_commit(output, (size_t)bytes);
}

/* Starts one process with its output in a pipe and waits for its end: what it wrote, free(). */
static char *output_of(const char *const *argv, const char *const *variables)
{
    struct buffer output = {0};
    struct loop_watch *watch;
    int fds[2];

    forget();
    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0 || fcntl(fds[1], F_SETFL, 0) < 0)
        bail_out("no pipe: %s", strerror(errno));
    start_full(0, 1, argv, variables, "/", &(struct helper_fd){fds[1], 1}, 1);
    close(fds[1]);
    watch = loop_watch_create(loop, fds[0], LOOP_READ, on_output, &output);
    wait_for(&empty_count, 1);
    loop_watch_destroy(watch);
    on_output(&output, fds[0], LOOP_READ);
    close(fds[0]);
    buffer_string(&output);
    return buffer_take(&output, NULL);
}

static char *output_of_shell(const char *script)
{
    const char *argv[] = {"sh", "-c", script, NULL};

    return output_of(argv, environment());
}

/* ---- Starting ---- */

static void test_many(void)
{
    const char *argv[] = {"true", NULL};
    int64_t spent_ms;

    forget();
    for (uint64_t id = 0; id < 300; id++)
        start_full(id, 7, argv, environment(), "/", NULL, 0);
    spent_ms = wait_for(&empty_count, 1);
    ok(spent_ms >= 0, "300 processes at once end");
    diag("300 times true: %d ms", (int)spent_ms);
    is_int(started_count, 300, "all were started");
    is_int(exited_count, 300, "all ended");
    is_int(empty_count, 1, "their group is told to be empty once");
    for (uint64_t id = 0; id < 300; id++)
        if (notes[id].status != 0 || !notes[id].order_is_right || notes[id].by_us)
            fail("process %u: status %x", (unsigned int)id, (unsigned int)notes[id].status);
}

static void expect_failure(const char *program, const char *directory, const char *const *variables,
                           int code, enum start_step step, const char *text)
{
    const char *argv[] = {program, NULL};

    forget();
    start_full(5, 1, argv, variables, directory, NULL, 0);
    wait_for(&empty_count, 1);
    is_int(notes[5].code, code, "%s in %s: %s", program, directory, strerror(-code));
    is_uint(notes[5].step, step, "it was %s that failed", start_step_name(step));
    is_string(notes[5].text, text, "with this to say");
    is_int(notes[5].failed, 1, "told once");
    is_int(started_count + exited_count, 0, "it never started, so it does not end");
}

static char *make_file(const char *name, const char *contents, mode_t mode)
{
    char *path = memory_printf("%s/%s", scratch, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

    if (fd < 0 || write(fd, contents, strlen(contents)) < 0)
        bail_out("cannot write %s", path);
    close(fd);
    return path;
}

static void test_failures(void)
{
    char *plain = make_file("plain", "data\n", 0644);
    char *script = make_file("script", "#!/no/such\r\n", 0755);
    char *path = memory_printf("PATH=/nowhere:%s:/bin:/usr/bin", scratch);
    const char *variables[] = {path, NULL};
    char *missing = memory_printf("%s/no/such/directory", scratch);
    char *directory = memory_printf("%s/catalogue", scratch);

    mkdir(directory, 0755);
    expect_failure("catalogue", "/", variables, -ENOENT, START_STEP_EXEC, "");
    expect_failure("no-such-program", "/", environment(), -ENOENT, START_STEP_EXEC, "");
    expect_failure("/no/such/program", "/", environment(), -ENOENT, START_STEP_EXEC, "");
    expect_failure(plain, "/", environment(), -EACCES, START_STEP_EXEC, "");
    expect_failure("/", "/", environment(), -EISDIR, START_STEP_EXEC, "");
    expect_failure("", "/", environment(), -ENOENT, START_STEP_EXEC, "");
    expect_failure("plain", "/", variables, -EACCES, START_STEP_EXEC, "");
    expect_failure("true", missing, environment(), -ENOENT, START_STEP_CHDIR, "");
    expect_failure("true", plain, environment(), -ENOTDIR, START_STEP_CHDIR, "");
    expect_failure(script, "/", environment(), -ENOENT, START_STEP_INTERPRETER, "/no/such\\r");
    free(directory);
    free(missing);
    free(path);
    free(script);
    free(plain);
}

static void test_search(void)
{
    char *script = make_file("greet", "echo \"hello $1\"\n", 0755);
    char *path = memory_printf("PATH=/nowhere:%s:/bin:/usr/bin", scratch);
    const char *variables[] = {path, NULL};
    const char *argv[] = {"greet", "you", NULL};
    char *output = output_of(argv, variables);

    is_string(output, "hello you\n", "PATH of the process counts; a text file goes to sh");
    free(output);
    output = output_of((const char *[]){"pwd", NULL}, environment());
    is_string(output, "/\n", "the working directory is set");
    free(output);
    free(script);
    free(path);
}

static void test_large(void)
{
    size_t bytes = 100 * 1024;
    char *value = memory_allocate(bytes + 1);
    const char *variables[6];
    const char *argv[] = {"env", NULL};
    char *output;

    memset(value, 'x', bytes);
    memcpy(value, "A=\n\xff", 4);
    value[bytes] = '\0';
    for (int i = 0; i < 5; i++)
        variables[i] = value;
    variables[4] = "PATH=/bin:/usr/bin";
    variables[5] = NULL;
    output = output_of(argv, variables);
    is_int(notes[0].status, 0, "an environment of 400 KiB is taken");
    ok(strlen(output) > 4 * bytes, "and arrives");
    has_string(output, "A=\n\xffxxx", "with new-lines and bytes that are no text");
    free(output);
    free(value);
}

/* ---- What a process finds ---- */

static void test_state(void)
{
    struct rlimit files;
    char expected[64];
    char *output;

    getrlimit(RLIMIT_NOFILE, &files);
    snprintf(expected, sizeof expected, "%llu\n", (unsigned long long)files.rlim_cur);
    output = output_of_shell("ulimit -n");
    is_string(output, expected, "the limit of descriptors is as before");
    free(output);
    /* 32 and 33 are libc's own; whoever started us may ignore them, and libc does not let us change
     * that. */
    output = output_of_shell(
        "grep -E '^Sig(Blk|Ign)' /proc/self/status | sed 's/[01]80000000$/000000000/'");
    is_string(output, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n",
              "no signal is blocked or ignored");
    free(output);
    output = output_of_shell("readlink /proc/$$/fd/0 /proc/$$/fd/2; ls /proc/$$/fd");
    is_string(output, "/dev/null\n/dev/null\n0\n1\n2\n",
              "0 and 2 are /dev/null, no other descriptor is open");
    free(output);
    output = output_of_shell("read pid x x x group session tty x </proc/$$/stat\n"
                             "[ $pid = $group ] && [ $pid != $session ] && echo $tty");
    is_string(output, "0\n", "it leads a process group, in a session without terminal");
    free(output);
    output = output_of_shell("env | grep -c BANYAN_HELPER=; BANYAN_HELPER=1.1 env | grep -c "
                             "BANYAN_HELPER=");
    is_string(output, "1\n1\n", "it carries one mark");
    free(output);
}

/* Where the system has cgroups v2 that we may use, a job has one. */
static void test_cgroup(void)
{
    char *output = output_of_shell("sed -n 's/^0:://p' /proc/self/cgroup");
    const char *name = strstr(output, "/banyan-");
    char *command;

    if (name == NULL) {
        skip(2, "no cgroup v2 can be made here");
    } else {
        command = memory_printf("find /sys/fs/cgroup -name %.*s | grep .",
                                (int)strcspn(name + 1, "\n"), name + 1);
        pass("a job has a cgroup of its own");
        ok(system(command) != 0, "which is removed when it has ended");
        free(command);
    }
    free(output);
}

static char *cgroup_of_dead(const char *parent, unsigned long name_space, pid_t pid)
{
    static const char *const mounts[] = {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"};
    char *path = NULL;

    for (size_t i = 0; i < sizeof mounts / sizeof mounts[0]; i++) {
        free(path);
        path = memory_printf("%s%s/banyan-%lu-%d.1", mounts[i], parent, name_space, (int)pid);
        if (mkdir(path, 0755) == 0)
            return path;
    }
    bail_out("cannot make %s", path);
}

/* Of helpers that are dead, as far as their pids can be judged from here. */
static void test_cgroup_clean(void)
{
    char *parent = output_of_shell("sed -n 's/^0:://p' /proc/self/cgroup | grep '/banyan-'");
    char *slash = strrchr(parent, '/');
    char *ours, *foreign;
    struct stat status;
    pid_t dead = fork();

    if (dead == 0)
        _exit(0);
    waitpid(dead, NULL, 0);
    if (slash == NULL || stat("/proc/self/ns/pid", &status) < 0) {
        skip(2, "no cgroup v2 can be made here");
    } else {
        *slash = '\0';
        ours = cgroup_of_dead(parent, status.st_ino, dead);
        foreign = cgroup_of_dead(parent, status.st_ino + 1, dead);
        helper_cgroup_clean();
        ok(access(ours, F_OK) < 0, "what a dead helper left is removed");
        ok(access(foreign, F_OK) == 0, "but not that of another name space of pids");
        rmdir(foreign);
        free(foreign);
        free(ours);
    }
    free(parent);
}

static void test_descriptors(void)
{
    const char *argv[] = {"sh", "-c", "cat <&0; cat <&5; cat /dev/fd/31", NULL};
    int in[3][2], out[2];
    char text[64] = "";
    ssize_t bytes;
    size_t length = 0;

    forget();
    for (int i = 0; i < 3; i++) {
        if (pipe(in[i]) < 0 || dprintf(in[i][1], "%d", i) < 0)
            bail_out("no pipe");
        close(in[i][1]);
    }
    if (pipe(out) < 0)
        bail_out("no pipe");
    start_full(0, 1, argv, environment(), "/",
               (struct helper_fd[]){{in[0][0], 31}, {in[1][0], 0}, {in[2][0], 5}, {out[1], 1}}, 4);
    for (int i = 0; i < 3; i++)
        close(in[i][0]);
    close(out[1]);
    while ((bytes = read(out[0], text + length, sizeof text - 1 - length)) > 0)
        length += (size_t)bytes;
    close(out[0]);
    is_string(text, "120", "each descriptor has the number it was given");
    wait_for(&empty_count, 1);
}

/* ---- Descriptors are short ---- */

#define SHORT_LIMIT 64
#define SHORT_COUNT 200

static struct rlimit limit_descriptors(pid_t pid, rlim_t limit)
{
    struct rlimit before, files;

    if (prlimit(pid, RLIMIT_NOFILE, NULL, &before) < 0)
        bail_out("no limit of descriptors");
    files = before;
    files.rlim_cur = limit;
    if (prlimit(pid, RLIMIT_NOFILE, &files, NULL) < 0)
        bail_out("cannot set the limit of descriptors");
    return before;
}

static uint32_t given;  /* starts */
static uint32_t wanted; /* in all */
static int room_count;

/* Whoever starts many gives what is taken, and goes on when there is room. */
static void give_starts(int as_room)
{
    const char *argv[] = {"true", NULL};
    struct helper_fd fds[HELPER_FDS_MAX];

    for (int i = 0; i < HELPER_FDS_MAX; i++)
        fds[i] = (struct helper_fd){STDERR_FILENO, i};
    for (; given < wanted && !(as_room && helper_is_busy(helper)); given++) {
        struct helper_process process = {.id = given,
                                         .group = 12,
                                         .argv = (char *const *)(uintptr_t)argv,
                                         .environment = (char *const *)(uintptr_t)environment(),
                                         .directory = "/",
                                         .fds = fds,
                                         .fds_count = HELPER_FDS_MAX,
                                         .more_follow = 1};
        helper_start(helper, &process);
    }
    if (given == wanted)
        helper_seal_group(helper, 12);
}

static void on_room(void *context)
{
    room_count++;
    if (given < wanted)
        give_starts(1);
}

static void start_with_descriptors(uint32_t count, int as_room)
{
    given = 0;
    wanted = count;
    give_starts(as_room);
}

/* The letter of a process's state, and who traces it; 0: nobody. */
static char state_of(pid_t pid, int *ret_tracer)
{
    char path[64], line[256], state = '?';
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    *ret_tracer = -1;
    file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        (void)sscanf(line, "State: %c", &state);
        (void)sscanf(line, "TracerPid: %d", ret_tracer);
    }
    if (file != NULL)
        fclose(file);
    return state;
}

static void start_stopped(uint64_t id, const char *program)
{
    const char *argv[] = {program, NULL};
    struct helper_process process = {.id = id,
                                     .group = 13,
                                     .argv = (char *const *)(uintptr_t)argv,
                                     .environment = (char *const *)(uintptr_t)environment(),
                                     .directory = "/",
                                     .is_stopped = 1};

    helper_start(helper, &process);
}

/* For a debugger, which is to find nobody else there. */
static void test_stopped(void)
{
    int tracer = -1;

    forget();
    start_stopped(0, "true");
    ok(wait_for(&started_count, 1) >= 0,
       "what stops before its first instruction counts as started");
    for (int i = 0; i < 2000 && (state_of(last_pid, &tracer) != 'T' || tracer != 0); i++)
        usleep(1000);
    is_int(state_of(last_pid, &tracer), 'T', "it is stopped");
    is_int(tracer, 0, "and nobody traces it");
    is_int(exited_count, 0, "nor has it ended");
    kill(last_pid, SIGCONT);
    ok(wait_for(&empty_count, 1) >= 0, "it goes on");
    is_int(notes[0].status, 0, "as if nothing had been");
    forget();
    start_stopped(0, "/nowhere/true");
    ok(wait_for(&failed_count, 1) >= 0 && notes[0].code == -ENOENT,
       "a missing program is reported");
    ok(wait_for(&empty_count, 1) >= 0, "and nothing is left");
    forget();
    start_stopped(0, "true");
    ok(wait_for(&started_count, 1) >= 0, "another");
    helper_end_group(helper, 13, 10000);
    ok(wait_for(&empty_count, 1) >= 0, "that is stopped can be ended");
}

/* Every start is answered, whoever has no descriptors for it. */
static void test_few_descriptors(void)
{
    struct rlimit before = limit_descriptors(getpid(), SHORT_LIMIT);
    uint64_t start_ns;
    int answered;

    forget();
    start_with_descriptors(SHORT_COUNT, 1);
    ok(wait_for(&exited_count, SHORT_COUNT) >= 0, "with few descriptors all starts go well");
    ok(room_count > 0, "given one after the other as there is room");
    ok(wait_for(&empty_count, 1) >= 0, "the group ends");
    is_int(empty_count, 1, "once, although all of it had ended before all was started");
    forget();
    kill(helper_pid(helper), SIGSTOP);
    start_ns = loop_now_ns();
    start_with_descriptors(SHORT_COUNT, 0);
    ok(loop_now_ns() - start_ns < 500 * NS_PER_MS, "a helper that hangs is not waited for");
    is_int(failed_count, 0, "nothing is told from within the call");
    kill(helper_pid(helper), SIGCONT);
    ok(wait_for(&empty_count, 1) >= 0, "what it was given ends");
    answered = exited_count + failed_count;
    is_int(answered, SHORT_COUNT, "every start is answered");
    ok(failed_count > 0 && notes[SHORT_COUNT - 1].code == -EMFILE, "the last ones: %s",
       strerror(EMFILE));
    is_uint(notes[SHORT_COUNT - 1].step, START_STEP_FORK, "as a fork that failed");
    setrlimit(RLIMIT_NOFILE, &before);
    before = limit_descriptors(helper_pid(helper), SHORT_LIMIT / 8);
    forget();
    start_with_descriptors(1, 0);
    ok(wait_for(&failed_count, 1) >= 0, "a helper without descriptors says so");
    is_int(notes[0].code, -EMFILE, "why");
    ok(wait_for(&empty_count, 1) >= 0, "the group is empty");
    prlimit(helper_pid(helper), RLIMIT_NOFILE, &before, NULL);
}

/* ---- Ending ---- */

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

int main(void)
{
    struct error error = ERROR_NONE;
    char *command;

    /* A shell ignores these two for what it starts in the background, and so would our children. */
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
    snprintf(scratch, sizeof scratch, "/tmp/bt-helper.XXXXXX");
    if (mkdtemp(scratch) == NULL)
        bail_out("no scratch directory");
    setting = processes_setting();
    (void)signal(SIGPIPE, SIG_IGN);
    helper = helper_fork(&error);
    if (helper == NULL)
        bail_out("%s", error.text);
    loop = loop_create(&error);
    helper_attach(helper, loop, &events, NULL);
    test_many();
    test_failures();
    test_search();
    test_large();
    test_state();
    test_cgroup();
    test_cgroup_clean();
    test_descriptors();
    test_stopped();
    test_few_descriptors();
    test_signal();
    test_wrapper();
    test_stubborn();
    test_chain();
    test_leftover();
    test_ends_group();
    test_two_groups();
    test_late_start();
    test_close();
    is_int(gone_count, 0, "the helper never went away by itself");
    loop_destroy(loop);
    command = memory_printf("rm -rf %s", scratch);
    is_int(system(command), 0, "the scratch directory is removed");
    free(command);
    return done_testing();
}

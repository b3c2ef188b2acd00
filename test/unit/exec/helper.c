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
#include "test/support/helper_notes.h"
#include "test/support/tap.h"

#define OUTPUT_MAX (512u * 1024)
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

int main(void)
{
    helper_notes_begin(on_room);
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
    helper_close(helper);
    helper_notes_end();
    return done_testing();
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/helper_child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/exec/child_limits.h"
#include "launch/exec/helper_cgroup.h"
#include "launch/exec/raw_syscall.h"
#include "launch/proto/exit_status.h"

/* The child calls a handful of functions with small frames.  Start record and stack are one piece:
 * the record at its low end, the stack growing down from the high one. */
#define PIECE_BYTES  (32u * 1024)
#define SLAB_PIECES  16u
#define SIGNAL_BYTES 8               /* of the kernel's signal set */
#define PATH_DEFAULT "/bin:/usr/bin" /* as of confstr(_CS_PATH) */

static struct child_start *free_starts;
static char *slab;
static uint32_t slab_left; /* pieces that were never used: untouched, thus no memory yet */

/* The helper dies rather than go on without memory for the next process. */
static struct child_start *cut_slab(void)
{
    if (slab_left == 0) {
        slab = mmap(NULL, PIECE_BYTES * SLAB_PIECES, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
        if (slab == MAP_FAILED)
            abort();
        slab_left = SLAB_PIECES;
    }
    assert(slab_left > 0 && slab_left <= SLAB_PIECES);
    return (struct child_start *)(void *)(slab + --slab_left * PIECE_BYTES);
}

struct child_start *helper_child_start_take(void)
{
    struct child_start *start = free_starts;

    if (start == NULL)
        return cut_slab();
    free_starts = start->next_free;
    memset(start, 0, sizeof(*start));
    return start;
}

void helper_child_start_give(struct child_start *start)
{
    free(start->message);
    free(start->mark);
    free(start->order.arrays);
    free(start->candidate);
    start->next_free = free_starts;
    free_starts = start;
}

/* ---- In the child: only raw system calls and memory of the start ---- */

static long child_call(long number, long a, long b, long c, long d)
{
    return raw_syscall(number, a, b, c, d, 0);
}

static void child_exit(void)
{
    for (;;)
        child_call(SYS_exit_group, EXIT_STATUS_NOT_FOUND, 0, 0, 0);
}

static void child_fail(const struct child_start *start, enum start_step step, long code)
{
    struct child_failure failure = {.code = (int32_t)code, .step = step};

    for (size_t i = 0; i < sizeof(failure.text); i++)
        failure.text[i] = start->text[i];
    child_call(SYS_write, start->report_fd, (long)&failure, sizeof(failure), 0);
    child_exit();
}

static bool child_has_terminal(const struct child_start *start)
{
    return (start->order.request.value & HELPER_START_TERMINAL) != 0;
}

/* Dies with the helper, alone in a process group, without the helper's blocked signals' leftovers.
 * The helper has a session without terminal; a session per process would make each group an orphaned
 * one, which job control cannot stop.  What starts a daemon gets one nevertheless: the kernel shares
 * the processors among sessions (sched(7), autogroup), and several daemons of one machine in one
 * session would get no more together than the busy processes of a single one of them, which is too
 * little to keep their leases.  A terminal belongs to a session, too: what stops or interrupts is then its
 * job control, as after a login. */
static void child_detach(const struct child_start *start)
{
    child_call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0);
    if (child_call(SYS_getppid, 0, 0, 0, 0) != start->helper)
        child_exit();
    if (start->order.request.group > 0 && !child_has_terminal(start))
        child_call(SYS_setpgid, 0, 0, 0, 0);
    else
        child_call(SYS_setsid, 0, 0, 0, 0);
}

static int child_move_up(const struct child_start *start, int fd)
{
    long rc = fd;

    if (fd <= HELPER_TARGET_MAX)
        rc = child_call(SYS_fcntl, fd, F_DUPFD_CLOEXEC, HELPER_TARGET_MAX + 1, 0);
    if (rc < 0)
        child_fail(start, START_STEP_FORK, rc);
    return (int)rc;
}

static void child_set_fd(const struct child_start *start, int fd, long target)
{
    long rc = child_call(SYS_dup3, fd, target, 0, 0);

    if (rc < 0)
        child_fail(start, START_STEP_FORK, rc);
}

/* First everything goes above all targets, then each to its own.  What the helper has open beside
 * them is closed by exec. */
static void child_place_fds(struct child_start *start)
{
    const struct helper_request *request = &start->order.request;
    uint32_t given = 0;

    start->report_fd = child_move_up(start, start->report_fd);
    start->null_fd = child_move_up(start, start->null_fd);
    for (uint32_t i = 0; i < request->targets_count; i++)
        start->fds[i] = child_move_up(start, start->fds[i]);
    for (uint32_t i = 0; i < request->targets_count; i++) {
        child_set_fd(start, start->fds[i], request->targets[i]);
        given |= 1u << request->targets[i];
    }
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if ((given & 1u << fd) == 0)
            child_set_fd(start, start->null_fd, fd);
}

static void child_reset(const struct child_start *start)
{
    uint64_t no_signals = 0;

    child_call(SYS_prlimit64, 0, RLIMIT_NOFILE, (long)&start->files, 0);
    child_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&no_signals, 0, SIGNAL_BYTES);
}

/* Replaces the child or returns the negative errno.  As a shell does, a file that is executable and
 * no program is taken for a script of sh. */
static long child_exec(struct child_start *start, char *file)
{
    char **argv = start->order.argv;
    char *name = argv[0];
    long rc = child_call(SYS_execve, (long)file, (long)argv, (long)start->order.environment, 0);

    if (rc != -ENOEXEC)
        return rc;
    argv[-1] = start->shell;
    argv[0] = file;
    rc = child_call(SYS_execve, (long)start->shell, (long)(argv - 1),
                    (long)start->order.environment, 0);
    argv[0] = name;
    return rc;
}

/* The mode of what is there, 0 if nothing is. */
static uint32_t mode_of(const char *file)
{
    struct statx status;

    return raw_syscall(SYS_statx, AT_FDCWD, (long)file, 0, STATX_TYPE, (long)&status) == 0
               ? status.stx_mode
               : 0;
}

/* What follows "#!"; empty for a binary, whose loader is missing then. */
static void read_interpreter(struct child_start *start, const char *file)
{
    char line[2 + HELPER_TEXT_BYTES];
    long fd = raw_syscall(SYS_openat, AT_FDCWD, (long)file, O_RDONLY | O_CLOEXEC, 0, 0);
    long bytes = fd >= 0 ? raw_syscall(SYS_read, fd, (long)line, sizeof(line) - 1, 0, 0) : 0;
    long from = 2, to = 0;

    start->interpreter_missing = 1;
    if (bytes < 2 || line[0] != '#' || line[1] != '!')
        return;
    while (from < bytes && (line[from] == ' ' || line[from] == '\t'))
        from++;
    for (; from + to < bytes && to < HELPER_TEXT_BYTES - 1; to++) {
        char byte = line[from + to];
        if (byte == ' ' || byte == '\t' || byte == '\n' || byte == '\0')
            break;
        start->text[to] = byte;
    }
}

/* The system's answer, or what it means. */
static long explain_result(struct child_start *start, const char *file, long rc)
{
    if (rc == -EACCES && S_ISDIR(mode_of(file)))
        return -EISDIR;
    if (rc == -ENOENT && S_ISREG(mode_of(file)))
        read_interpreter(start, file);
    return rc;
}

/* A file that exists and may not be executed; not a directory of that name, nor anything in a
 * directory that is closed to us. */
static int is_forbidden(const char *file)
{
    return S_ISREG(mode_of(file));
}

static int is_search_error(long code)
{
    return code == -ENOENT || code == -ENOTDIR || code == -ESTALE || code == -ENODEV ||
           code == -ETIMEDOUT;
}

/* Tries each entry of PATH; found but not allowed is remembered, as a shell would report it. */
static long child_search(struct child_start *start)
{
    const char *entry = start->path;
    const char *name = start->order.argv[0];
    long result = -ENOENT;

    for (;;) {
        size_t bytes = strcspn(entry, ":");
        char *end = start->candidate;
        long rc;
        memcpy(end, entry, bytes);
        end += bytes;
        if (bytes > 0)
            *end++ = '/';
        memcpy(end, name, strlen(name) + 1);
        rc = child_exec(start, start->candidate);
        if (rc == -EACCES && is_forbidden(start->candidate))
            result = rc;
        else if (rc != -EACCES && !is_search_error(rc))
            return rc;
        else if (explain_result(start, start->candidate, rc) == -ENOENT &&
                 start->interpreter_missing)
            return rc;
        if (entry[bytes] == '\0')
            return result;
        entry += bytes + 1;
    }
}

/* The kernel wants one bit more than it reads. */
static void child_bind(const struct child_start *start)
{
    const struct helper_request *request = &start->order.request;
    long rc = 0;

    if (request->cpus != NULL)
        rc = child_call(SYS_sched_setaffinity, 0, request->cpus_bytes, (long)request->cpus, 0);
    if (rc < 0)
        child_fail(start, START_STEP_BIND, rc);
    if (request->memory != NULL)
        rc = child_call(SYS_set_mempolicy, request->memory_mode, (long)request->memory,
                        8l * request->memory_bytes + 1, 0);
    if (rc < 0)
        child_fail(start, START_STEP_BIND_MEMORY, rc);
}

/* What is not given stays as it is, which for RLIMIT_NOFILE is not as the helper has it. */
static void child_limit(struct child_start *start)
{
    const struct process_limits *limits = &start->order.request.limits;
    const char *refused = NULL;
    long rc = child_limits_set(limits, &refused);

    if (rc < 0) {
        strncpy(start->text, refused, sizeof(start->text) - 1);
        child_fail(start, START_STEP_LIMIT, rc);
    }
}

static void child_main(void *argument)
{
    struct child_start *start = argument;
    const char *directory = start->order.request.path;
    long rc = 0;

    child_detach(start);
    child_place_fds(start);
    if (child_has_terminal(start))
        rc = child_call(SYS_ioctl, STDIN_FILENO, TIOCSCTTY, 0, 0);
    if (rc < 0)
        child_fail(start, START_STEP_FORK, rc);
    if (directory != NULL)
        rc = child_call(SYS_chdir, (long)directory, 0, 0, 0);
    if (rc < 0)
        child_fail(start, START_STEP_CHDIR, rc);
    child_bind(start);
    child_reset(start);
    child_limit(start);
    if (start->order.request.value & HELPER_START_STOPPED)
        rc = child_call(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0);
    if (rc < 0)
        child_fail(start, START_STEP_EXEC, rc);
    if (start->candidate == NULL)
        rc = explain_result(start, start->order.argv[0], child_exec(start, start->order.argv[0]));
    else
        rc = child_search(start);
    child_fail(start, start->interpreter_missing ? START_STEP_INTERPRETER : START_STEP_EXEC, rc);
}

/* ---- In the helper ---- */

/* Which PATH counts: that of the process. */
static const char *find_path(char *const *environment)
{
    for (; *environment != NULL; environment++)
        if (strncmp(*environment, "PATH=", 5) == 0)
            return *environment + 5;
    return PATH_DEFAULT;
}

static void prepare_search(struct child_start *start)
{
    const char *name = start->order.argv[0];

    assert(name != NULL && start->order.environment != NULL);
    memcpy(start->shell, "/bin/sh", sizeof("/bin/sh"));
    if (strchr(name, '/') != NULL || name[0] == '\0')
        return;
    assert(start->candidate == NULL);
    start->path = find_path(start->order.environment);
    start->candidate = memory_allocate(strlen(start->path) + strlen(name) + 2);
}

static long clone_child(struct child_start *start, int cgroup_fd)
{
    struct clone_args args = {.exit_signal = SIGCHLD};
    long pid;

    if (RAW_CLONE_SHARES_MEMORY) {
        args.flags = CLONE_VM;
        args.stack = (uintptr_t)start + sizeof(*start);
        args.stack_size = (PIECE_BYTES - sizeof(*start)) & ~(uint64_t)15;
        args.stack = (uintptr_t)start + PIECE_BYTES - args.stack_size;
    }
    if (cgroup_fd >= 0) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = (uint64_t)cgroup_fd;
    }
    pid = raw_clone(&args, child_main, start);
    if (pid != -ENOSYS && (pid != -EPERM || cgroup_fd >= 0))
        return pid;
    /* An old sandbox filters clone3. */
    pid = fork();
    if (pid == 0)
        child_main(start);
    return pid < 0 ? -errno : pid;
}

/* Whether it is the cgroup that the kernel does not like: the rest would be refused without one, too. */
static int is_cgroup_refused(long pid, int cgroup_fd)
{
    return pid < 0 && cgroup_fd >= 0 && pid != -EAGAIN && pid != -ENOMEM;
}

pid_t helper_child_spawn(struct child_start *start, int cgroup_fd, int *ret_report_fd)
{
    int fds[2];
    long pid;

    assert(ret_report_fd != NULL);
    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return -errno;
    prepare_search(start);
    start->report_fd = fds[1];
    start->helper = getpid();
    pid = clone_child(start, cgroup_fd);
    if (is_cgroup_refused(pid, cgroup_fd)) {
        helper_cgroup_disable();
        pid = clone_child(start, -1);
    }
    close(fds[1]);
    if (pid < 0)
        close(fds[0]);
    else
        *ret_report_fd = fds[0];
    return (pid_t)pid;
}

int helper_child_result(int report_fd, struct child_failure *ret_failure)
{
    ssize_t bytes = read(report_fd, ret_failure, sizeof(*ret_failure));

    if (bytes == (ssize_t)sizeof(*ret_failure))
        return -1;
    return bytes < 0 ? 0 : 1;
}

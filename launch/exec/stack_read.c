/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/stack_read.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/time.h"
#include "launch/exec/process_stat.h"
#include "launch/exec/stack_parse.h"
#include "launch/proto/exit_status.h"
#include "launch/proto/stack_fold.h"

#define AT_ONCE          4u
#define EACH_MS          10000u
#define KILL_MS          1000 /* until one that was killed has ended */
#define OUTPUT_BYTES_MAX (256u * 1024)
#define PIECE_BYTES      4096u
#define REAP_MS          20 /* how often a program is looked at that has closed its output */
#define DEPTH_MAX        8  /* of shells that wait for shells */
#define YAMA_FILE        "/proc/sys/kernel/yama/ptrace_scope"

struct look {
    uint32_t index; /* of the rank */
    pid_t target;
    pid_t pid; /* of the program; 0: none */
    int fd;    /* -1: its output is over */
    int was_stopped;
    int is_late; /* it was killed */
    uint64_t due_ns;
    struct buffer output;
};

struct tool {
    const char *name; /* NULL: there is none */
    char path[PATH_MAX];
};

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* ---- whose stack, and by what ---- */

static void tool_find(struct tool *tool)
{
    static const char *const names[] = {"gdb", "eu-stack"};
    const char *all = getenv("PATH");

    tool->name = NULL;
    for (size_t i = 0; all != NULL && i < sizeof(names) / sizeof(names[0]); i++)
        for (const char *path = all; *path != '\0';) {
            size_t bytes = strcspn(path, ":");
            int length =
                snprintf(tool->path, sizeof(tool->path), "%.*s/%s", (int)bytes, path, names[i]);

            if (bytes > 0 && length < (int)sizeof(tool->path) && access(tool->path, X_OK) == 0) {
                tool->name = names[i];
                return;
            }
            path += bytes + (path[bytes] == ':');
        }
}

static size_t read_file(const char *path, char *text, size_t text_bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes = fd >= 0 ? read(fd, text, text_bytes - 1) : 0;

    if (fd >= 0)
        close(fd);
    text[bytes > 0 ? bytes : 0] = '\0';
    return bytes > 0 ? (size_t)bytes : 0;
}

static int is_shell(pid_t pid)
{
    static const char *const shells[] = {"sh\n",  "bash\n", "dash\n", "ksh\n",
                                         "zsh\n", "csh\n",  "tcsh\n", "busybox\n"};
    char path[64], name[64];

    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    (void)read_file(path, name, sizeof(name));
    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
        if (strcmp(name, shells[i]) == 0)
            return 1;
    return 0;
}

/* A wrapper says little: what it waits for does.  Without CONFIG_PROC_CHILDREN it is itself. */
static pid_t target_of(pid_t pid)
{
    for (int depth = 0; depth < DEPTH_MAX && is_shell(pid); depth++) {
        char path[64], text[128], rest;
        int child;

        snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
        if (read_file(path, text, sizeof(text)) == 0 || sscanf(text, "%d %c", &child, &rest) != 1 ||
            child <= 0)
            break;
        pid = child;
    }
    return pid;
}

/* ---- one program ---- */

static __attribute__((noreturn)) void become_tool(const struct tool *tool, pid_t target, int out_fd)
{
    char pid[16];
    int null_fd = open("/dev/null", O_RDWR);

    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    (void)setpgid(0, 0);
    snprintf(pid, sizeof(pid), "%d", (int)target);
    setenv("LC_ALL", "C", 1);
    unsetenv("DEBUGINFOD_URLS"); /* symbols are not worth a download */
    if (null_fd >= 0 && dup2(null_fd, STDIN_FILENO) >= 0 && dup2(out_fd, STDOUT_FILENO) >= 0 &&
        dup2(out_fd, STDERR_FILENO) >= 0) {
        close_range(STDERR_FILENO + 1, ~0u, 0);
        if (strcmp(tool->name, "gdb") == 0)
            execl(tool->path, "gdb", "-nx", "-batch", "-iex", "set auto-load off", "-iex",
                  "set print frame-arguments none", "-iex", "set width 0", "-p", pid, "-ex",
                  "bt 100", (char *)NULL);
        else
            execl(tool->path, "eu-stack", "-1", "-n", "100", "-p", pid, (char *)NULL);
    }
    dprintf(STDERR_FILENO, "cannot run %s: %s\n", tool->path, strerror(errno));
    _exit(EXIT_STATUS_FAILED);
}

static void look_say(const struct look *look, bool is_failure, const char *text, struct buffer *out)
{
    stack_fold_put_local(out, look->index, is_failure, text);
}

static int look_begin(struct look *look, const struct tool *tool, uint64_t limit_ns)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    look->target = target_of(look->target);
    look->was_stopped = process_stat_state(look->target) == 'T';
    look->pid = fork();
    if (look->pid == 0)
        become_tool(tool, look->target, ends[1]);
    close(ends[1]);
    if (look->pid < 0) {
        close(ends[0]);
        return -errno;
    }
    (void)setpgid(look->pid, look->pid);
    look->fd = ends[0];
    look->due_ns = now_ns() + EACH_MS * NS_PER_MS;
    if (look->due_ns > limit_ns)
        look->due_ns = limit_ns;
    return 0;
}

/* It may have been killed between attaching and detaching. */
static void let_go_on(const struct look *look)
{
    uint8_t state = process_stat_state(look->target);

    if (!look->was_stopped && state == 'T')
        (void)kill(look->target, SIGCONT);
}

static void say_refused(const struct look *look, struct buffer *out)
{
    char scope[8], text[STACK_FOLD_TEXT_BYTES];

    if (read_file(YAMA_FILE, scope, sizeof(scope)) > 0 && scope[0] != '0')
        snprintf(text, sizeof(text),
                 "ptrace is not permitted: kernel.yama.ptrace_scope is %c, 0 permits it", scope[0]);
    else
        snprintf(text, sizeof(text),
                 "ptrace is not permitted: the process is another user's, or the container or a "
                 "security module forbids it");
    look_say(look, true, text, out);
}

static void say_nothing(struct look *look, const struct tool *tool, struct buffer *out)
{
    char complaint[512], text[STACK_FOLD_TEXT_BYTES];

    stack_parse_complaint(buffer_string(&look->output), complaint, sizeof(complaint));
    if (process_stat_state(look->target) == 0 || process_stat_is_exiting(look->target))
        snprintf(text, sizeof(text), "it has ended meanwhile");
    else if (complaint[0] == '\0')
        snprintf(text, sizeof(text), "%s has printed nothing", tool->name);
    else
        snprintf(text, sizeof(text), "%s has printed no stack: %s", tool->name, complaint);
    look_say(look, true, text, out);
}

static void look_end(struct look *look, const struct tool *tool, struct buffer *out)
{
    char text[STACK_FOLD_TEXT_BYTES];
    int rc = stack_parse(buffer_string(&look->output), text, sizeof(text));

    assert(look->pid == 0 && look->fd < 0);
    let_go_on(look);
    if (rc > 0) {
        look_say(look, false, text, out);
    } else if (look->is_late) {
        snprintf(text, sizeof(text), "%s took too long and was killed", tool->name);
        look_say(look, true, text, out);
    } else if (rc == -EPERM) {
        say_refused(look, out);
    } else {
        say_nothing(look, tool, out);
    }
    buffer_fini(&look->output);
}

/* Its output, and whether it has ended: 1. */
static int look_go_on(struct look *look, int is_readable)
{
    ssize_t got = 0;
    pid_t ended;

    if (look->fd >= 0 && is_readable) {
        got = read(look->fd, buffer_reserve(&look->output, PIECE_BYTES), PIECE_BYTES);
        if (got > 0)
            buffer_commit(&look->output, (size_t)got);
    }
    if (look->due_ns <= now_ns() || look->output.length_bytes > OUTPUT_BYTES_MAX) {
        look->is_late = 1;
        (void)kill(-look->pid, SIGKILL);
        (void)kill(look->pid, SIGKILL);
    }
    if (look->fd >= 0 && ((is_readable && got <= 0) || look->is_late)) {
        close(look->fd);
        look->fd = -1;
    }
    if (look->fd >= 0)
        return 0;
    ended = waitpid(look->pid, NULL, WNOHANG);
    if (ended == 0 && !(look->is_late && now_ns() > look->due_ns + KILL_MS * NS_PER_MS))
        return 0; /* one that is killed may wait for a file system, and is left to the helper then */
    look->pid = 0;
    return 1;
}

/* ---- all ---- */

static int wait_ms(const struct look *looks, uint32_t count)
{
    uint64_t next_ns = UINT64_MAX, now = now_ns();

    for (uint32_t i = 0; i < count; i++) {
        if (looks[i].fd < 0)
            return REAP_MS;
        if (looks[i].due_ns < next_ns)
            next_ns = looks[i].due_ns;
    }
    return next_ns <= now ? 0 : (int)((next_ns - now) / NS_PER_MS) + 1;
}

/* Those under way; removes those that have ended.  Returns how many are left. */
static uint32_t wait_for_looks(struct look *looks, uint32_t count, const struct tool *tool,
                               struct buffer *out)
{
    struct pollfd polled[AT_ONCE];
    uint32_t left = 0;

    assert(count > 0 && count <= AT_ONCE);
    for (uint32_t i = 0; i < count; i++)
        polled[i] = (struct pollfd){.fd = looks[i].fd, .events = POLLIN};
    (void)poll(polled, count, wait_ms(looks, count));
    for (uint32_t i = 0; i < count; i++) {
        if (look_go_on(&looks[i], polled[i].revents != 0))
            look_end(&looks[i], tool, out);
        else
            looks[left++] = looks[i];
    }
    return left;
}

static int parse_word(const char *word, struct look *ret_look)
{
    unsigned int index;
    int pid;

    if (sscanf(word, "%u:%d", &index, &pid) != 2 || pid <= 0)
        return -EINVAL;
    *ret_look = (struct look){.index = index, .target = pid, .fd = -1};
    return 0;
}

void stack_read(char *const *words, uint32_t limit_ms, struct buffer *out)
{
    uint64_t limit_ns = now_ns() + limit_ms * NS_PER_MS;
    struct look looks[AT_ONCE];
    uint32_t count = 0;
    struct tool tool;

    tool_find(&tool);
    while (*words != NULL || count > 0) {
        struct look *look = &looks[count];

        if (*words == NULL || count == AT_ONCE) {
            count = wait_for_looks(looks, count, &tool, out);
            continue;
        }
        if (parse_word(*words++, look) < 0)
            continue;
        if (tool.name == NULL)
            look_say(look, true,
                     "neither gdb nor eu-stack is in PATH there; install gdb or elfutils", out);
        else if (limit_ns <= now_ns())
            look_say(look, true, "there was no time left for it", out);
        else if (look_begin(look, &tool, limit_ns) < 0)
            look_say(look, true, "no descriptors or processes are left for gdb", out);
        else
            count++;
    }
}

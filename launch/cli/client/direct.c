/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/direct.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "alloc/cell.h"
#include "alloc/placement_map.h"
#include "base/memory.h"
#include "base/time.h"
#include "launch/cli/client/caller_signal.h"
#include "launch/cli/client/direct_script.h"
#include "launch/cli/client/direct_srun.h"
#include "launch/cli/client/output_files.h"
#include "launch/cli/client/output_writer.h"
#include "launch/exec/descriptor.h"
#include "launch/proto/exit_status.h"
#include "launch/start/starter_agent.h"

#define AGENTS_STARTING_MAX 16u
#define READ_BYTES          65536u
#define QUEUE_BYTES_MAX     (4u * 1024 * 1024)
#define EARLY_BYTES_MAX     4096u /* of what comes before the mark */
#define DRAIN_MS            1000u /* for output of what a process has left */
#define DRAIN_READS_MAX     64u   /* of what is in a pipe */
#define PIPE_TOO_SMALL                                                 \
    "its environment does not fit into a pipe: export less of it, or " \
    "raise /proc/sys/fs/pipe-max-size or pipe-user-pages-soft"
#define LEAVE_MS     2000u /* for an agent to hand on what kills its process */
#define CUT_SHORT_MS 5000u

static const int end_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
#define END_SIGNALS (sizeof(end_signals) / sizeof(end_signals[0]))

struct direct_stream {
    struct direct_child *child;
    struct loop_watch *watch; /* NULL: it has ended */
    int fd;
    uint8_t number; /* 1 or 2 */
    bool is_inside; /* a line */
};

struct direct_child {
    struct direct *direct;
    uint32_t rank;
    uint32_t node;
    pid_t pid; /* 0: not started, or it has ended */
    int input; /* -1: closed */
    bool has_started;
    struct buffer early[2]; /* of each stream, before the mark */
    struct direct_stream streams[2];
};

struct direct_signal {
    struct direct *direct;
    struct loop_signal *signal;
    int number;
};

/* The stages of the end. */
enum direct_end {
    DIRECT_RUNS,
    DIRECT_ASKED,    /* SIGTERM */
    DIRECT_KILLED,   /* SIGKILL */
    DIRECT_LEFT,     /* the agents are left: the scripts end their processes themselves */
    DIRECT_CUT_SHORT /* the agents are killed */
};

struct direct {
    const struct run_request *request;
    struct placement_map map;
    struct loop *loop;
    struct output_writer *writer;
    struct output_route route;
    struct direct_child *children; /* one for each rank */
    uint32_t next;                 /* to start */
    uint32_t starting;
    uint32_t living;
    uint32_t open_streams;
    uint32_t status;
    enum direct_end end;
    bool is_paused;
    bool is_by_user; /* that it ends */
    bool has_moved;  /* output, since on_drain */
    struct loop_timer *timeout;
    struct loop_timer *patience;
    struct loop_timer *drain;
    struct loop_signal *child_signal;
    struct direct_signal signals[END_SIGNALS];
};

static void start_more(struct direct *direct);

static void direct_check(const struct direct *direct)
{
    assert(direct->next <= direct->map.processes);
    assert(direct->starting <= direct->living && direct->living <= direct->next);
    assert(direct->starting <= AGENTS_STARTING_MAX);
    assert(direct->open_streams <= 2 * direct->next);
    assert(!direct->is_paused || direct->writer != NULL);
}

static const char *node_of(const struct direct_child *child, char name[HOST_NAME_BYTES_MAX + 1])
{
    hostlist_name(child->direct->request->allocation.names, child->node, name);
    return name;
}

/* ---- the end ---- */

static void close_input(struct direct_child *child)
{
    if (child->input >= 0)
        close(child->input);
    child->input = -1;
}

/* The script sends the signal on.  If it cannot be written to, the end of its input ends the process. */
static void send_signal(struct direct_child *child, const char *line)
{
    if (child->input >= 0 && write(child->input, line, strlen(line)) != (ssize_t)strlen(line))
        close_input(child);
}

/* A script ignores SIGTERM, so that only an agent that has not reached its node, or a real ssh, ends by it. */
static void leave_agent(struct direct_child *child)
{
    close_input(child);
    (void)kill(-child->pid, SIGTERM);
}

static void end_child(struct direct_child *child, enum direct_end end)
{
    switch (end) {
    case DIRECT_ASKED:
        if (child->has_started)
            send_signal(child, "TERM\n");
        else
            leave_agent(child);
        break;
    case DIRECT_KILLED:
        send_signal(child, "KILL\n");
        break;
    case DIRECT_LEFT:
        leave_agent(child);
        break;
    default:
        (void)kill(-child->pid, SIGKILL);
    }
}

/* One step further; the next one comes by itself.  The last one only after the scripts have had time to kill their
 * processes, which nobody else would: these are in sessions of theirs. */
static void end_further(void *context)
{
    struct direct *direct = context;
    const uint64_t grace_ms = direct->request->instance.kill_grace_ms;
    const uint64_t wait_ms[] = {[DIRECT_ASKED] = grace_ms,
                                [DIRECT_KILLED] = LEAVE_MS,
                                [DIRECT_LEFT] = grace_ms + grace_ms / 4 + CUT_SHORT_MS,
                                [DIRECT_CUT_SHORT] = CUT_SHORT_MS};

    if (direct->end < DIRECT_CUT_SHORT)
        direct->end++;
    for (uint32_t i = 0; i < direct->next; i++)
        if (direct->children[i].pid > 0)
            end_child(&direct->children[i], direct->end);
    loop_timer_set(direct->patience, loop_now_ns() + wait_ms[direct->end] * NS_PER_MS);
}

static void end_all(struct direct *direct)
{
    if (direct->end == DIRECT_RUNS)
        end_further(direct);
}

/* The first reason counts and is said. */
static void fail(struct direct *direct, uint32_t status, const char *text)
{
    if (direct->end == DIRECT_RUNS) {
        direct->status = status;
        output_writer_release(direct->writer);
        output_writer_message(direct->writer, text);
    }
    end_all(direct);
}

static void check_end(struct direct *direct)
{
    direct_check(direct);
    if (direct->living > 0 || (direct->end == DIRECT_RUNS && direct->next < direct->map.processes))
        return;
    if (direct->open_streams == 0 && output_writer_queued(direct->writer) == 0)
        loop_stop(direct->loop);
}

static void stream_close(struct direct_stream *stream)
{
    if (stream->watch == NULL)
        return;
    loop_watch_destroy(stream->watch);
    close(stream->fd);
    stream->watch = NULL;
    assert(stream->child->direct->open_streams > 0);
    stream->child->direct->open_streams--;
}

/* ---- output ---- */

static void put_output(struct direct_stream *stream, const void *data, size_t bytes)
{
    struct direct *direct = stream->child->direct;
    struct timespec now;
    struct output_piece piece = {.number = 1,
                                 .rank = stream->child->rank,
                                 .place = stream->child->node + 1,
                                 .stream = stream->number,
                                 .data = data,
                                 .data_bytes = bytes};

    clock_gettime(CLOCK_REALTIME, &now);
    piece.time_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
    if (bytes > 0)
        stream->is_inside = ((const char *)data)[bytes - 1] != '\n';
    output_writer_put(direct->writer, &piece);
}

/* Output may come of what the last process has left, but not for long. */
static void await_drain(struct direct *direct)
{
    direct->has_moved = false;
    if (direct->living == 0)
        loop_timer_set(direct->drain, loop_now_ns() + DRAIN_MS * NS_PER_MS);
}

static void set_reading(struct direct *direct, bool reads)
{
    direct->is_paused = !reads;
    for (uint32_t i = 0; i < direct->next; i++)
        for (int s = 0; s < 2; s++)
            if (direct->children[i].streams[s].watch != NULL)
                loop_watch_set(direct->children[i].streams[s].watch, reads ? LOOP_READ : 0);
}

/* Its children have no credit: they are read as long as there is room. */
static void on_written(void *context, const struct unwritten_part *part)
{
    (void)context;
    (void)part;
}

static void on_moved(void *context)
{
    struct direct *direct = context;

    direct->has_moved = true;
    if (direct->is_paused && output_writer_queued(direct->writer) < QUEUE_BYTES_MAX / 2) {
        set_reading(direct, true);
        await_drain(direct);
    }
    check_end(direct);
}

static void on_write_failed(void *context, const struct error *error)
{
    struct direct *direct = context;

    if (error->code == -EPIPE)
        direct->status = direct->end != DIRECT_RUNS ? direct->status : EXIT_STATUS_SIGNAL + SIGPIPE;
    else
        fail(direct, EXIT_STATUS_FAILED, error->text);
    end_all(direct);
    check_end(direct);
}

/* What was printed before the mark goes to nobody, but errors are put out after it. */
static void has_begun(struct direct_child *child)
{
    struct direct *direct = child->direct;

    assert(!child->has_started && direct->starting > 0);
    child->has_started = true;
    direct->starting--;
    if (child->early[1].length_bytes > 0)
        put_output(&child->streams[1], child->early[1].data, child->early[1].length_bytes);
    buffer_clear(&child->early[1]);
    start_more(direct);
}

static void take_early(struct direct_stream *stream, const char *data, size_t bytes)
{
    static const char mark[] = DIRECT_SCRIPT_MARK "\n";
    struct direct_child *child = stream->child;
    struct buffer *early = &child->early[stream->number - 1];
    const char *found;

    buffer_append(early, data, bytes);
    found = stream->number == 1 ? memmem(early->data, early->length_bytes, mark, sizeof(mark) - 1)
                                : NULL;
    if (found != NULL) {
        size_t after = (size_t)(found - (const char *)early->data) + sizeof(mark) - 1;

        has_begun(child);
        if (early->length_bytes > after)
            put_output(stream, early->data + after, early->length_bytes - after);
        buffer_clear(early);
    } else if (early->length_bytes > EARLY_BYTES_MAX) {
        struct buffer tail = {0};

        buffer_append(&tail, early->data + early->length_bytes - EARLY_BYTES_MAX / 2,
                      EARLY_BYTES_MAX / 2);
        buffer_fini(early);
        *early = tail;
    }
}

/* Returns false if there is no more now, or at all. */
static bool stream_read(struct direct_stream *stream)
{
    struct direct *direct = stream->child->direct;
    static char data[READ_BYTES];
    ssize_t bytes = read(stream->fd, data, sizeof(data));

    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return errno == EINTR;
    if (bytes <= 0) {
        if (stream->is_inside)
            put_output(stream, NULL, 0);
        stream_close(stream);
        return false;
    }
    if (stream->child->has_started)
        put_output(stream, data, (size_t)bytes);
    else
        take_early(stream, data, (size_t)bytes);
    if (!direct->is_paused && output_writer_queued(direct->writer) > QUEUE_BYTES_MAX)
        set_reading(direct, false);
    return true;
}

static void on_output(void *context, int fd, unsigned int ready)
{
    struct direct_stream *stream = context;

    (void)ready;
    assert(fd == stream->fd);
    (void)stream_read(stream);
    check_end(stream->child->direct);
}

/* All that is in the pipe, unless somebody keeps filling it. */
static void stream_drain(struct direct_stream *stream)
{
    for (uint32_t i = 0; i < DRAIN_READS_MAX && stream->watch != NULL; i++)
        if (!stream_read(stream))
            return;
}

/* No process lives: all is read, at the reader's pace, and then the pipes are left to the processes that still hold them.  A user
 * who ends the run does not wait for a reader that does not read. */
static void on_drain(void *context)
{
    struct direct *direct = context;
    bool is_stuck = direct->is_by_user && !direct->has_moved &&
                    (direct->is_paused || direct->open_streams == 0);

    if (is_stuck && output_writer_queued(direct->writer) > 0)
        output_writer_discard(direct->writer);
    for (uint32_t i = 0; i < 2 * direct->next && !direct->is_paused; i++)
        stream_drain(&direct->children[i / 2].streams[i % 2]);
    for (uint32_t i = 0; i < 2 * direct->next && !direct->is_paused; i++)
        stream_close(&direct->children[i / 2].streams[i % 2]);
    if (!direct->is_paused)
        output_writer_release(direct->writer);
    await_drain(direct);
    check_end(direct);
}

/* ---- processes ---- */

/* The last line of what an agent has said before it ended. */
static void last_words(const struct direct_child *child, struct buffer *out)
{
    const struct buffer *early = &child->early[child->early[1].length_bytes > 0];
    size_t end = early->length_bytes, begin;

    while (end > 0 && strchr("\r\n", early->data[end - 1]) != NULL)
        end--;
    for (begin = end; begin > 0 && early->data[begin - 1] != '\n'; begin--)
        continue;
    if (end > begin)
        buffer_printf(out, ": %.*s", (int)(end - begin < 300 ? end - begin : 300),
                      (const char *)early->data + begin);
}

static uint32_t status_of(int wait_status)
{
    return (uint32_t)(WIFSIGNALED(wait_status) ? EXIT_STATUS_SIGNAL + WTERMSIG(wait_status)
                                               : WEXITSTATUS(wait_status));
}

/* The agent has said nothing of its process: that does not run. */
static void has_not_begun(struct direct_child *child, int wait_status)
{
    struct direct *direct = child->direct;
    char name[HOST_NAME_BYTES_MAX + 1];
    struct buffer text = {0};

    direct->starting--;
    buffer_printf(&text, "cannot start rank %u on %s: %s exited %u", child->rank,
                  node_of(child, name),
                  direct->request->instance.starter == STARTER_SSH ? direct->request->instance.agent
                                                                   : "/bin/sh",
                  status_of(wait_status));
    last_words(child, &text);
    fail(direct,
         status_of(wait_status) == EXIT_STATUS_NOT_EXECUTABLE ? EXIT_STATUS_NOT_EXECUTABLE
                                                              : EXIT_STATUS_FAILED,
         buffer_string(&text));
    buffer_fini(&text);
}

static void has_ended(struct direct_child *child, int wait_status)
{
    struct direct *direct = child->direct;
    uint32_t status = status_of(wait_status);
    char name[HOST_NAME_BYTES_MAX + 1], text[HOST_NAME_BYTES_MAX + 96];

    if (status == 0 || direct->end != DIRECT_RUNS)
        return;
    snprintf(text, sizeof(text), "rank %u on %s exited with status %u", child->rank,
             node_of(child, name), status);
    if (direct->request->job.on_failure == JOB_ON_FAILURE_ABORT) {
        fail(direct, status, text);
        return;
    }
    direct->status = status > direct->status ? status : direct->status;
    output_writer_message(direct->writer, text);
}

/* What is left in its pipe is read: it may have begun and ended at once. */
static void child_ended(struct direct_child *child, int wait_status)
{
    struct direct *direct = child->direct;

    close_input(child);
    for (int s = 1; s >= 0 && !child->has_started; s--)
        stream_drain(&child->streams[s]);
    child->pid = 0;
    direct->living--;
    if (!child->has_started)
        has_not_begun(child, wait_status);
    else
        has_ended(child, wait_status);
    start_more(direct);
    await_drain(direct);
    check_end(direct);
}

static void on_child(void *context)
{
    struct direct *direct = context;
    int status;

    for (uint32_t i = 0; i < direct->next; i++) {
        struct direct_child *child = &direct->children[i];

        if (child->pid > 0 && waitpid(child->pid, &status, WNOHANG) == child->pid)
            child_ended(child, status);
    }
}

/* "ssh -oBatchMode=yes n1 /bin/sh -s", or a shell here; the caller's, as its words. */
static char **make_words(const struct direct_child *child)
{
    const struct instance_spec *instance = &child->direct->request->instance;
    const struct starter_agent *agent;
    char name[HOST_NAME_BYTES_MAX + 1], address[HOST_NAME_BYTES_MAX + 1], *copy, *rest, *word;
    char **words = memory_allocate_zeroed(32 * sizeof(*words));
    size_t count = 0;

    if (instance->starter == STARTER_SSH) {
        agent = starter_agent_find(instance->agent);
        copy = rest = memory_copy_string(instance->agent);
        while ((word = strsep(&rest, " \t")) != NULL && count < 20)
            if (word[0] != '\0')
                words[count++] = memory_copy_string(word);
        free(copy);
        for (size_t i = 0; agent->options != NULL && agent->options[i] != NULL; i++)
            words[count++] = memory_copy_string(agent->options[i]);
        cell_address(instance->addresses, node_of(child, name), address);
        words[count++] = memory_copy_string(address);
        for (size_t i = 0; agent->shell != NULL && agent->shell[i] != NULL; i++)
            words[count++] = memory_copy_string(agent->shell[i]);
        words[count++] = memory_copy_string("/bin/sh -s");
        return words;
    }
    words[count++] = memory_copy_string("/bin/sh");
    words[count++] = memory_copy_string("-s");
    return words;
}

static void free_words(char **words)
{
    for (size_t i = 0; words[i] != NULL; i++)
        free(words[i]);
    free(words);
}

static void become_agent(char **words, int fds[3][2], pid_t parent)
{
    sigset_t none;

    for (size_t i = 0; i < END_SIGNALS; i++)
        (void)signal(end_signals[i], SIG_DFL);
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    if (getppid() != parent)
        _exit(EXIT_STATUS_FAILED);
    (void)dup2(fds[0][0], STDIN_FILENO);
    (void)dup2(fds[1][1], STDOUT_FILENO);
    (void)dup2(fds[2][1], STDERR_FILENO);
    sigemptyset(&none);
    (void)signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvp(words[0], words);
    dprintf(STDERR_FILENO, "%s\n", strerror(errno));
    _exit(EXIT_STATUS_FAILED);
}

/* The script is in the pipe before anybody reads it. */
static int put_script(const struct direct_child *child, int fd)
{
    const struct direct *direct = child->direct;
    const struct app_spec *app =
        &direct->request->job.apps[placement_map_app(&direct->map, child->rank)];
    char name[HOST_NAME_BYTES_MAX + 1];
    struct direct_process process = {.rank = child->rank,
                                     .size = direct->map.processes,
                                     .local_size = placement_map_count(&direct->map, child->node),
                                     .node = node_of(child, name)};
    struct buffer script = {0};
    uint32_t node;
    int rc = 0;

    placement_map_find(&direct->map, child->rank, &node, &process.local_rank);
    direct_script_put(app, &process, (direct->request->instance.kill_grace_ms + 999) / 1000,
                      &script);
    /* Where the user has many pipes already, a new one is small. */
    if ((int)script.length_bytes > fcntl(fd, F_GETPIPE_SZ) &&
        fcntl(fd, F_SETPIPE_SZ, (int)script.length_bytes) < 0)
        rc = -E2BIG;
    else if (write(fd, script.data, script.length_bytes) != (ssize_t)script.length_bytes)
        rc = -EIO;
    buffer_fini(&script);
    return rc;
}

static void close_pipes(int fds[3][2])
{
    for (int i = 0; i < 3; i++)
        for (int end = 0; end < 2; end++)
            if (fds[i][end] >= 0)
                close(fds[i][end]);
}

static void watch_streams(struct direct_child *child, int fds[3][2])
{
    struct direct *direct = child->direct;

    child->input = fds[0][1];
    for (int s = 0; s < 2; s++) {
        struct direct_stream *stream = &child->streams[s];

        *stream =
            (struct direct_stream){.child = child, .fd = fds[s + 1][0], .number = (uint8_t)(s + 1)};
        stream->watch = loop_watch_create(direct->loop, stream->fd,
                                          direct->is_paused ? 0 : LOOP_READ, on_output, stream);
        direct->open_streams++;
    }
}

static int start_child(struct direct_child *child)
{
    int fds[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    pid_t parent = getpid();
    char **words;
    int rc = 0;

    for (int i = 0; i < 3 && rc == 0; i++)
        rc = pipe2(fds[i], O_CLOEXEC) < 0 ? -errno : 0;
    if (rc == 0)
        rc = put_script(child, fds[0][1]);
    for (int i = 0; i < 3 && rc == 0; i++)
        rc = fcntl(fds[i][i == 0], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0; /* our ends */
    if (rc < 0) {
        close_pipes(fds);
        return rc;
    }
    words = make_words(child);
    child->pid = fork();
    if (child->pid == 0)
        become_agent(words, fds, parent);
    rc = child->pid < 0 ? -errno : 0;
    free_words(words);
    if (rc < 0) {
        child->pid = 0;
        close_pipes(fds);
        return rc;
    }
    (void)setpgid(child->pid, child->pid);
    close(fds[0][0]);
    close(fds[1][1]);
    close(fds[2][1]);
    watch_streams(child, fds);
    return 0;
}

static void start_more(struct direct *direct)
{
    while (direct->end == DIRECT_RUNS && direct->next < direct->map.processes &&
           direct->starting < AGENTS_STARTING_MAX) {
        struct direct_child *child = &direct->children[direct->next];
        char name[HOST_NAME_BYTES_MAX + 1], text[HOST_NAME_BYTES_MAX + 256];
        int rc = start_child(child);

        direct->next++;
        if (rc < 0) {
            snprintf(text, sizeof(text), "cannot start rank %u on %s: %s", child->rank,
                     node_of(child, name), rc == -E2BIG ? PIPE_TOO_SMALL : strerror(-rc));
            fail(direct, EXIT_STATUS_FAILED, text);
            return;
        }
        direct->starting++;
        direct->living++;
    }
}

/* ---- the user ---- */

/* The second one, or SIGQUIT, does not wait, and a third one leaves the agents; SIGHUP is sent by both the kernel and the
 * shell, so it never counts twice. */
static void on_signal(void *context)
{
    const struct direct_signal *signal = context;
    struct direct *direct = signal->direct;
    bool at_once =
        signal->number == SIGQUIT || (direct->end != DIRECT_RUNS && signal->number != SIGHUP);

    if (direct->end == DIRECT_RUNS)
        direct->status = EXIT_STATUS_SIGNAL + (uint32_t)signal->number;
    direct->is_by_user = true;
    end_all(direct);
    if (at_once && direct->end < DIRECT_LEFT)
        end_further(direct);
    if (at_once)
        output_writer_discard(direct->writer);
    check_end(direct);
}

static void on_timeout(void *context)
{
    struct direct *direct = context;
    char text[64];

    if (direct->living == 0 && direct->next == direct->map.processes)
        return; /* all have ended, and their output is being read */
    snprintf(text, sizeof(text), "timed out after %u s", direct->request->timeout_s);
    fail(direct, EXIT_STATUS_TIMED_OUT, text);
    check_end(direct);
}

static void direct_open(struct direct *direct, uint64_t start_ns)
{
    static const struct output_writer_events events = {
        .written = on_written, .moved = on_moved, .failed = on_write_failed};
    const struct run_request *request = direct->request;
    const struct output_label_style style = {.ranks = request->label,
                                             .times = output_label_times_of(request->timestamp)};

    direct->writer =
        output_writer_create(direct->loop, STDOUT_FILENO, STDERR_FILENO, &style, &events, direct);
    direct->route =
        (struct output_route){.output = &request->output, .nodes = &request->allocation};
    output_writer_route(direct->writer, &direct->route);
    direct->timeout = loop_timer_create(direct->loop, on_timeout, direct);
    direct->patience = loop_timer_create(direct->loop, end_further, direct);
    direct->drain = loop_timer_create(direct->loop, on_drain, direct);
    direct->child_signal = loop_signal_create(direct->loop, SIGCHLD, on_child, direct);
    for (size_t i = 0; i < END_SIGNALS; i++) {
        direct->signals[i] = (struct direct_signal){.direct = direct, .number = end_signals[i]};
        if (!caller_signal_is_ignored(end_signals[i]))
            direct->signals[i].signal =
                loop_signal_create(direct->loop, end_signals[i], on_signal, &direct->signals[i]);
    }
    if (request->timeout_s > 0)
        loop_timer_set(direct->timeout, start_ns + request->timeout_s * (uint64_t)NS_PER_S);
    direct->children =
        memory_allocate_zeroed((direct->map.processes + 1) * sizeof(*direct->children));
    for (uint32_t rank = 0; rank < direct->map.processes; rank++) {
        uint32_t local;

        direct->children[rank] = (struct direct_child){.direct = direct, .rank = rank, .input = -1};
        placement_map_find(&direct->map, rank, &direct->children[rank].node, &local);
    }
}

static void direct_close(struct direct *direct)
{
    struct error error = ERROR_NONE;

    if (output_writer_close_files(direct->writer, &error) < 0) {
        fprintf(stderr, "banyan: %s\n", error.text);
        direct->status = direct->status > 0 ? direct->status : EXIT_STATUS_FAILED;
    }
    for (uint32_t i = 0; i < direct->map.processes; i++)
        for (int s = 0; s < 2; s++)
            buffer_fini(&direct->children[i].early[s]);
    free(direct->children);
    for (size_t i = 0; i < END_SIGNALS; i++)
        loop_signal_destroy(direct->signals[i].signal);
    loop_signal_destroy(direct->child_signal);
    loop_timer_destroy(direct->timeout);
    loop_timer_destroy(direct->patience);
    loop_timer_destroy(direct->drain);
    output_writer_destroy(direct->writer);
}

static int run_agents(struct direct *direct, uint64_t start_ns, struct error *error)
{
    const struct request_output *output = &direct->request->output;
    int rc = descriptor_require(error);

    for (size_t i = 0; rc == 0 && i < 2; i++)
        if (output->patterns[i] != NULL)
            rc = output_files_prepare(output->patterns[i], error);
    if (rc < 0)
        return rc;
    (void)signal(SIGPIPE, SIG_IGN);
    direct->loop = loop_create(error);
    if (direct->loop == NULL)
        return error->code;
    direct_open(direct, start_ns);
    start_more(direct);
    check_end(direct);
    loop_run(direct->loop);
    direct_close(direct);
    loop_destroy(direct->loop);
    return 0;
}

int direct_run(const struct run_request *request, uint64_t start_ns)
{
    struct direct direct = {.request = request};
    struct error error = ERROR_NONE;
    int rc = placement_map_make(&direct.map, &request->job.placement, &request->allocation, &error);

    assert(request->instance_fd < 0 && !request->detach);
    if (rc == 0) {
        rc = request->instance.starter == STARTER_SRUN
                 ? direct_srun_become(request, &direct.map, &error)
                 : run_agents(&direct, start_ns, &error);
        placement_map_fini(&direct.map);
    }
    if (rc == 0)
        return (int)direct.status;
    fprintf(stderr, "banyan: %s\n", error.text);
    return EXIT_STATUS_FAILED;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/task_worker.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "launch/exec/task_spawn.h"
#include "launch/exec/task_spool.h"
#include "launch/proto/exit_status.h"
#include "launch/proto/task_frame.h"

#define READ_BYTES  (64u * 1024)
#define BATCH_BYTES (16u * 1024) /* of reports; more are sent at once */
#define BATCH_MS    50           /* how long a report may wait while there is another task to run */

/* What the worker is; static: it is its whole process. */
struct worker_state {
    struct buffer input;   /* frames */
    size_t input_at;       /* of which these bytes are done with */
    struct buffer reports; /* frames to be sent */
    uint64_t report_ns;    /* when the first of them was made */
    int input_ended;
    int ending;
    int has_failed; /* nobody reads the reports, or an order could not be read */
    int signal_fd;
    int null_fd;
    char **environment; /* ours, and room for a task's */
    uint32_t environment_count;
    uint32_t environment_room;
    pid_t pid; /* of the running task, or 0 */
    uint32_t task;
    int output_fds[2];             /* our ends of its pipes; -1: closed */
    struct task_spool *outputs[2]; /* NULL: it has written nothing there */
    uint64_t started_ns;
    uint64_t started_us;
};

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* ---- reports ---- */

static void flush_reports(struct worker_state *worker)
{
    size_t done = 0;

    while (done < worker->reports.length_bytes && !worker->has_failed) {
        ssize_t wrote =
            write(STDOUT_FILENO, worker->reports.data + done, worker->reports.length_bytes - done);

        if (wrote >= 0)
            done += (size_t)wrote;
        else if (errno != EINTR)
            worker->has_failed = 1;
    }
    buffer_clear(&worker->reports);
}

static void reported(struct worker_state *worker)
{
    if (worker->report_ns == 0)
        worker->report_ns = clock_ns(CLOCK_MONOTONIC);
    if (worker->reports.length_bytes < BATCH_BYTES)
        return;
    flush_reports(worker);
    worker->report_ns = 0;
}

static void send_output(struct worker_state *worker, uint8_t stream, struct task_spool *spool,
                        uint64_t *bytes)
{
    static unsigned char piece[TASK_OUTPUT_BYTES];
    struct task_output output = {.task = worker->task, .stream = stream, .data = {.data = piece}};
    uint8_t only;

    while (spool != NULL &&
           (output.data.length_bytes = task_spool_take(spool, piece, sizeof(piece), &only)) > 0) {
        *bytes += output.data.length_bytes;
        task_frame_put_output(&output, &worker->reports);
        reported(worker);
    }
}

static void close_output(struct worker_state *worker, int i)
{
    if (worker->output_fds[i] >= 0)
        close(worker->output_fds[i]);
    worker->output_fds[i] = -1;
}

/* As much as it has written by now. */
static void read_output(struct worker_state *worker, int i)
{
    static unsigned char piece[READ_BYTES];
    ssize_t got;

    while (worker->output_fds[i] >= 0) {
        got = read(worker->output_fds[i], piece, sizeof(piece));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return;
        if (got > 0 && worker->outputs[i] == NULL)
            worker->outputs[i] = task_spool_create(worker->task);
        if (got <= 0 || task_spool_add(worker->outputs[i], 1, piece, (size_t)got) < 0)
            close_output(worker, i);
    }
}

static void task_ended(struct worker_state *worker, int wait_status)
{
    struct task_ended ended = {.task = worker->task,
                               .wait_status = wait_status,
                               .started_us = worker->started_us,
                               .run_us =
                                   (clock_ns(CLOCK_MONOTONIC) - worker->started_ns) / NS_PER_US};

    for (int i = 0; i < 2; i++) {
        read_output(worker, i); /* what its descendants still write is not waited for */
        close_output(worker, i);
        send_output(worker, (uint8_t)(i + 1), worker->outputs[i], &ended.output_bytes);
        task_spool_destroy(worker->outputs[i]);
        worker->outputs[i] = NULL;
    }
    worker->pid = 0;
    task_frame_put_ended(&ended, &worker->reports);
    reported(worker);
}

/* ---- starting ---- */

/* Our end does not block, its own does. */
static int open_outputs(struct worker_state *worker, int fds[2])
{
    int rc = 0;

    fds[0] = fds[1] = -1;
    for (int i = 0; i < 2; i++) {
        int ends[2] = {-1, -1};

        if (pipe2(ends, O_CLOEXEC) < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0)
            rc = -errno;
        worker->output_fds[i] = ends[0];
        fds[i] = ends[1];
    }
    return rc;
}

/* Ours, then the number of the task, then its own: of equal names the last one counts, which exec does not
 * see to, so ours are replaced. */
static char **environment_of(struct worker_state *worker, char *number, char *const *set)
{
    uint32_t count = worker->environment_count;
    uint32_t more = 2;

    for (char *const *variable = set; *variable != NULL; variable++)
        more++;
    if (count + more > worker->environment_room) {
        worker->environment_room = 2 * (count + more);
        worker->environment =
            memory_resize(worker->environment, worker->environment_room * sizeof(char *));
    }
    worker->environment[count++] = number;
    for (; *set != NULL; set++) {
        size_t name_bytes = strcspn(*set, "=") + 1;
        uint32_t i = 0;

        while (i < count && strncmp(worker->environment[i], *set, name_bytes) != 0)
            i++;
        worker->environment[i] = *set;
        count += i == count;
    }
    worker->environment[count] = NULL;
    return worker->environment;
}

/* Why it has not run is its output, as a shell would say it. */
static void task_failed(struct worker_state *worker, const struct task_order *order, int code,
                        const char *step)
{
    const char *node = getenv("BANYAN_NODE");
    char text[1024];
    int status = code == -ENOENT ? EXIT_STATUS_NOT_FOUND : EXIT_STATUS_NOT_EXECUTABLE;

    if (strcmp(step, "run") != 0)
        status = EXIT_STATUS_FAILED;
    snprintf(text, sizeof(text), "banyan: cannot %s %.800s on %s: %s\n", step,
             strcmp(step, "enter") == 0 ? order->directory : order->argv[0],
             node != NULL ? node : "this node", strerror(-code));
    worker->outputs[1] = task_spool_create(order->task);
    (void)task_spool_add(worker->outputs[1], 1, text, strlen(text));
    task_ended(worker, W_EXITCODE(status, 0));
}

static void start_task(struct worker_state *worker, const struct task_order *order)
{
    char **own = memory_copy(worker->environment, (worker->environment_count + 1) * sizeof(*own));
    struct task_spawn spawn = {.argv = order->argv, .directory = order->directory};
    const char *step = "make pipes for";
    char number[32];
    int rc;

    assert(worker->pid == 0);
    snprintf(number, sizeof(number), "BANYAN_TASK=%u", order->task);
    worker->task = order->task;
    worker->started_us = clock_ns(CLOCK_REALTIME) / NS_PER_US;
    worker->started_ns = clock_ns(CLOCK_MONOTONIC);
    spawn.environment = environment_of(worker, number, order->set);
    spawn.fds[0] = worker->null_fd;
    rc = open_outputs(worker, &spawn.fds[1]);
    if (rc == 0)
        rc = task_spawn(&spawn, &step);
    for (int i = 1; i < 3; i++)
        if (spawn.fds[i] >= 0)
            close(spawn.fds[i]);
    if (rc > 0)
        worker->pid = rc;
    else
        task_failed(worker, order, rc, step);
    memcpy(worker->environment, own, (worker->environment_count + 1) * sizeof(*own));
    free(own);
}

/* ---- orders ---- */

/* 1 if there is one; a broken stream ends the worker. */
static int next_frame(struct worker_state *worker, size_t at, struct task_frame *frame,
                      size_t *ret_bytes)
{
    long bytes = 0;

    assert(at <= worker->input.length_bytes);
    if (at < worker->input.length_bytes)
        bytes = task_frame_next(worker->input.data + at, worker->input.length_bytes - at, frame);
    if (bytes < 0)
        worker->has_failed = 1;
    *ret_bytes = bytes > 0 ? (size_t)bytes : 0;
    return bytes > 0;
}

/* All orders that have not begun go back. */
static void give_back(struct worker_state *worker)
{
    struct buffer tasks = {0};
    struct task_frame frame;
    struct task_order order;
    size_t bytes;

    while (next_frame(worker, worker->input_at, &frame, &bytes)) {
        worker->input_at += bytes;
        if (frame.kind != TASK_FRAME_RUN || task_frame_get_order(&frame, &order) < 0)
            continue;
        buffer_append(&tasks, &order.task, sizeof(order.task));
        free(order.block);
    }
    task_frame_put_returned((const uint32_t *)(const void *)tasks.data,
                            (uint32_t)(tasks.length_bytes / sizeof(uint32_t)), &worker->reports);
    buffer_fini(&tasks);
    flush_reports(worker);
    worker->report_ns = 0;
}

/* A recall is obeyed when it comes, not in its turn. */
static void look_for_recall(struct worker_state *worker, size_t from)
{
    struct task_frame frame;
    size_t bytes;

    for (size_t at = from; next_frame(worker, at, &frame, &bytes); at += bytes)
        if (frame.kind == TASK_FRAME_RECALL) {
            give_back(worker);
            return;
        }
}

static void start_next(struct worker_state *worker)
{
    struct task_frame frame;
    struct task_order order;
    size_t bytes;

    while (worker->pid == 0 && !worker->ending && !worker->has_failed &&
           next_frame(worker, worker->input_at, &frame, &bytes)) {
        worker->input_at += bytes;
        if (frame.kind != TASK_FRAME_RUN || task_frame_get_order(&frame, &order) < 0) {
            worker->has_failed = 1;
            return;
        }
        start_task(worker, &order);
        free(order.block);
    }
}

static int has_orders(struct worker_state *worker)
{
    struct task_frame frame;
    size_t bytes;

    return next_frame(worker, worker->input_at, &frame, &bytes);
}

static void read_input(struct worker_state *worker)
{
    size_t before;
    ssize_t got;

    buffer_consume(&worker->input, worker->input_at);
    worker->input_at = 0;
    before = worker->input.length_bytes;
    got = read(STDIN_FILENO, buffer_reserve(&worker->input, READ_BYTES), READ_BYTES);
    if (got > 0)
        buffer_commit(&worker->input, (size_t)got);
    else if (got == 0 || errno != EINTR)
        worker->input_ended = 1;
    look_for_recall(worker, before > 0 ? 0 : before);
}

/* ---- events ---- */

static void reap(struct worker_state *worker)
{
    int wait_status;
    pid_t pid;

    while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0)
        if (pid == worker->pid)
            task_ended(worker, wait_status);
}

static void read_signals(struct worker_state *worker)
{
    struct signalfd_siginfo signals[4];
    ssize_t got = read(worker->signal_fd, signals, sizeof(signals));

    for (ssize_t i = 0; i < got / (ssize_t)sizeof(signals[0]); i++)
        worker->ending |= signals[i].ssi_signo == SIGTERM;
    reap(worker);
}

/* How long reports may still wait; -1: there are none. */
static int patience_ms(const struct worker_state *worker)
{
    uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    uint64_t due_ns = worker->report_ns + (uint64_t)BATCH_MS * NS_PER_MS;

    if (worker->report_ns == 0)
        return -1;
    return due_ns > now_ns ? (int)((due_ns - now_ns) / NS_PER_MS) + 1 : 0;
}

/* Reports wait as long as there is work after the present one: then others come to go with them. */
static void wait_for_event(struct worker_state *worker)
{
    struct pollfd polls[] = {{.fd = worker->signal_fd, .events = POLLIN},
                             {.fd = worker->input_ended ? -1 : STDIN_FILENO, .events = POLLIN},
                             {.fd = worker->output_fds[0], .events = POLLIN},
                             {.fd = worker->output_fds[1], .events = POLLIN}};

    if (worker->report_ns != 0 &&
        (worker->pid == 0 || patience_ms(worker) == 0 || !has_orders(worker))) {
        flush_reports(worker);
        worker->report_ns = 0;
    }
    if (poll(polls, 4, patience_ms(worker)) < 0)
        return;
    for (int i = 0; i < 2; i++)
        if (polls[i + 2].revents != 0)
            read_output(worker, i);
    if (polls[0].revents != 0)
        read_signals(worker);
    if (polls[1].revents != 0)
        read_input(worker);
}

static void say_hello(struct worker_state *worker)
{
    const char *place = getenv("BANYAN_PLACE");
    const char *node = getenv("BANYAN_NODE");
    struct task_hello hello = {.place = place != NULL ? (uint32_t)strtoul(place, NULL, 10) : 0};

    snprintf(hello.node, sizeof(hello.node), "%s", node != NULL ? node : "");
    task_frame_put_hello(&hello, &worker->reports);
    flush_reports(worker);
}

/* 0, or a negative errno. */
static int open_worker(struct worker_state *worker)
{
    sigset_t signals;

    worker->output_fds[0] = worker->output_fds[1] = -1;
    while (environ[worker->environment_count] != NULL)
        worker->environment_count++;
    worker->environment = memory_copy(environ, (worker->environment_count + 1) * sizeof(char *));
    worker->environment_room = worker->environment_count + 1;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGUSR1, SIG_IGN); /* for the task */
    signal(SIGUSR2, SIG_IGN);
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    worker->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    worker->null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return worker->signal_fd < 0 || worker->null_fd < 0 ? -errno : 0;
}

int task_worker_run(void)
{
    static struct worker_state worker;
    int rc = open_worker(&worker);

    if (rc < 0) {
        fprintf(stderr, "banyan: a worker cannot start: %s\n", strerror(-rc));
        return EXIT_STATUS_FAILED;
    }
    say_hello(&worker);
    for (;;) {
        start_next(&worker);
        if (worker.has_failed ||
            (worker.pid == 0 && (worker.ending || (worker.input_ended && !has_orders(&worker)))))
            break;
        wait_for_event(&worker);
    }
    flush_reports(&worker);
    return worker.has_failed ? EXIT_STATUS_FAILED : EXIT_SUCCESS;
}

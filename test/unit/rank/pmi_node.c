/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The node's PMIx server as a process, with a scripted host in the place of libpmix:
 * what becomes of jobs when it dies, hangs, speaks noise, cannot be forked, or has grown.
 */
#include "config.h"

#include "launch/rank/pmi_node.h"
#include "launch/exec/process_stat.h"
#include "test/support/host_double.h"
#include "test/support/tap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "pmix/pmi_server.h"

#define PATIENCE_NS 60000000000ull
#define CHECK_MS    20
#define LOOKS       8
#define CLOSE_US    100000

/* What the scripted host does, by the number of the job. */
enum {
    GOOD = 1,
    DIES_AT_OPEN,
    SPEAKS_NOISE,
    GROWS,
    DIES_IN_FENCE,
    GOOD_TOO,
    HANGS,
    SPINS,
    SLEEPS,
    CLOSES_LATE,
    SHARES
};

/* ---- The server process ---- */

static int server_fd;
static volatile int has_grown;
static int is_mute;
static char closed_path[128];

/* Keeps the server's socket open, also when the server has ended, until the node closes its end. */
static void share_socket(void)
{
    struct pollfd other_end = {.fd = server_fd};

    if (fork() != 0)
        return;
    (void)poll(&other_end, 1, -1);
    _exit(0);
}

static void host_open(struct host *host, const struct pmi_job *job)
{
    struct pmi_process all = {job->number, PMI_RANK_ALL};
    struct pmi_collective fence = {
        .id = 5, .members = &all, .members_count = 1, .data = "x", .data_bytes = 1};

    if (job->number == DIES_AT_OPEN)
        _exit(3);
    while (job->number == HANGS)
        pause();
    while (job->number == SPINS)
        has_grown = 0;
    if (job->number == SPEAKS_NOISE)
        (void)!write(server_fd, "noise noise noise", 17);
    if (job->number == GROWS)
        has_grown = 1;
    is_mute = job->number == SLEEPS;
    if (job->number == SHARES)
        share_socket();
    host_double_ops.opened(host_double_ops.context, job->number, 0, "", (int32_t)getpid());
    host_double_ops.collective(host_double_ops.context, &fence);
}

/* The client gets its own message back: the descriptor is the one that was given. */
static void host_admit(struct host *host, int fd, const struct pmi_process *process,
                       const void *message, size_t message_bytes)
{
    (void)!write(fd, message, message_bytes);
    close(fd);
    host_double_ops.connected(host_double_ops.context, process);
}

static void host_done(void *host, uint64_t id, int status, const void *data, size_t data_bytes)
{
    if (data_bytes == 3 && memcmp(data, "die", 3) == 0)
        _exit(4);
    host_double_ops.text(host_double_ops.context, &(struct pmi_process){GOOD, 0}, data, data_bytes);
}

/* As if libpmix's thread had stopped for ever, but not the server's. */
static void host_check(struct host *host, uint64_t id, host_checked_function *answered,
                       void *context)
{
    if (is_mute)
        return;
    answered(context, id);
}

static void host_close(struct host *host, uint32_t number)
{
    if (number != CLOSES_LATE)
        return;
    usleep(CLOSE_US);
    close(open(closed_path, O_CREAT | O_WRONLY, 0600));
}

static void host_gone(void *host, const struct pmi_process *process)
{
    host_double_ops.finalized(host_double_ops.context, process);
}

static const struct host_table *load(void *context, struct error *error)
{
    static struct host_table table;

    table = host_double_table();
    table.job_open = host_open;
    table.job_close = host_close;
    table.admit = host_admit;
    table.check = host_check;
    table.events =
        (struct pmi_events){.done = host_done, .provide = host_double_provide, .gone = host_gone};
    return &table;
}

static void write_all(void *context, const void *data, size_t bytes)
{
    (void)!write(server_fd, data, bytes);
}

static uint32_t memory_kib(void *context)
{
    return has_grown ? PMI_NODE_GROWN_KIB + 1 : 10;
}

static int server_main(void)
{
    struct pmi_server_config config = {.load = load, .write = write_all, .memory_kib = memory_kib};
    struct pmi_server *server = pmi_server_create(&config);
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    char data[256];

    server_fd = STDIN_FILENO;
    for (;;) {
        struct iovec part = {data, sizeof(data)};
        struct msghdr header = {.msg_iov = &part,
                                .msg_iovlen = 1,
                                .msg_control = control.bytes,
                                .msg_controllen = sizeof(control.bytes)};
        ssize_t got = recvmsg(server_fd, &header, 0);
        int fd;

        if (got <= 0)
            return 0;
        if (CMSG_FIRSTHDR(&header) != NULL) {
            memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&header)), sizeof(fd));
            pmi_server_take_fd(server, fd);
        }
        if (pmi_server_input(server, data, (size_t)got) < 0)
            return 1;
    }
}

/* ---- The daemon ---- */

static struct loop *loop;
static struct loop_timer *timer;
static struct pmi_node *node;
static struct session session;
static struct buffer calls;
static const char *awaited;
static int32_t server_pid;
static int late;

static void note(const char *text)
{
    buffer_append_string(&calls, text);
    if (awaited != NULL && strstr(buffer_string(&calls), awaited) != NULL)
        loop_stop(loop);
}

static void too_late(void *context)
{
    late = 1;
    loop_stop(loop);
}

/* Until a call with this text has come. */
static void await(const char *text)
{
    awaited = text;
    if (strstr(buffer_string(&calls), text) == NULL) {
        late = 0;
        loop_timer_set(timer, loop_now_ns() + PATIENCE_NS);
        (void)loop_run(loop);
        loop_timer_cancel(timer);
    }
    awaited = NULL;
    has_string(buffer_string(&calls), text, "there comes: %s", text);
    if (late)
        diag("it hung");
}

static void on_opened(void *context, uint32_t job, int status, const char *why, int32_t pid)
{
    char line[64];

    server_pid = pid;
    snprintf(line, sizeof(line), "opened %u %d;", job, status);
    note(line);
}

static void on_lost(void *context, uint32_t job, const char *why)
{
    char line[400];

    snprintf(line, sizeof(line), "lost %u: %s;", job, why);
    note(line);
}

static void on_process(void *context, const struct pmi_process *process)
{
    char line[64];

    snprintf(line, sizeof(line), "process %u.%u;", process->job, process->rank);
    note(line);
}

static void on_collective(void *context, const struct pmi_collective *collective)
{
    char line[64];

    snprintf(line, sizeof(line), "fence of %u;", collective->members[0].job);
    note(line);
}

static void on_provided(void *context, uint32_t job, uint64_t id, int status, const void *data,
                        size_t data_bytes)
{
    char line[64];

    snprintf(line, sizeof(line), "provided %u %.*s;", job, (int)data_bytes, (const char *)data);
    note(line);
}

static void on_text(void *context, const struct pmi_process *from, const char *text,
                    size_t text_bytes)
{
    char line[64];

    snprintf(line, sizeof(line), "text of %zu;", text_bytes);
    note(line);
}

static void open_job(uint32_t number)
{
    static const uint32_t zero;
    static const struct pmi_ops ops = {.opened = on_opened,
                                       .lost = on_lost,
                                       .connected = on_process,
                                       .finalized = on_process,
                                       .collective = on_collective,
                                       .provided = on_provided,
                                       .text = on_text};
    struct error error = ERROR_NONE;
    struct pmi_job job = {.number = number,
                          .namespace = "space",
                          .size = 1,
                          .apps_count = 1,
                          .job_id = "1",
                          .node_names = "n",
                          .ranks_by_node = "0",
                          .directory = session.directory,
                          .local_ranks = &zero,
                          .local_apps = &zero,
                          .local_count = 1};

    buffer_clear(&calls);
    is_int(pmi_node_open(node, &job, &ops, &error), 0, "job %u is opened%s", number, error.text);
}

static void test_good(void)
{
    static char blob[600000];
    int ends[2];
    char data[8] = "";

    open_job(GOOD);
    await("opened 1 0;fence of 1;");
    ok(server_pid > 0 && server_pid != (int32_t)getpid(), "by a process of its own");
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
        bail_out("socketpair");
    pmi_node_admit(node, ends[1], &(struct pmi_process){GOOD, 0}, "hello", 5);
    await("process 1.0;");
    ok(read(ends[0], data, sizeof(data)) == 5 && strcmp(data, "hello") == 0,
       "its client is handed on with what it said");
    close(ends[0]);
    pmi_node_events.provide(node, 1, &(struct pmi_process){GOOD, 0}, "key");
    await("provided 1 key;");
    /* More than a socket takes at once, and more after it. */
    pmi_node_events.done(node, 5, 0, blob, sizeof(blob));
    pmi_node_events.done(node, 6, 0, blob, 2);
    await("text of 600000;text of 2;");
}

/* What the server said before the end of a process is told comes before it. */
static void test_catch_up(void)
{
    buffer_clear(&calls);
    pmi_node_events.gone(node, &(struct pmi_process){GOOD, 3});
    for (int i = 0; i < 2000 && strstr(buffer_string(&calls), "process 1.3;") == NULL; i++) {
        usleep(1000);
        pmi_node_catch_up(node, 0);
    }
    has_string(buffer_string(&calls), "process 1.3;", "the loop need not run to hear it");
}

static void test_dies(void)
{
    char *first = memory_copy_string(pmi_node_directory(node));
    int32_t pid = server_pid;

    buffer_clear(&calls);
    kill(pid, SIGKILL);
    await("lost 1: the PMIx server process died; run the job again, and if that happens again look "
          "into the kernel log of here");
    ok(strcmp(first, pmi_node_directory(node)) != 0, "the next has another directory");
    is_int(access(first, F_OK), -1, "and that of the dead one is gone");
    pmi_node_events.done(node, 5, 0, "die", 3); /* to nobody */
    open_job(GOOD_TOO);
    await("opened 6 0;fence of 6;");
    ok(server_pid != pid, "the next job has another server");
    free(first);
}

/* One whose socket is not closed yet, as while the kernel closes those of its clients. */
static void test_ending(void)
{
    open_job(SHARES);
    await("opened 11 0;fence of 11;");
    pmi_node_catch_up(node, 1);
    ok(strstr(buffer_string(&calls), "lost") == NULL, "one that lives is not lost");
    buffer_clear(&calls);
    kill(server_pid, SIGKILL);
    while (!process_stat_is_exiting(server_pid))
        usleep(1000);
    pmi_node_catch_up(node, 1);
    has_string(buffer_string(&calls), "lost 11: the PMIx server process died",
               "the end of a server is seen before its socket is closed");
    has_string(buffer_string(&calls), "lost 6:", "by all of its jobs");
    open_job(GOOD_TOO);
    await("opened 6 0;fence of 6;");
}

static void test_others(void)
{
    int32_t pid;

    open_job(DIES_AT_OPEN);
    await("lost 2: the PMIx server process died");
    has_string(buffer_string(&calls), "lost 6:", "all of its jobs are told");
    open_job(SPEAKS_NOISE);
    await("lost 3: the PMIx server process said what it should not and was killed");
    open_job(DIES_IN_FENCE);
    await("fence of 5;");
    pmi_node_events.done(node, 5, 0, "die", 3);
    await("lost 5: the PMIx server process died");
    open_job(GROWS);
    await("fence of 4;");
    pid = server_pid;
    pmi_node_close(node, GROWS);
    for (int i = 0; i < 2000 && kill(pid, 0) == 0; i++) {
        loop_timer_set(timer, loop_now_ns() + 1000000);
        (void)loop_run(loop);
    }
    is_int(kill(pid, 0), -1, "a server that has grown is not used again");
    open_job(GOOD);
    await("opened 1 0;fence of 1;");
    pid = server_pid;
    pmi_node_close(node, GOOD);
    open_job(GOOD_TOO);
    await("opened 6 0;fence of 6;");
    is_int(server_pid, pid, "one that has not serves the next job, too");
}

static void stop_for_a_while(void)
{
    kill(server_pid, SIGSTOP);
    buffer_clear(&calls);
    loop_timer_set(timer, loop_now_ns() + 4 * LOOKS * CHECK_MS * 1000000ull);
    (void)loop_run(loop);
    is_string(buffer_string(&calls), "", "a server that is stopped is waited for");
    kill(server_pid, SIGCONT);
}

/* Is told from one that is slow, or has nothing to do. */
static void test_watched(void)
{
    pmi_node_close(node, GOOD_TOO);
    open_job(GOOD);
    await("opened 1 0;fence of 1;");
    stop_for_a_while();
    loop_timer_set(timer, loop_now_ns() + 4 * LOOKS * CHECK_MS * 1000000ull);
    (void)loop_run(loop);
    is_string(buffer_string(&calls), "", "one that answers is left alone");
    open_job(SLEEPS);
    await("lost 9: the PMIx server process hung in libpmix and was killed");
    has_string(buffer_string(&calls), "lost 1: ", "all of its jobs are told");
    open_job(SPINS);
    await("lost 8: the PMIx server process hung in libpmix and was killed");
    open_job(GOOD_TOO);
    await("opened 6 0;");
}

/* A server that does not answer holds up nobody, and dies with its node. */
static void test_hangs(void)
{
    pmi_node_close(node, GOOD_TOO);
    open_job(HANGS);
    buffer_clear(&calls);
    loop_timer_set(timer, loop_now_ns() + 50000000);
    (void)loop_run(loop);
    is_string(buffer_string(&calls), "", "the loop goes on while the server is busy");
}

/* What a job has left to libpmix is done before the node is over. */
static void test_closes_late(const struct pmi_node_config *config)
{
    strcat(session.directory, "2");
    node = pmi_node_create(config);
    open_job(CLOSES_LATE);
    await("opened 10 0;");
    pmi_node_close(node, CLOSES_LATE);
    pmi_node_destroy(node);
    is_int(access(closed_path, F_OK), 0,
           "the node's end waits until the server has closed the job");
    unlink(closed_path);
}

int main(void)
{
    char base[] = "/tmp/bt.XXXXXX", command[64];
    struct error error = ERROR_NONE;
    struct pmi_node_config config = {.session = &session,
                                     .session_id = "s",
                                     .node_name = "here",
                                     .place = 1,
                                     .server_main = server_main,
                                     .check_ms = CHECK_MS,
                                     .limits = {.sleeping_looks = LOOKS, .busy_ms = 100}};
    int32_t pid;
    int status;

    if (mkdtemp(base) == NULL)
        bail_out("mkdtemp");
    snprintf(session.directory, sizeof(session.directory), "%s/u/s.1", base);
    snprintf(closed_path, sizeof(closed_path), "%s/closed", base);
    config.loop = loop = loop_create(&error);
    if (loop == NULL)
        bail_out("%s", error.text);
    timer = loop_timer_create(loop, too_late, NULL);
    node = pmi_node_create(&config);
    test_good();
    test_catch_up();
    test_dies();
    test_ending();
    test_others();
    test_watched();
    pid = server_pid;
    test_hangs();
    pmi_node_destroy(node);
    is_int(waitpid(pid, &status, 0), pid, "the last dies with its node");
    test_closes_late(&config);
    is_int(waitpid(server_pid, &status, 0), server_pid, "so does that of the next node");
    is_int(waitpid(-1, &status, 0), -1, "the others have been waited for");
    loop_timer_destroy(timer);
    loop_destroy(loop);
    buffer_fini(&calls);
    snprintf(command, sizeof(command), "rm -rf %s", base);
    if (system(command) != 0)
        diag("%s failed", command);
    return done_testing();
}

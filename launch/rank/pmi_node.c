/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/rank/pmi_node.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc/hostlist.h"
#include "base/buffer.h"
#include "base/list.h"
#include "base/log.h"
#include "base/time.h"
#include "launch/exec/descriptor.h"
#include "launch/exec/fork_self.h"
#include "launch/exec/process_stat.h"
#include "launch/rank/tool_door.h"
#include "pmix/pmi_remote.h"

#define READ_BYTES (16u * 1024)
/* As much of a fence as the kernel lets be on its way: the less, the more often one side wakes the other. */
#define SEND_BYTES (4 * 1024 * 1024)

struct pmi_node {
    struct pmi_node_config config;
    char namespace[64];
    char directory[128];
    struct pmi_remote *remote; /* NULL: no server runs */
    struct loop_watch *watch;
    struct tool_door *tools; /* NULL: none can connect */
    int fd;
    struct loop_timer *check;
    struct pmi_watch pmi_watch;
    struct loop_signal *child_ended;
    pid_t pid;        /* of the server; 0: it has ended */
    struct list past; /* struct past_server */
    uint64_t asked;   /* the last CHECK of this server; 0: none */
    uint32_t servers; /* started so far */
    int has_session;  /* its directory has been made */
    int is_hearing;
};

/* Has been killed, and not been waited for. */
struct past_server {
    struct list_link node;
    pid_t pid;
};

/* One for each server: files of a dead one must not confuse the next. */
static void name_directory(struct pmi_node *node)
{
    snprintf(node->directory, sizeof(node->directory), "%s/p%u", node->config.session->directory,
             node->servers);
}

/* ---- Sending ---- */

static int send_piece(int fd, const struct pmi_piece *piece, size_t *ret_sent)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    struct iovec part = {(void *)(uintptr_t)piece->data, piece->bytes};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t sent;

    assert(piece->bytes > 0);
    if (piece->fd >= 0) {
        header.msg_control = control.bytes;
        header.msg_controllen = sizeof(control.bytes);
        control.align.cmsg_level = SOL_SOCKET;
        control.align.cmsg_type = SCM_RIGHTS;
        control.align.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&control.align), &piece->fd, sizeof(int));
    }
    sent = sendmsg(fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
    *ret_sent = sent > 0 ? (size_t)sent : 0;
    return sent < 0 ? -errno : 0;
}

/* Sends as much as the server takes; its end is noticed by reading. */
static void flush_requests(struct pmi_node *node)
{
    struct pmi_piece piece;
    size_t sent;
    int rc = 0;

    if (node->remote == NULL)
        return;
    pmi_remote_output(node->remote, &piece);
    while (piece.bytes > 0 && (rc == 0 || rc == -EINTR)) {
        rc = send_piece(node->fd, &piece, &sent);
        assert(sent <= piece.bytes);
        pmi_remote_sent(node->remote, sent);
        pmi_remote_output(node->remote, &piece);
    }
    loop_watch_set(node->watch, LOOP_READ | (rc == -EAGAIN || rc == -ENOBUFS ? LOOP_WRITE : 0));
}

/* ---- Its end ---- */

static void kill_server(struct pmi_node *node)
{
    struct past_server *past;

    if (node->pid == 0)
        return;
    past = memory_allocate(sizeof(*past));
    past->pid = node->pid;
    list_append(&node->past, &past->node);
    (void)kill(node->pid, SIGKILL);
    node->pid = 0;
}

static int has_ended(pid_t pid)
{
    int status;
    pid_t ended = waitpid(pid, &status, WNOHANG);

    if (ended == pid && WIFSIGNALED(status))
        log_debug("a PMIx server was ended by signal %d", WTERMSIG(status));
    return ended != 0;
}

static void forget_past(struct past_server *past)
{
    list_remove(&past->node);
    free(past);
}

/* A child of ours, who may be another. */
static void child_ended(void *context)
{
    struct pmi_node *node = context;
    struct list_link *entry, *spare;

    list_for_each(&node->past, entry, spare)
    {
        struct past_server *past = list_entry(entry, struct past_server, node);

        if (has_ended(past->pid))
            forget_past(past);
    }
    if (node->pid == 0 || !has_ended(node->pid))
        return;
    node->pid = 0;
    pmi_node_catch_up(node, 0); /* to the end of its socket */
}

/* Lets go of the server, whatever it does. */
static struct pmi_remote *let_go(struct pmi_node *node)
{
    struct pmi_remote *remote = node->remote;

    assert(remote != NULL && node->fd >= 0);
    tool_door_close(node->tools);
    node->tools = NULL;
    loop_timer_cancel(node->check);
    loop_watch_destroy(node->watch);
    close(node->fd);
    node->watch = NULL;
    node->fd = -1;
    node->remote = NULL;
    kill_server(node);
    (void)session_remove_tree(node->directory);
    node->servers++;
    name_directory(node);
    return remote;
}

static void lose_because(struct pmi_node *node, const char *why)
{
    struct pmi_remote *remote = let_go(node);

    log_info("%s", why);
    pmi_remote_lose(remote, why);
    pmi_remote_destroy(remote);
}

static void lose_server(struct pmi_node *node, const char *how)
{
    char why[HOST_NAME_BYTES_MAX + 256];

    snprintf(
        why, sizeof(why),
        "the PMIx server process %s; run the job again, and if that happens again look into the "
        "kernel log of %s (out of memory?)",
        how, node->config.node_name);
    lose_because(node, why);
}

/* ---- Reading ---- */

/* 1: there may be more. */
static int hear_server(struct pmi_node *node)
{
    size_t room;
    void *data = pmi_remote_room(node->remote, READ_BYTES, &room);
    ssize_t got = recv(node->fd, data, room, MSG_DONTWAIT);
    int rc;

    assert(!node->is_hearing);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return errno == EINTR;
    if (got <= 0) {
        lose_server(node, "died");
        return 0;
    }
    node->is_hearing = 1;
    rc = pmi_remote_came(node->remote, (size_t)got);
    node->is_hearing = 0;
    if (rc < 0)
        lose_server(node, "said what it should not and was killed");
    else
        flush_requests(node);
    return rc == 0 && (size_t)got == room;
}

static void on_server_ready(void *context, int fd, unsigned int what)
{
    struct pmi_node *node = context;

    (void)fd;
    if (what & LOOP_WRITE)
        flush_requests(node);
    if (what & LOOP_READ)
        (void)hear_server(node);
    if (node->remote != NULL && pmi_remote_jobs(node->remote) == 0 &&
        pmi_remote_closing(node->remote) == 0 &&
        pmi_remote_memory_kib(node->remote) > node->config.grown_kib) {
        log_debug("the PMIx server has grown to %u KiB: the next job gets another",
                  pmi_remote_memory_kib(node->remote));
        pmi_remote_destroy(let_go(node));
    }
}

/* Does nothing inside an op of the server. */
void pmi_node_catch_up(struct pmi_node *node, int is_client)
{
    int is_exiting = is_client && node->pid > 0 && process_stat_is_exiting(node->pid);

    while (node->remote != NULL && !node->is_hearing && hear_server(node))
        ;
    if (is_exiting && node->remote != NULL && !node->is_hearing)
        lose_server(node, "died");
}

/* ---- Whether it gets on ---- */

static void check_again(struct pmi_node *node)
{
    loop_timer_set(node->check, loop_now_ns() + (uint64_t)node->config.check_ms * NS_PER_MS);
}

static void ask_server(struct pmi_node *node)
{
    pmi_watch_ask(&node->pmi_watch, node->pid);
    pmi_remote_check(node->remote, ++node->asked);
    flush_requests(node);
}

static void lose_hanging(struct pmi_node *node, enum pmi_watch_finding finding)
{
    log_info("libpmix does not answer: its process %s",
             finding == PMI_WATCH_SPINS ? "computes" : "sleeps");
    lose_because(
        node, "the PMIx server process hung in libpmix and was killed; run the job again, and if "
              "that happens again look for the PMIx call that leads to it");
}

/* Between jobs nobody waits for it. */
static void check_now(void *context)
{
    struct pmi_node *node = context;
    enum pmi_watch_finding finding = PMI_WATCH_GOES_ON;

    if (node->pid > 0 && pmi_remote_checked(node->remote) != node->asked)
        finding = pmi_watch_look(&node->pmi_watch);
    else if (node->pid > 0 && pmi_remote_jobs(node->remote) > 0)
        ask_server(node);
    if (finding == PMI_WATCH_GOES_ON)
        check_again(node);
    else
        lose_hanging(node, finding);
}

/* ---- Its start ---- */

static int directory_make(struct pmi_node *node, struct error *error)
{
    if (!node->has_session && session_create(node->config.session, error) < 0)
        return error->code;
    node->has_session = 1;
    if (mkdir(node->directory, 0700) < 0 && errno != EEXIST)
        return error_set(error, -errno, "cannot make the directory %s of the PMIx server: %s",
                         node->directory, strerror(errno));
    return 0;
}

/* Of no job, and of no rank. */
static void tool_arrived(void *context, int fd, const struct hello *hello, const void *message,
                         size_t message_bytes)
{
    struct pmi_process nobody = {.job = PMI_JOB_NONE};

    (void)hello;
    pmi_node_admit(context, fd, &nobody, message, message_bytes);
}

static void open_tools(struct pmi_node *node)
{
    struct tool_door_config config = {
        .loop = node->config.loop,
        .directory = node->directory,
        .namespace = node->namespace,
        .rank = node->config.place,
        .pid = node->pid,
        .admit = tool_arrived,
        .context = node,
    };

    node->tools = tool_door_open(&config);
}

static int server_start(struct pmi_node *node, struct error *error)
{
    struct host_config config = {
        .directory = node->directory,
        .node_name = node->config.node_name,
        .server_namespace = node->namespace,
        .server_rank = node->config.place,
    };
    int ends[2], rc = directory_make(node, error);

    assert(node->remote == NULL && node->fd < 0 && node->watch == NULL && node->pid == 0);
    if (rc < 0)
        return rc;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return error_set(error, -errno, "cannot start the PMIx server: socketpair: %s",
                         strerror(errno));
    for (int i = 0; i < 2; i++)
        (void)setsockopt(ends[i], SOL_SOCKET, SO_SNDBUF, &(int){SEND_BYTES}, sizeof(int));
    rc = fork_self(PMI_NODE_SERVER_NAME, ends[1], node->config.server_main);
    close(ends[1]);
    if (rc < 0) {
        close(ends[0]);
        return error_set(error, rc, "cannot start the PMIx server: fork: %s", strerror(-rc));
    }
    node->pid = rc;
    node->fd = descriptor_move_high(ends[0]);
    node->remote = pmi_remote_create(&config);
    node->watch = loop_watch_create(node->config.loop, node->fd, LOOP_READ, on_server_ready, node);
    node->asked = 0;
    check_again(node);
    open_tools(node);
    return 0;
}

int pmi_node_open(struct pmi_node *node, const struct pmi_job *job, const struct pmi_ops *ops,
                  struct error *error)
{
    int rc = node->remote == NULL ? server_start(node, error) : 0;

    assert(rc < 0 || node->remote != NULL);
    if (rc < 0)
        return rc;
    pmi_remote_open(node->remote, job, ops);
    tool_door_add_job(node->tools, job->number, job->namespace);
    flush_requests(node);
    return 0;
}

void pmi_node_close(struct pmi_node *node, uint32_t job)
{
    if (node->remote == NULL)
        return;
    pmi_remote_close(node->remote, job);
    tool_door_remove_job(node->tools, job);
    flush_requests(node);
}

int pmi_node_is_used(const struct pmi_node *node)
{
    return node->remote != NULL && pmi_remote_jobs(node->remote) > 0;
}

void pmi_node_admit(struct pmi_node *node, int fd, const struct pmi_process *process,
                    const void *message, size_t message_bytes)
{
    if (node->remote == NULL) {
        close(fd);
        return;
    }
    pmi_remote_admit(node->remote, fd, process, message, message_bytes);
    flush_requests(node);
}

static void node_done(void *speaker, uint64_t id, int status, const void *data, size_t data_bytes)
{
    struct pmi_node *node = speaker;

    if (node->remote == NULL)
        return;
    pmi_remote_events.done(node->remote, id, status, data, data_bytes);
    flush_requests(node);
}

static void node_provide(void *speaker, uint64_t id, const struct pmi_process *process,
                         const char *key)
{
    struct pmi_node *node = speaker;

    if (node->remote == NULL)
        return;
    pmi_remote_events.provide(node->remote, id, process, key);
    flush_requests(node);
}

static void node_gone(void *speaker, const struct pmi_process *process)
{
    struct pmi_node *node = speaker;

    if (node->remote == NULL)
        return;
    pmi_remote_events.gone(node->remote, process);
    flush_requests(node);
}

static void node_notice(void *speaker, enum pmi_notice_kind kind, const struct pmi_process *process,
                        const void *data, size_t data_bytes)
{
    struct pmi_node *node = speaker;

    if (node->remote == NULL)
        return;
    pmi_remote_events.notice(node->remote, kind, process, data, data_bytes);
    flush_requests(node);
}

const struct pmi_events pmi_node_events = {
    .done = node_done,
    .provide = node_provide,
    .gone = node_gone,
    .notice = node_notice,
};

/* ---- Life ---- */

const char *pmi_node_namespace(const struct pmi_node *node)
{
    return node->namespace;
}

const char *pmi_node_directory(const struct pmi_node *node)
{
    return node->directory;
}

struct pmi_node *pmi_node_create(const struct pmi_node_config *config)
{
    struct pmi_node *node = memory_allocate_zeroed(sizeof(*node));

    assert(config->loop != NULL && config->server_main != NULL && config->session != NULL);
    node->config = *config;
    if (node->config.check_ms == 0) {
        node->config.check_ms = PMI_NODE_CHECK_MS;
        node->config.limits = (struct pmi_watch_limits){PMI_NODE_SLEEPING_LOOKS, PMI_NODE_BUSY_MS};
    }
    node->pmi_watch.limits = node->config.limits;
    node->check = loop_timer_create(config->loop, check_now, node);
    node->child_ended = loop_signal_create(config->loop, SIGCHLD, child_ended, node);
    list_init(&node->past);
    if (config->grown_kib == 0)
        node->config.grown_kib = PMI_NODE_GROWN_KIB;
    node->fd = -1;
    snprintf(node->namespace, sizeof(node->namespace), "banyan-%s", config->session_id);
    name_directory(node);
    return node;
}

/* Files that processes have registered to be removed after them are removed by libpmix when it forgets the
 * job.  The loop no longer runs. */
static void await_closing(struct pmi_node *node)
{
    uint64_t end_ns = loop_now_ns() + PMI_NODE_CLOSE_MS * NS_PER_MS, now_ns;

    while (node->pid > 0 && node->remote != NULL && pmi_remote_closing(node->remote) > 0 &&
           (now_ns = loop_now_ns()) < end_ns) {
        struct pmi_piece unsent;
        struct pollfd ready = {.fd = node->fd, .events = POLLIN};

        pmi_remote_output(node->remote, &unsent);
        if (unsent.bytes > 0)
            ready.events |= POLLOUT;
        (void)poll(&ready, 1, (int)((end_ns - now_ns) / NS_PER_MS) + 1);
        flush_requests(node);
        pmi_node_catch_up(node, 0);
    }
}

void pmi_node_destroy(struct pmi_node *node)
{
    struct list_link *entry, *spare;

    if (node == NULL)
        return;
    await_closing(node);
    if (node->remote != NULL)
        pmi_remote_destroy(let_go(node));
    list_for_each(&node->past, entry, spare)
        forget_past(list_entry(entry, struct past_server, node));
    loop_timer_destroy(node->check);
    loop_signal_destroy(node->child_ended);
    free(node);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/helper.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/wire.h"
#include "launch/helper_cgroup.h"
#include "launch/helper_process.h"
#include "launch/helper_wire.h"
#include "launch/orphan.h"

#define CLOSE_WAIT_MS   5000
#define ORPHANS_WAIT_MS 2000

/* A packet that the socket had no room for. */
struct packet {
    struct list_node node;
    size_t bytes;
    uint32_t fds_count;
    int fds[HELPER_FDS_MAX]; /* our duplicates */
    unsigned char data[];
};

struct helper {
    pid_t pid;
    int fd; /* -1 once it is gone */
    struct loop *loop;
    struct loop_watch *watch;
    const struct helper_events *events;
    void *context;
    struct list queue;
    struct buffer request; /* being encoded; kept for its memory */
    uint32_t *unsealed;    /* groups that got processes in this turn of the loop */
    uint32_t unsealed_count;
    uint32_t unsealed_capacity;
};

static int (*daemon_entry)(const char *virtual_node);

void helper_set_daemon_entry(int (*entry)(const char *virtual_node))
{
    daemon_entry = entry;
}

struct helper *helper_fork(struct error *error)
{
    struct helper_setup setup = {.daemon_entry = daemon_entry};
    struct helper *helper;
    int fds[2];
    pid_t pid;

    if (getrlimit(RLIMIT_NOFILE, &setup.files) < 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0) {
        error_set(error, -errno, "cannot prepare the helper process: %s", strerror(errno));
        return NULL;
    }
    setup.socket_fd = fds[1];
    pid = fork();
    if (pid == 0)
        helper_process_run(&setup);
    close(fds[1]);
    if (pid < 0) {
        error_set(error, -errno, "cannot fork the helper process: %s", strerror(errno));
        close(fds[0]);
        return NULL;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    helper = memory_allocate_zeroed(sizeof(*helper));
    helper->pid = pid;
    helper->fd = fds[0];
    list_init(&helper->queue);
    return helper;
}

pid_t helper_pid(const struct helper *helper)
{
    return helper->pid;
}

int helper_is_gone(const struct helper *helper)
{
    return helper->fd < 0;
}

/* ---- Sending ---- */

static ssize_t send_packet(int fd, const void *data, size_t bytes, const int *fds,
                           uint32_t fds_count)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int) * HELPER_FDS_MAX)];
        struct cmsghdr align;
    } control = {0};
    struct iovec part = {(void *)(uintptr_t)data, bytes};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};

    if (fds_count > 0) {
        struct cmsghdr *rights = &control.align;
        header.msg_control = control.bytes;
        header.msg_controllen = CMSG_SPACE(sizeof(int) * fds_count);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int) * fds_count);
        memcpy(CMSG_DATA(rights), fds, sizeof(int) * fds_count);
    }
    return sendmsg(fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void packet_destroy(struct packet *packet)
{
    for (uint32_t i = 0; i < packet->fds_count; i++)
        close(packet->fds[i]);
    list_remove(&packet->node);
    free(packet);
}

static void drop_queue(struct helper *helper)
{
    struct list_node *node;

    while ((node = list_first(&helper->queue)) != NULL)
        packet_destroy(list_entry(node, struct packet, node));
}

static int must_wait(void)
{
    return errno == EAGAIN || errno == EINTR || errno == ENOBUFS || errno == ETOOMANYREFS ||
           errno == ENOMEM;
}

static void set_interest(struct helper *helper)
{
    if (helper->watch != NULL)
        loop_watch_set(helper->watch, LOOP_READ | (list_is_empty(&helper->queue) ? 0 : LOOP_WRITE));
}

/* Sends what waits; a helper that is gone is noticed by reading. */
static void flush_queue(struct helper *helper)
{
    struct list_node *node;

    while ((node = list_first(&helper->queue)) != NULL) {
        struct packet *packet = list_entry(node, struct packet, node);
        if (send_packet(helper->fd, packet->data, packet->bytes, packet->fds, packet->fds_count) <
                0 &&
            must_wait())
            break;
        packet_destroy(packet);
    }
    set_interest(helper);
}

static void queue_packet(struct helper *helper, const void *data, size_t bytes, const int *fds,
                         uint32_t fds_count)
{
    struct packet *packet = memory_allocate(sizeof(*packet) + bytes);

    packet->bytes = bytes;
    packet->fds_count = fds_count;
    memcpy(packet->data, data, bytes);
    for (uint32_t i = 0; i < fds_count; i++)
        packet->fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);
    list_append(&helper->queue, &packet->node);
    set_interest(helper);
}

static void put_packet(struct helper *helper, const void *data, size_t bytes, const int *fds,
                       uint32_t fds_count)
{
    if (list_is_empty(&helper->queue) &&
        (send_packet(helper->fd, data, bytes, fds, fds_count) >= 0 || !must_wait()))
        return;
    queue_packet(helper, data, bytes, fds, fds_count);
}

/* Cuts an encoded request into packets: each with a byte in front, 1 if more follows. */
static void send_request(struct helper *helper, const struct helper_request *request,
                         const int *fds)
{
    unsigned char packet[HELPER_PACKET_BYTES_MAX];
    uint32_t fds_count = request->targets_count;
    size_t sent = 0;

    if (helper->fd < 0)
        return;
    buffer_clear(&helper->request);
    helper_request_encode(request, &helper->request);
    do {
        size_t bytes = helper->request.length_bytes - sent;
        if (bytes > sizeof(packet) - 1)
            bytes = sizeof(packet) - 1;
        packet[0] = sent + bytes < helper->request.length_bytes;
        memcpy(packet + 1, helper->request.data + sent, bytes);
        put_packet(helper, packet, bytes + 1, fds, fds_count);
        fds_count = 0;
        sent += bytes;
    } while (sent < helper->request.length_bytes);
}

/* ---- Requests ---- */

static void set_fds(struct helper_request *request, int plain[HELPER_FDS_MAX],
                    const struct helper_fd *fds, uint32_t fds_count)
{
    assert(fds_count <= HELPER_FDS_MAX);
    request->targets_count = fds_count;
    for (uint32_t i = 0; i < fds_count; i++) {
        assert(fds[i].target >= 0 && fds[i].target <= HELPER_TARGET_MAX);
        request->targets[i] = (uint32_t)fds[i].target;
        plain[i] = fds[i].fd;
    }
}

static void seal_groups(void *context)
{
    struct helper *helper = context;

    for (uint32_t i = 0; i < helper->unsealed_count; i++)
        send_request(
            helper,
            &(struct helper_request){.type = HELPER_SEAL_GROUP, .group = helper->unsealed[i]},
            NULL);
    helper->unsealed_count = 0;
}

/* The group's processes are complete when this turn of the loop is over. */
static void unseal_group(struct helper *helper, uint32_t group)
{
    for (uint32_t i = 0; i < helper->unsealed_count; i++)
        if (helper->unsealed[i] == group)
            return;
    if (helper->unsealed_count == helper->unsealed_capacity) {
        helper->unsealed_capacity = helper->unsealed_capacity * 2 + 4;
        helper->unsealed =
            memory_resize(helper->unsealed, helper->unsealed_capacity * sizeof(*helper->unsealed));
    }
    helper->unsealed[helper->unsealed_count++] = group;
    if (helper->loop != NULL && helper->unsealed_count == 1)
        loop_defer(helper->loop, seal_groups, helper);
}

void helper_start(struct helper *helper, const struct helper_process *process)
{
    struct helper_request request = {.type = HELPER_START,
                                     .id = process->id,
                                     .group = process->group,
                                     .path = process->directory,
                                     .argv = process->argv,
                                     .environment = process->environment};
    int fds[HELPER_FDS_MAX];

    assert(process->argv != NULL && process->argv[0] != NULL);
    set_fds(&request, fds, process->fds, process->fds_count);
    send_request(helper, &request, fds);
    if (process->group > 0)
        unseal_group(helper, process->group);
}

void helper_start_daemon(struct helper *helper, uint32_t id, const char *virtual_node,
                         const char *virtual_base, const struct helper_fd *fds, uint32_t fds_count)
{
    struct helper_request request = {
        .type = HELPER_START_DAEMON, .id = id, .path = virtual_base, .name = virtual_node};
    int plain[HELPER_FDS_MAX];

    set_fds(&request, plain, fds, fds_count);
    send_request(helper, &request, plain);
}

void helper_signal_group(struct helper *helper, uint32_t group, int number)
{
    send_request(helper,
                 &(struct helper_request){
                     .type = HELPER_SIGNAL_GROUP, .group = group, .value = (uint32_t)number},
                 NULL);
}

void helper_signal(struct helper *helper, uint32_t id, int number)
{
    send_request(
        helper,
        &(struct helper_request){.type = HELPER_SIGNAL, .id = id, .value = (uint32_t)number}, NULL);
}

void helper_end_group(struct helper *helper, uint32_t group, uint32_t grace_ms)
{
    send_request(
        helper,
        &(struct helper_request){.type = HELPER_END_GROUP, .group = group, .value = grace_ms},
        NULL);
}

void helper_set_session(struct helper *helper, const char *session)
{
    char mark[64];

    snprintf(mark, sizeof(mark), "BANYAN_SESSION=%s", session);
    send_request(helper, &(struct helper_request){.type = HELPER_MARK, .path = mark}, NULL);
}

void helper_own_directory(struct helper *helper, const char *path)
{
    send_request(helper, &(struct helper_request){.type = HELPER_OWN_DIRECTORY, .path = path},
                 NULL);
}

void helper_lease(struct helper *helper, uint32_t milliseconds)
{
    send_request(helper, &(struct helper_request){.type = HELPER_LEASE, .value = milliseconds},
                 NULL);
}

/* ---- Events ---- */

static void deliver(struct helper *helper, const struct helper_event *event)
{
    const struct helper_events *events = helper->events;

    switch (event->type) {
    case HELPER_STARTED:
        events->started(helper->context, event->id, event->value);
        break;
    case HELPER_FAILED:
        events->failed(helper->context, event->id, event->value,
                       helper_step_name((enum helper_step)event->detail));
        break;
    case HELPER_EXITED:
        events->exited(helper->context, event->id, event->value, (int)event->detail);
        break;
    default:
        events->group_empty(helper->context, event->id);
    }
}

static void close_socket(struct helper *helper)
{
    loop_watch_destroy(helper->watch);
    helper->watch = NULL;
    if (helper->fd >= 0)
        close(helper->fd);
    helper->fd = -1;
    drop_queue(helper);
}

/* Its children have died with it; what they leave falls to us, as subreaper. */
static void helper_died(struct helper *helper)
{
    close_socket(helper);
    kill(helper->pid, SIGKILL);
    waitpid(helper->pid, NULL, 0);
    helper->pid = 0;
    orphan_kill_all(ORPHANS_WAIT_MS);
    cgroup_clean();
    helper->events->gone(helper->context);
}

static void on_ready(void *context, int fd, unsigned int ready)
{
    struct helper *helper = context;
    unsigned char packet[HELPER_PACKET_BYTES_MAX];
    struct helper_event event;
    struct wire_reader reader;
    ssize_t bytes;

    if (ready & LOOP_WRITE) {
        flush_queue(helper);
        return;
    }
    bytes = recv(fd, packet, sizeof(packet), MSG_DONTWAIT);
    /* A reset comes once, before what the helper had still sent. */
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNRESET))
        return;
    if (bytes <= 0) {
        helper_died(helper);
        return;
    }
    wire_reader_init(&reader, packet, (size_t)bytes);
    while (wire_left(&reader) > 0 && helper_event_decode(&event, &reader) == 0)
        deliver(helper, &event);
}

int helper_attach(struct helper *helper, struct loop *loop, const struct helper_events *events,
                  void *context)
{
    helper->loop = loop;
    helper->events = events;
    helper->context = context;
    helper->watch = loop_watch_create(loop, helper->fd, LOOP_READ, on_ready, helper);
    set_interest(helper);
    if (helper->unsealed_count > 0)
        loop_defer(loop, seal_groups, helper);
    return 0;
}

/* ---- The end ---- */

static void wait_for_end(pid_t pid)
{
    struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};

    poll(&end, 1, CLOSE_WAIT_MS);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(end.fd);
}

/* The end of the socket is the request: it needs no room in it. */
void helper_close(struct helper *helper)
{
    pid_t pid = helper->pid;

    if (helper->loop != NULL)
        loop_defer_cancel(helper->loop, helper);
    flush_queue(helper);
    close_socket(helper);
    if (pid > 0)
        wait_for_end(pid);
    buffer_fini(&helper->request);
    free(helper->unsealed);
    free(helper);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/helper.h"

#include <assert.h>
#include <errno.h>
#include <linux/mempolicy.h>
#include <linux/sockios.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/wire.h"
#include "launch/exec/helper_cgroup.h"
#include "launch/exec/helper_process.h"
#include "launch/exec/helper_wire.h"
#include "launch/exec/orphan.h"

#define CLOSE_WAIT_MS   5000
#define ORPHANS_WAIT_MS 2000
/* What the duplicates of waiting packets may take of the limit of descriptors: the eighth part. */
#define FDS_SHARE 8
/* Together at least a second: a helper that is stopped must not stop us for longer. */
#define SESSION_PAUSE_NS   50000
#define SESSION_PAUSES_MAX 20000

/* A packet that the socket had no room for. */
struct packet {
    struct list_link node;
    uint64_t id; /* of its request */
    size_t bytes;
    uint32_t fds_count;
    int fds[HELPER_FDS_MAX]; /* our duplicates */
    unsigned char data[];
};

/* A process that the helper could not be asked to start. */
struct refusal {
    uint64_t id;
    int code;
};

struct helper {
    pid_t pid;
    int fd; /* -1 once it has ended */
    struct loop *loop;
    struct loop_watch *watch;
    const struct helper_events *events;
    void *context;
    struct list queue;
    uint32_t fds_queued;   /* duplicates in the queue */
    int spares_daemons;    /* those that are started outlive us */
    struct buffer request; /* being encoded; kept for its memory */
    uint32_t *unsealed;    /* groups that got processes in this turn of the loop */
    uint32_t unsealed_count;
    uint32_t unsealed_capacity;
    struct refusal *refused; /* reported when this turn of the loop is over */
    uint32_t refused_count;
    uint32_t refused_capacity;
};

static int (*daemon_main)(const char *virtual_node);

static void helper_check(const struct helper *helper)
{
    assert(helper->fd >= 0 || (helper->watch == NULL && list_is_empty(&helper->queue)));
    assert(!list_is_empty(&helper->queue) || helper->fds_queued == 0);
    assert(helper->unsealed_count <= helper->unsealed_capacity);
    assert(helper->refused_count <= helper->refused_capacity);
    assert(helper->watch == NULL || (helper->loop != NULL && helper->events != NULL));
}

void helper_set_daemon(int (*entry)(const char *virtual_node))
{
    daemon_main = entry;
}

struct helper *helper_fork(struct error *error)
{
    struct helper_setup setup = {.daemon_entry = daemon_main};
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

int helper_is_busy(const struct helper *helper)
{
    return !list_is_empty(&helper->queue);
}

int helper_is_gone(const struct helper *helper)
{
    return helper->fd < 0;
}

/* ---- Sending ---- */

/* 0 or -errno. */
static int send_packet(int fd, const void *data, size_t bytes, const int *fds, uint32_t fds_count)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int) * HELPER_FDS_MAX)];
        struct cmsghdr align;
    } control = {0};
    struct iovec part = {(void *)(uintptr_t)data, bytes};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};

    assert(bytes > 0 && fds_count <= HELPER_FDS_MAX);
    if (fds_count > 0) {
        struct cmsghdr *rights = &control.align;
        header.msg_control = control.bytes;
        header.msg_controllen = CMSG_SPACE(sizeof(int) * fds_count);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int) * fds_count);
        memcpy(CMSG_DATA(rights), fds, sizeof(int) * fds_count);
    }
    return sendmsg(fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static void packet_destroy(struct helper *helper, struct packet *packet)
{
    assert(helper->fds_queued >= packet->fds_count);
    for (uint32_t i = 0; i < packet->fds_count; i++)
        close(packet->fds[i]);
    helper->fds_queued -= packet->fds_count;
    list_remove(&packet->node);
    free(packet);
}

static void drop_queue(struct helper *helper)
{
    struct list_link *node;

    while ((node = list_first(&helper->queue)) != NULL)
        packet_destroy(helper, list_entry(node, struct packet, node));
}

static int must_wait(int code)
{
    return code == -EAGAIN || code == -EINTR || code == -ENOBUFS || code == -ETOOMANYREFS ||
           code == -ENOMEM;
}

/* That is noticed, and reported, by reading. */
static int is_gone(int code)
{
    return code == -EPIPE || code == -ECONNRESET;
}

static void set_interest(struct helper *helper)
{
    if (helper->watch != NULL)
        loop_watch_set(helper->watch, LOOP_READ | (list_is_empty(&helper->queue) ? 0 : LOOP_WRITE));
}

/* ---- Refused ---- */

static void tell_refused(void *context)
{
    struct helper *helper = context;

    for (uint32_t i = 0; i < helper->refused_count; i++)
        helper->events->failed(helper->context, helper->refused[i].id, helper->refused[i].code,
                               START_STEP_FORK, "");
    helper->refused_count = 0;
}

/* A start always has an answer, though not from within helper_start. */
static void refuse_start(struct helper *helper, uint64_t id, int code)
{
    if (helper->refused_count == helper->refused_capacity) {
        helper->refused_capacity = helper->refused_capacity * 2 + 4;
        helper->refused =
            memory_resize(helper->refused, helper->refused_capacity * sizeof(*helper->refused));
    }
    helper->refused[helper->refused_count++] = (struct refusal){.id = id, .code = code};
    if (helper->loop != NULL && helper->refused_count == 1)
        loop_defer(helper->loop, tell_refused, helper);
}

/* The first of the queue will never go, nor what follows of its request.  Only what carries
 * descriptors can be refused: the first packet of a start. */
static void refuse_first(struct helper *helper, int code)
{
    struct list_link *node;
    int more = 1;

    refuse_start(helper, list_entry(list_first(&helper->queue), struct packet, node)->id, code);
    while (more && (node = list_first(&helper->queue)) != NULL) {
        struct packet *packet = list_entry(node, struct packet, node);
        more = packet->data[0];
        packet_destroy(helper, packet);
    }
}

/* ---- The queue ---- */

/* Sends what waits. */
static void flush_queue(struct helper *helper)
{
    struct list_link *node;

    while ((node = list_first(&helper->queue)) != NULL) {
        struct packet *packet = list_entry(node, struct packet, node);
        int rc =
            send_packet(helper->fd, packet->data, packet->bytes, packet->fds, packet->fds_count);
        if (must_wait(rc))
            break;
        if (rc == 0 || is_gone(rc))
            packet_destroy(helper, packet);
        else
            refuse_first(helper, rc);
    }
    set_interest(helper);
}

static int duplicate_fds(const int *fds, uint32_t fds_count, int *ret_fds)
{
    for (uint32_t i = 0; i < fds_count; i++) {
        ret_fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);
        if (ret_fds[i] < 0) {
            int code = -errno;
            while (i > 0)
                close(ret_fds[--i]);
            return code;
        }
    }
    return 0;
}

static uint32_t fds_queued_max(void)
{
    struct rlimit files;

    return getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < UINT32_MAX
               ? (uint32_t)files.rlim_cur / FDS_SHARE
               : UINT32_MAX;
}

static int queue_packet(struct helper *helper, uint64_t id, const void *data, size_t bytes,
                        const int *fds, uint32_t fds_count)
{
    struct packet *packet;
    int rc;

    assert(fds_count <= HELPER_FDS_MAX);
    if (fds_count > 0 && helper->fds_queued + fds_count > fds_queued_max())
        return -EMFILE;
    packet = memory_allocate(sizeof(*packet) + bytes);
    rc = duplicate_fds(fds, fds_count, packet->fds);
    if (rc < 0) {
        free(packet);
        return rc;
    }
    packet->id = id;
    packet->bytes = bytes;
    packet->fds_count = fds_count;
    memcpy(packet->data, data, bytes);
    list_append(&helper->queue, &packet->node);
    helper->fds_queued += fds_count;
    set_interest(helper);
    return 0;
}

static int send_or_queue(struct helper *helper, uint64_t id, const void *data, size_t bytes,
                         const int *fds, uint32_t fds_count)
{
    int rc = list_is_empty(&helper->queue) ? send_packet(helper->fd, data, bytes, fds, fds_count)
                                           : -EAGAIN;

    if (is_gone(rc))
        return 0;
    return must_wait(rc) ? queue_packet(helper, id, data, bytes, fds, fds_count) : rc;
}

/* Cuts an encoded request into packets: each with a byte in front, 1 if more follows. */
static void send_request(struct helper *helper, const struct helper_request *request,
                         const int *fds)
{
    unsigned char packet[HELPER_PACKET_BYTES_MAX];
    uint32_t fds_count = request->targets_count;
    size_t sent = 0;

    helper_check(helper);
    if (helper->fd < 0)
        return;
    buffer_clear(&helper->request);
    helper_request_encode(request, &helper->request);
    assert(helper->request.length_bytes > 0);
    do {
        size_t bytes = helper->request.length_bytes - sent;
        int rc;
        if (bytes > sizeof(packet) - 1)
            bytes = sizeof(packet) - 1;
        packet[0] = sent + bytes < helper->request.length_bytes;
        memcpy(packet + 1, helper->request.data + sent, bytes);
        rc = send_or_queue(helper, request->id, packet, bytes + 1, fds, fds_count);
        if (rc < 0) {
            assert(fds_count > 0); /* so it is the first packet of a start */
            refuse_start(helper, request->id, rc);
            return;
        }
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

void helper_seal_group(struct helper *helper, uint32_t group)
{
    send_request(helper, &(struct helper_request){.type = HELPER_SEAL_GROUP, .group = group}, NULL);
}

static void seal_groups(void *context)
{
    struct helper *helper = context;

    for (uint32_t i = 0; i < helper->unsealed_count; i++)
        helper_seal_group(helper, helper->unsealed[i]);
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

/* The kernel's form of a set: bits in words.  NULL for no set. */
static const unsigned char *make_mask(const struct ranges *set, struct buffer *out,
                                      uint32_t *ret_bytes)
{
    const unsigned bits = 8 * sizeof(unsigned long);
    unsigned long *words;
    uint32_t count, number = 0;

    *ret_bytes = 0;
    if (set == NULL || ranges_is_empty(set))
        return NULL;
    count = ranges_max(set) / bits + 1;
    words = memory_allocate_zeroed(count * sizeof(*words));
    for (; ranges_next(set, number, &number); number++)
        words[number / bits] |= 1ul << number % bits;
    buffer_append(out, words, count * sizeof(*words));
    free(words);
    *ret_bytes = (uint32_t)out->length_bytes;
    return out->data;
}

void helper_start(struct helper *helper, const struct helper_process *process)
{
    struct helper_request request = {.type = HELPER_START,
                                     .id = process->id,
                                     .group = process->group,
                                     .path = process->directory,
                                     .argv = process->argv,
                                     .environment = process->environment};
    struct buffer cpus = {0}, memory = {0};
    int fds[HELPER_FDS_MAX];

    assert(process->argv != NULL && process->argv[0] != NULL);
    request.value = (process->is_stopped ? HELPER_START_STOPPED : 0) |
                    (process->ends_group ? HELPER_START_ENDS_GROUP : 0) |
                    (process->has_terminal ? HELPER_START_TERMINAL : 0);
    request.cpus = make_mask(process->cpus, &cpus, &request.cpus_bytes);
    request.memory = make_mask(process->memory, &memory, &request.memory_bytes);
    if (process->limits != NULL)
        request.limits = *process->limits;
    request.memory_mode = process->memory_is_bound ? MPOL_BIND : MPOL_PREFERRED;
    set_fds(&request, fds, process->fds, process->fds_count);
    send_request(helper, &request, fds);
    buffer_fini(&cpus);
    buffer_fini(&memory);
    if (process->group > 0 && !process->more_follow)
        unseal_group(helper, process->group);
}

void helper_spare_daemons(struct helper *helper)
{
    helper->spares_daemons = 1;
}

void helper_start_daemon(struct helper *helper, uint64_t id, const char *virtual_node,
                         const char *virtual_base, const struct helper_fd *fds, uint32_t fds_count)
{
    struct helper_request request = {
        .type = HELPER_START_DAEMON, .id = id, .path = virtual_base, .name = virtual_node};
    int plain[HELPER_FDS_MAX];

    request.value = (uint32_t)helper->spares_daemons;
    set_fds(&request, plain, fds, fds_count);
    send_request(helper, &request, plain);
}

void helper_survey(struct helper *helper, uint64_t id, unsigned int want, const char *require,
                   uint32_t node, int fd)
{
    char number[16];
    char *argv[] = {number, NULL};
    struct helper_request request = {
        .type = HELPER_SURVEY, .id = id, .value = want, .name = require, .argv = argv};
    const struct helper_fd fds = {.fd = fd, .target = STDOUT_FILENO};
    int plain[HELPER_FDS_MAX];

    assert(fd >= 0);
    snprintf(number, sizeof(number), "%u", node);
    set_fds(&request, plain, &fds, 1);
    send_request(helper, &request, plain);
}

void helper_stacks(struct helper *helper, uint64_t id, char *const *words, uint32_t limit_ms,
                   int fd)
{
    struct helper_request request = {
        .type = HELPER_STACKS, .id = id, .value = limit_ms, .argv = words};
    const struct helper_fd fds = {.fd = fd, .target = STDOUT_FILENO};
    int plain[HELPER_FDS_MAX];

    assert(fd >= 0 && words[0] != NULL);
    set_fds(&request, plain, &fds, 1);
    send_request(helper, &request, plain);
}

void helper_stage(struct helper *helper, uint64_t id, const char *base, const char *cache,
                  uint32_t place, int shares, int fd)
{
    char number[16];
    char *argv[] = {number, NULL};
    struct helper_request request = {.type = HELPER_STAGE,
                                     .id = id,
                                     .value = (uint32_t)shares,
                                     .path = base,
                                     .name = cache,
                                     .argv = argv};
    const struct helper_fd fds = {.fd = fd, .target = STDIN_FILENO};
    int plain[HELPER_FDS_MAX];

    assert(fd >= 0);
    snprintf(number, sizeof(number), "%u", place);
    set_fds(&request, plain, &fds, 1);
    send_request(helper, &request, plain);
}

void helper_signal_group(struct helper *helper, uint32_t group, int number)
{
    send_request(helper,
                 &(struct helper_request){
                     .type = HELPER_SIGNAL_GROUP, .group = group, .value = (uint32_t)number},
                 NULL);
}

void helper_signal(struct helper *helper, uint64_t id, int number)
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

/* Until it has its session it is in our process group and has our name: what kills us by either kills
 * it, too.  It has it by now unless the machine is busy. */
static void wait_for_session(const struct helper *helper)
{
    struct timespec pause = {.tv_nsec = SESSION_PAUSE_NS};
    siginfo_t ended = {0};

    assert(helper->pid > 0);
    for (int i = 0; i < SESSION_PAUSES_MAX && getsid(helper->pid) != helper->pid; i++) {
        if (waitid(P_PID, (id_t)helper->pid, &ended, WEXITED | WNOHANG | WNOWAIT) < 0 ||
            ended.si_pid != 0)
            return;
        nanosleep(&pause, NULL);
    }
}

void helper_own_directory(struct helper *helper, const char *path)
{
    assert(path != NULL);
    if (helper->pid > 0)
        wait_for_session(helper);
    send_request(helper, &(struct helper_request){.type = HELPER_OWN_DIRECTORY, .path = path},
                 NULL);
}

void helper_remove_directory(struct helper *helper, const char *path)
{
    assert(path != NULL);
    send_request(helper,
                 &(struct helper_request){.type = HELPER_OWN_DIRECTORY, .path = path, .value = 1},
                 NULL);
}

int helper_is_behind(const struct helper *helper)
{
    int unread = 0;

    return helper->fd >= 0 && (!list_is_empty(&helper->queue) ||
                               (ioctl(helper->fd, SIOCOUTQ, &unread) == 0 && unread > 0));
}

void helper_lease(struct helper *helper, uint32_t milliseconds)
{
    send_request(helper, &(struct helper_request){.type = HELPER_LEASE, .value = milliseconds},
                 NULL);
}

void helper_detach(struct helper *helper)
{
    send_request(helper, &(struct helper_request){.type = HELPER_DETACH}, NULL);
}

/* ---- Events ---- */

static void tell_failed(struct helper *helper, const struct helper_event *event)
{
    struct buffer text = {0};

    for (const char *byte = event->text; *byte != '\0'; byte++) {
        if (*byte == '\r')
            buffer_append_string(&text, "\\r");
        else if ((unsigned char)*byte < ' ' || *byte == 0x7f)
            buffer_printf(&text, "\\%03o", (unsigned int)(unsigned char)*byte);
        else
            buffer_append(&text, byte, 1);
    }
    helper->events->failed(helper->context, event->id, event->value, (enum start_step)event->detail,
                           buffer_string(&text));
    buffer_fini(&text);
}

static void deliver_event(struct helper *helper, const struct helper_event *event)
{
    const struct helper_events *events = helper->events;

    switch (event->type) {
    case HELPER_STARTED:
        events->started(helper->context, event->id, event->value);
        break;
    case HELPER_FAILED:
        tell_failed(helper, event);
        break;
    case HELPER_EXITED:
        events->exited(helper->context, event->id, event->value, (enum helper_end)event->detail,
                       &event->usage);
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
    helper->refused_count = 0;
}

/* Its children have died with it; what they leave falls to us, as subreaper. */
static void end_orphans(const struct helper *helper)
{
    orphan_kill_all(ORPHANS_WAIT_MS, helper->spares_daemons);
    helper_cgroup_clean();
}

static void helper_died(struct helper *helper)
{
    close_socket(helper);
    kill(helper->pid, SIGKILL);
    waitpid(helper->pid, NULL, 0);
    helper->pid = 0;
    end_orphans(helper);
    helper->events->gone(helper->context);
}

static void on_ready(void *context, int fd, unsigned int ready)
{
    struct helper *helper = context;
    unsigned char packet[HELPER_PACKET_BYTES_MAX];
    struct helper_event event;
    struct wire_reader reader;
    ssize_t bytes;

    helper_check(helper);
    if (ready & LOOP_WRITE) {
        flush_queue(helper);
        if (list_is_empty(&helper->queue) && helper->events->room != NULL)
            helper->events->room(helper->context);
    }
    if (!(ready & LOOP_READ))
        return;
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
        deliver_event(helper, &event);
}

int helper_attach(struct helper *helper, struct loop *loop, const struct helper_events *events,
                  void *context)
{
    assert(helper->loop == NULL && helper->watch == NULL && loop != NULL && events != NULL);
    helper->loop = loop;
    helper->events = events;
    helper->context = context;
    helper->watch = loop_watch_create(loop, helper->fd, LOOP_READ, on_ready, helper);
    set_interest(helper);
    if (helper->unsealed_count > 0)
        loop_defer(loop, seal_groups, helper);
    if (helper->refused_count > 0)
        loop_defer(loop, tell_refused, helper);
    return 0;
}

/* ---- The end ---- */

/* 0, or -EOWNERDEAD if it was killed, by us or by others. */
static int wait_for_end(pid_t pid)
{
    struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    int status = 0; /* also if the system has waited for it: SIGCHLD is ignored */

    assert(pid > 0);
    poll(&end, 1, CLOSE_WAIT_MS);
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    close(end.fd);
    return status == 0 ? 0 : -EOWNERDEAD;
}

/* The end of the socket is the request: it needs no room in it. */
int helper_close(struct helper *helper)
{
    pid_t pid = helper->pid;
    int rc = -EOWNERDEAD;

    if (helper->loop != NULL)
        loop_defer_cancel(helper->loop, helper);
    flush_queue(helper);
    close_socket(helper);
    if (pid > 0) {
        rc = wait_for_end(pid);
        if (rc < 0)
            end_orphans(helper);
    }
    buffer_fini(&helper->request);
    free(helper->unsealed);
    free(helper->refused);
    free(helper);
    return rc;
}

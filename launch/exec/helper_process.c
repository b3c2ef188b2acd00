/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/helper_process.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "launch/proto/boot.h"
#include "launch/exec/descriptor.h"
#include "launch/exec/helper_cgroup.h"
#include "launch/exec/helper_state.h"
#include "launch/exec/orphan.h"
#include "launch/exec/process_title.h"
#include "launch/exec/session.h"
#include "launch/exec/stack_read.h"
#include "launch/exec/stage_worker.h"
#include "launch/exec/survey_read.h"
#include "launch/proto/exit_status.h"
#include "launch/exec/virtual_node.h"

#define EPOLL_EVENTS   32
#define REQUESTS_MAX   64 /* taken in a row before ended children are looked after */
#define CLOSE_MAX_MS   4000
#define CLOSE_RETRY_MS 20
#define MARK_BYTES     64
#define STARTING_MS    20 /* how long the news of a good start may wait for company */
#define STARTING_MAX   16 /* and how many: each holds a descriptor and the memory of its start */

uint64_t helper_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- To the daemon ---- */

static void state_check(const struct helper_state *state)
{
    assert((state->starting_count == 0) == list_is_empty(&state->starting));
    assert((state->starting_count == 0) == (state->starting_ns == UINT64_MAX));
    assert(state->starting_count < STARTING_MAX);
    assert(state->fds_count <= sizeof(state->fds) / sizeof(state->fds[0]));
    assert(state->socket_open || state->closing);
    assert(!state->closing || state->give_up_ns > 0);
}

void helper_tell(struct helper_state *state, enum helper_event_type type, uint64_t id,
                 int32_t value, uint32_t detail)
{
    struct helper_event event = {.type = type, .id = id, .value = value, .detail = detail};

    assert(type < HELPER_EVENT_COUNT);
    helper_event_encode(&event, &state->events);
}

static void watch_socket(struct helper_state *state, int writable)
{
    struct epoll_event event = {.events = EPOLLIN | (writable ? EPOLLOUT : 0u),
                                .data.ptr = &state->socket_open};

    state->sending = writable;
    epoll_ctl(state->epoll_fd, EPOLL_CTL_MOD, state->setup.socket_fd, &event);
}

/* Sends the queued events; those that the daemon does not accept now stay queued. */
static void flush_events(struct helper_state *state)
{
    while (state->socket_open && state->events.length_bytes > 0) {
        size_t bytes = helper_events_fit(state->events.data, state->events.length_bytes,
                                         HELPER_PACKET_BYTES_MAX);
        if (send(state->setup.socket_fd, state->events.data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) <
            0)
            break;
        buffer_consume(&state->events, bytes);
    }
    if (state->socket_open && state->sending != (state->events.length_bytes > 0))
        watch_socket(state, !state->sending);
}

/* ---- Starting ---- */

static void close_fds(struct helper_state *state)
{
    for (uint32_t i = 0; i < state->fds_count; i++)
        close(state->fds[i]);
    state->fds_count = 0;
}

static struct worker *add_worker(struct helper_state *state, const struct helper_request *request,
                                 pid_t pid)
{
    struct worker *worker = memory_allocate_zeroed(sizeof(*worker));

    assert(pid > 0 && hash_map_get_u64(state->by_pid, (uint64_t)pid) == NULL);
    worker->id = request->id;
    worker->group = request->group;
    worker->pid = pid;
    worker->report_fd = -1;
    list_link_init(&worker->starting);
    hash_map_put_u64(state->by_id, worker->id, worker);
    hash_map_put_u64(state->by_pid, (uint64_t)pid, worker);
    if (worker->group > 0)
        helper_group_get(state, worker->group)->living++;
    return worker;
}

/* By its mark an orphan of it is known; that of an enclosing helper is replaced. */
static void mark_environment(struct helper_order *order, char mark[MARK_BYTES])
{
    char **to = order->environment;

    snprintf(mark, MARK_BYTES, ORPHAN_MARK "%d.%u", (int)getpid(), order->request.group);
    for (char **from = to; *from != NULL; from++)
        if (strncmp(*from, ORPHAN_MARK, strlen(ORPHAN_MARK)) != 0)
            *to++ = *from;
    *to = NULL;
    *--order->environment = mark;
}

static pid_t spawn_child(struct helper_state *state, struct child_start *start, int *ret_report_fd)
{
    uint32_t number = start->order.request.group;
    struct group *group = number > 0 ? helper_group_get(state, number) : NULL;
    int cgroup_fd = group != NULL ? group->cgroup_fd : -1;

    if (group != NULL && group->ending)
        return -ECANCELED;
    return helper_child_spawn(start, cgroup_fd, ret_report_fd);
}

static void watch_report(struct helper_state *state, struct worker *worker)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = worker};

    assert(worker->report_fd >= 0 && !worker->watched);
    worker->watched = 1;
    epoll_ctl(state->epoll_fd, EPOLL_CTL_ADD, worker->report_fd, &event);
}

static void stop_waiting(struct helper_state *state, struct worker *worker)
{
    if (!list_is_linked(&worker->starting))
        return;
    assert(state->starting_count > 0);
    list_remove(&worker->starting);
    if (--state->starting_count == 0)
        state->starting_ns = UINT64_MAX;
}

/* Learns how the start went, if that can be known by now. */
static int finish_start(struct helper_state *state, struct worker *worker, int ended)
{
    struct child_failure failure;
    int result = helper_child_result(worker->report_fd, &failure);

    assert(worker->report_fd >= 0 && worker->start != NULL);
    if (result == 0 && !ended)
        return 0;
    if (result > 0 && (worker->start->order.request.value & HELPER_START_STOPPED) &&
        !worker->let_go && !ended)
        return 0; /* it is on its way to its first instruction */
    if (result >= 0) {
        helper_tell(state, HELPER_STARTED, worker->id, worker->pid, 0);
    } else {
        struct helper_event event = {
            .type = HELPER_FAILED, .id = worker->id, .value = failure.code, .detail = failure.step};
        worker->failed = 1;
        memcpy(event.text, failure.text, sizeof(event.text));
        helper_event_encode(&event, &state->events);
    }
    stop_waiting(state, worker);
    /* Siblings on their way to exec may still hold a copy, which would keep the event alive. */
    if (worker->watched)
        epoll_ctl(state->epoll_fd, EPOLL_CTL_DEL, worker->report_fd, NULL);
    close(worker->report_fd);
    worker->report_fd = -1;
    helper_child_start_give(worker->start);
    worker->start = NULL;
    return 1;
}

/* Looks at all that have been started a moment ago; waits for those whose exec takes longer. */
static void finish_starts(struct helper_state *state)
{
    struct list_link *node, *spare;

    list_for_each(&state->starting, node, spare)
    {
        struct worker *worker = list_entry(node, struct worker, starting);
        if (finish_start(state, worker, 0))
            continue;
        stop_waiting(state, worker);
        watch_report(state, worker);
    }
}

/* That a process runs is no news for a moment: one that ends soon is reported once, not twice (one
 * wake-up less of helper and daemon and one message less up the tree: 0.05 ms a node). */
static void wait_for_start(struct helper_state *state, struct worker *worker)
{
    assert(!list_is_linked(&worker->starting));
    list_append(&state->starting, &worker->starting);
    if (state->starting_count++ == 0)
        state->starting_ns = helper_now_ns() + STARTING_MS * NS_PER_MS;
    if (state->starting_count == STARTING_MAX)
        finish_starts(state);
}

/* Takes the order and the message it lies in. */
static void start_process(struct helper_state *state, struct helper_order *order)
{
    struct child_start *start = helper_child_start_take();
    struct worker *worker;
    char *mark = memory_allocate(MARK_BYTES);
    int report_fd;
    pid_t pid;

    mark_environment(order, mark);
    start->order = *order;
    start->message = buffer_take(&state->incoming, NULL);
    start->mark = mark;
    start->null_fd = state->null_fd;
    start->files = state->setup.files;
    memcpy(start->fds, state->fds, sizeof(start->fds));
    pid = spawn_child(state, start, &report_fd);
    if (pid < 0) {
        helper_tell(state, HELPER_FAILED, order->request.id, pid, START_STEP_FORK);
        helper_child_start_give(start);
        return;
    }
    worker = add_worker(state, &start->order.request, pid);
    worker->ends_group = (start->order.request.value & HELPER_START_ENDS_GROUP) != 0;
    state->ends_groups += (uint32_t)worker->ends_group;
    worker->start = start;
    worker->report_fd = report_fd;
    wait_for_start(state, worker);
}

/* ---- Daemons of nodes on this machine: forked, not executed ---- */

static void place_standard_fds(struct helper_state *state, const struct helper_request *request)
{
    int placed[STDERR_FILENO + 1] = {state->null_fd, state->null_fd, state->null_fd};

    assert(request->targets_count <= state->fds_count);
    for (uint32_t i = 0; i < request->targets_count; i++)
        if (request->targets[i] <= STDERR_FILENO)
            placed[request->targets[i]] = state->fds[i];
    /* All are above 2: the helper never closes its own 0, 1 and 2. */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        dup2(placed[fd], fd);
    close_range(STDERR_FILENO + 1, ~0u, 0);
}

static void run_daemon(struct helper_state *state, const struct helper_request *request,
                       pid_t helper)
{
    struct error error = ERROR_NONE;
    int status = EXIT_STATUS_FAILED;
    sigset_t none;

    if (request->value == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != helper)
        _exit(EXIT_STATUS_FAILED);
    (void)setsid(); /* a separate group for the scheduler too: see child_detach */
    process_title_set(DAEMON_NAME, NULL);
    place_standard_fds(state, request);
    setrlimit(RLIMIT_NOFILE, &state->setup.files);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (request->name != NULL && virtual_node_enter(request->name, request->path, &error) < 0)
        dprintf(STDOUT_FILENO, BOOT_ERROR_MARKER "%s\n", error.text);
    else
        status = state->setup.daemon_entry(request->name);
    fflush(NULL);
    _exit(status);
}

static void start_daemon(struct helper_state *state, const struct helper_request *request)
{
    pid_t helper = getpid(), pid;
    struct worker *worker;

    if (state->setup.daemon_entry == NULL) {
        helper_tell(state, HELPER_FAILED, request->id, -ENOSYS, START_STEP_FORK);
        return;
    }
    pid = fork();
    if (pid == 0)
        run_daemon(state, request, helper);
    if (pid < 0) {
        helper_tell(state, HELPER_FAILED, request->id, -errno, START_STEP_FORK);
        return;
    }
    helper_tell(state, HELPER_STARTED, request->id, pid, 0);
    worker = add_worker(state, request, pid);
    worker->outlives = request->value != 0;
    state->spares_daemons |= request->value != 0;
}

/* ---- Inspecting the machine and staging files: in separate processes, as they may take long ---- */

static void begin_process(struct helper_state *state, const struct helper_request *request,
                          pid_t helper, const char *title)
{
    sigset_t none;

    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != helper)
        _exit(EXIT_STATUS_FAILED);
    (void)setpgid(0, 0);
    process_title_set(title, NULL);
    place_standard_fds(state, request);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void run_stage(struct helper_state *state, const struct helper_order *order, pid_t helper)
{
    const struct helper_request *request = &order->request;

    begin_process(state, request, helper, STAGE_NAME);
    (void)fcntl(STDIN_FILENO, F_SETFL, 0);
    _exit(stage_worker_run(STDIN_FILENO, request->path, request->name,
                           (uint32_t)strtoul(order->argv[0], NULL, 10), (int)request->value));
}

static void run_stacks(struct helper_state *state, const struct helper_order *order, pid_t helper)
{
    struct buffer answer = {0};

    begin_process(state, &order->request, helper, STACKS_NAME);
    stack_read(order->argv, order->request.value, &answer);
    _exit(descriptor_write_all(STDOUT_FILENO, &answer) == 0 ? 0 : EXIT_STATUS_FAILED);
}

static void run_survey(struct helper_state *state, const struct helper_order *order, pid_t helper)
{
    const struct helper_request *request = &order->request;
    struct buffer answer = {0};

    begin_process(state, request, helper, SURVEY_NAME);
    survey_read(request->value, request->name, (uint32_t)strtoul(order->argv[0], NULL, 10),
                &answer);
    _exit(descriptor_write_all(STDOUT_FILENO, &answer) == 0 ? 0 : EXIT_STATUS_FAILED);
}

static void start_own(struct helper_state *state, const struct helper_order *order,
                      void (*run)(struct helper_state *state, const struct helper_order *order,
                                  pid_t helper))
{
    pid_t helper = getpid();
    pid_t pid = fork();

    if (pid == 0)
        run(state, order, helper);
    if (pid < 0) {
        helper_tell(state, HELPER_FAILED, order->request.id, -errno, START_STEP_FORK);
        return;
    }
    add_worker(state, &order->request, pid);
    helper_tell(state, HELPER_STARTED, order->request.id, pid, 0);
}

/* ---- Requests ---- */

static void signal_worker(struct helper_state *state, uint64_t id, int number)
{
    struct worker *worker = hash_map_get_u64(state->by_id, id);

    if (worker != NULL)
        helper_worker_signal(worker, number);
}

static void own_directory(struct helper_state *state, const char *path, int now)
{
    struct owned_directory *directory = memory_allocate(sizeof(*directory));

    if (now)
        session_remove_directory(path);
    directory->path = memory_copy_string(path);
    list_append(&state->directories, &directory->node);
}

/* Daemons of other nodes are their own masters: they find another parent, or end. */
static void let_daemons_go(struct helper_state *state)
{
    size_t cursor = 0;
    struct worker *worker;

    while ((worker = hash_map_next(state->by_pid, &cursor)) != NULL) {
        if (!worker->outlives)
            continue;
        hash_map_remove_u64(state->by_pid, (uint64_t)worker->pid);
        hash_map_remove_u64(state->by_id, worker->id);
        free(worker);
    }
}

static void begin_close(struct helper_state *state)
{
    if (state->closing)
        return;
    let_daemons_go(state);
    state->closing = 1;
    state->look = 1; /* whom we spared before */
    state->give_up_ns = helper_now_ns() + CLOSE_MAX_MS * NS_PER_MS;
}

static void obey_order(struct helper_state *state, struct helper_order *order)
{
    const struct helper_request *request = &order->request;

    switch (request->type) {
    case HELPER_START:
        start_process(state, order);
        order->arrays = NULL;
        break;
    case HELPER_START_DAEMON:
        start_daemon(state, request);
        break;
    case HELPER_SURVEY:
        start_own(state, order, run_survey);
        break;
    case HELPER_STAGE:
        start_own(state, order, run_stage);
        break;
    case HELPER_STACKS:
        start_own(state, order, run_stacks);
        break;
    case HELPER_SIGNAL_GROUP:
        helper_group_signal(state, request->group, (int)request->value);
        break;
    case HELPER_SIGNAL:
        signal_worker(state, request->id, (int)request->value);
        break;
    case HELPER_END_GROUP:
        helper_group_end(state, request->group, request->value);
        break;
    case HELPER_SEAL_GROUP:
        helper_group_seal(state, request->group);
        break;
    case HELPER_OWN_DIRECTORY:
        own_directory(state, request->path, request->value != 0);
        break;
    case HELPER_DETACH:
        (void)dup2(state->null_fd, STDERR_FILENO);
        break;
    default: /* HELPER_LEASE */
        assert(request->type == HELPER_LEASE);
        state->lease_ns = helper_now_ns() + request->value * NS_PER_MS;
    }
}

static void take_fds(struct helper_state *state, struct msghdr *header)
{
    struct cmsghdr *control = CMSG_FIRSTHDR(header);

    if (control == NULL || control->cmsg_type != SCM_RIGHTS)
        return;
    state->fds_count = (uint32_t)((control->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    assert(state->fds_count <= sizeof(state->fds) / sizeof(state->fds[0]));
    memcpy(state->fds, CMSG_DATA(control), state->fds_count * sizeof(int));
}

/* One packet: its bytes without the first, which says whether more follows, are appended.  Returns
 * -1 at the end, -EAGAIN, or that first byte. */
static int receive_packet(struct helper_state *state)
{
    union {
        char bytes[CMSG_SPACE(sizeof(state->fds))];
        struct cmsghdr align;
    } control;
    unsigned char more;
    struct iovec parts[2] = {{&more, 1}, {NULL, HELPER_PACKET_BYTES_MAX}};
    struct msghdr header = {.msg_iov = parts, .msg_iovlen = 2, .msg_control = control.bytes};
    ssize_t bytes;

    parts[1].iov_base = buffer_reserve(&state->incoming, HELPER_PACKET_BYTES_MAX);
    /* A daemon that dies with events unread resets the pair: once, then comes what it had sent. */
    do {
        header.msg_controllen = sizeof(control);
        bytes = recvmsg(state->setup.socket_fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (bytes < 0 && errno == ECONNRESET);
    if (bytes < 0)
        return errno == EAGAIN || errno == EINTR ? -EAGAIN : -1;
    if (bytes == 0)
        return -1;
    buffer_commit(&state->incoming, (size_t)bytes - 1);
    take_fds(state, &header);
    return more;
}

static void daemon_gone(struct helper_state *state)
{
    assert(state->socket_open);
    epoll_ctl(state->epoll_fd, EPOLL_CTL_DEL, state->setup.socket_fd, NULL);
    close(state->setup.socket_fd);
    state->socket_open = 0;
    begin_close(state);
}

/* What does not fit into our table of descriptors the system throws away. */
static void fail_request(struct helper_state *state, const struct helper_request *request)
{
    if (request->group > 0)
        (void)helper_group_get(state, request->group); /* a group without processes ends, too */
    helper_tell(state, HELPER_FAILED, request->id, -EMFILE, START_STEP_FORK);
}

static void handle_request(struct helper_state *state)
{
    struct helper_order order;
    int rc = helper_order_decode(&order, state->incoming.data, state->incoming.length_bytes);

    assert(rc == 0); /* the daemon is the same program */
    if (order.request.targets_count == state->fds_count)
        obey_order(state, &order);
    else
        fail_request(state, &order.request);
    free(order.arrays);
    close_fds(state);
    buffer_clear(&state->incoming);
}

static void read_requests(struct helper_state *state)
{
    for (int i = 0; i < REQUESTS_MAX; i++) {
        int more = receive_packet(state);
        if (more == -EAGAIN)
            return;
        if (more < 0) {
            daemon_gone(state);
            return;
        }
        if (more == 0)
            handle_request(state);
    }
}

/* ---- Ended children ---- */

static void remove_worker(struct helper_state *state, struct worker *worker)
{
    assert(worker->report_fd < 0 && !list_is_linked(&worker->starting));
    hash_map_remove_u64(state->by_pid, (uint64_t)worker->pid);
    if (hash_map_get_u64(state->by_id, worker->id) == worker)
        hash_map_remove_u64(state->by_id, worker->id);
    state->ends_groups -= (uint32_t)worker->ends_group;
    if (worker->group > 0)
        helper_group_worker_gone(state, worker->group);
    else
        state->look = 1; /* a daemon or an agent may have left something */
    free(worker);
}

static void reap_one(struct helper_state *state, pid_t pid, int status, const struct rusage *usage)
{
    struct worker *worker = hash_map_get_u64(state->by_pid, (uint64_t)pid);

    if (WIFSIGNALED(status) && (worker == NULL || worker->group == 0))
        state->clean = 1;
    if (worker == NULL) {
        state->look = 1;
        return;
    }
    if (worker->report_fd >= 0)
        (void)finish_start(state, worker, 1);
    if (!worker->failed)
        helper_exit_tell(state, worker, status, usage);
    remove_worker(state, worker);
}

/* A process that is to stop before its first instruction is ours to trace until its exec has succeeded: there it
 * stops, and stays so without us.  Signals on the way to that go on to it. */
static void let_go(struct helper_state *state, pid_t pid, int number)
{
    struct worker *worker = hash_map_get_u64(state->by_pid, (uint64_t)pid);

    if (number != SIGTRAP) {
        (void)ptrace(PTRACE_CONT, pid, NULL, (void *)(uintptr_t)number);
        return;
    }
    (void)ptrace(PTRACE_DETACH, pid, NULL, (void *)(uintptr_t)SIGSTOP);
    if (worker != NULL)
        worker->let_go = 1;
}

static void reap_children(struct helper_state *state)
{
    struct signalfd_siginfo info;
    struct rusage usage;
    int status;
    pid_t pid;

    /* There is never more than one: all signals are SIGCHLD, which does not queue. */
    (void)!read(state->signal_fd, &info, sizeof(info));
    while ((pid = helper_group_reap_next(state, &status, &usage)) > 0) {
        if (WIFSTOPPED(status))
            let_go(state, pid, WSTOPSIG(status));
        else
            reap_one(state, pid, status, &usage);
    }
    if (state->clean)
        helper_cgroup_clean();
    state->clean = 0;
}

/* ---- The end ---- */

/* 0: one is still being written to, as by the daemon's PMIx server, which dies with it and not with us. */
static int remove_directories(struct helper_state *state)
{
    struct list_link *node, *spare;
    int all = 1;

    list_for_each(&state->directories, node, spare)
    {
        const char *path = list_entry(node, struct owned_directory, node)->path;

        session_remove_directory(path);
        session_remove_of_root(path);
        all &= access(path, F_OK) < 0;
    }
    return all;
}

/* Kills all that is left, again and again; exits when nothing is. */
static void close_step(struct helper_state *state)
{
    assert(state->closing);
    helper_workers_kill(state);
    helper_groups_kill(state);
    helper_groups_step(state);
    if ((hash_map_count(state->by_pid) > 0 || state->look) && helper_now_ns() < state->give_up_ns)
        return;
    if (!remove_directories(state) && helper_now_ns() < state->give_up_ns)
        return;
    _exit(0);
}

/* ---- The loop ---- */

static int wait_milliseconds(const struct helper_state *state)
{
    uint64_t deadline_ns = helper_groups_deadline_ns(state);
    uint64_t now_ns;

    if (state->lease_ns < deadline_ns)
        deadline_ns = state->lease_ns;
    if (state->starting_ns < deadline_ns)
        deadline_ns = state->starting_ns;
    if (deadline_ns == UINT64_MAX && !state->closing)
        return -1;
    now_ns = helper_now_ns();
    if (state->closing && deadline_ns > now_ns + CLOSE_RETRY_MS * NS_PER_MS)
        deadline_ns = now_ns + CLOSE_RETRY_MS * NS_PER_MS;
    return deadline_ns <= now_ns ? 0 : (int)((deadline_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS);
}

/* We may have been stopped ourselves: then the renewals are here, unread. */
static void enforce_lease(struct helper_state *state)
{
    if (state->lease_ns > helper_now_ns())
        return;
    if (state->socket_open)
        read_requests(state);
    if (state->lease_ns > helper_now_ns())
        return;
    state->lease_ns = UINT64_MAX;
    helper_groups_kill(state);
}

static void run_turn(struct helper_state *state)
{
    struct epoll_event events[EPOLL_EVENTS];
    int count = epoll_wait(state->epoll_fd, events, EPOLL_EVENTS, wait_milliseconds(state));
    int reading = 0, reaping = 0;

    state_check(state);
    for (int i = 0; i < count; i++) {
        if (events[i].data.ptr == &state->socket_open)
            reading = 1;
        else if (events[i].data.ptr == &state->signal_fd)
            reaping = 1;
        else
            (void)finish_start(state, events[i].data.ptr, 0);
    }
    /* After the events, as it frees workers that they name; before the requests, so that what ended
     * by itself is not counted as ended by us. */
    if (reaping)
        reap_children(state);
    if (reading && state->socket_open)
        read_requests(state);
    if (state->starting_ns <= helper_now_ns())
        finish_starts(state);
    enforce_lease(state);
    if (state->closing)
        close_step(state);
    else
        helper_groups_step(state);
    flush_events(state);
}

/* Nothing of the daemon stays open but the socket and 2; 0 and 1 are held by /dev/null. */
static void keep_only_socket(struct helper_state *state)
{
    int socket_fd = fcntl(state->setup.socket_fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

    assert(socket_fd > STDERR_FILENO);
    state->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(state->null_fd, STDIN_FILENO);
    dup2(state->null_fd, STDOUT_FILENO);
    if (fcntl(STDERR_FILENO, F_GETFD) < 0)
        dup2(state->null_fd, STDERR_FILENO);
    if (socket_fd > STDERR_FILENO + 1)
        close_range(STDERR_FILENO + 1, (unsigned int)socket_fd - 1, 0);
    close_range((unsigned int)socket_fd + 1, ~0u, 0);
    state->setup.socket_fd = socket_fd;
    state->null_fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    assert(state->null_fd > STDERR_FILENO);
}

static void set_signals(struct helper_state *state)
{
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigset_t set;

    for (int number = 1; number < NSIG; number++)
        sigaction(number, &standard, NULL);
    sigfillset(&set);
    sigprocmask(SIG_SETMASK, &set, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    state->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void watch_tagged(struct helper_state *state, int fd, void *tag)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = tag};

    epoll_ctl(state->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static void raise_files_limit(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) < 0)
        return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

void helper_process_run(const struct helper_setup *setup)
{
    struct helper_state state = {
        .setup = *setup, .socket_open = 1, .lease_ns = UINT64_MAX, .starting_ns = UINT64_MAX};

    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    process_title_set(HELPER_NAME, NULL);
    setsid(); /* last: by it the daemon knows that we are no longer killed with it */
    keep_only_socket(&state);
    raise_files_limit();
    set_signals(&state);
    list_init(&state.groups);
    list_init(&state.directories);
    list_init(&state.starting);
    state.by_id = hash_map_create();
    state.by_pid = hash_map_create();
    state.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    watch_tagged(&state, state.setup.socket_fd, &state.socket_open);
    watch_tagged(&state, state.signal_fd, &state.signal_fd);
    for (;;)
        run_turn(&state);
}

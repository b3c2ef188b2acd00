/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/support/nodes_node.h"

#include <arpa/inet.h>
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pmix/hello.h"
#include "pmix/pmi_socket.h"
#include "pmix/host_environment.h"

#define CLIENTS_MAX 80
#define TIMERS_MAX  16

/* A fence with a time limit. */
struct timer {
    uint64_t id;
    int64_t deadline_ms;
};

struct endpoint {
    const struct nodes_case *it;
    uint32_t index;
    char name[32];
    char namespace[32];
    uint32_t job;
    char directory[256];
    int hub;
    int signals;
    int listener;
    uint16_t port;
    const struct host_table *table;
    struct host *host;
    int own[2];  /* what libpmix's thread says to the main one */
    int is_open; /* the host knows the job */
    struct pmi_socket *pmi1;
    pid_t pids[CLIENTS_MAX];
    int pmi_fds[CLIENTS_MAX];
    uint32_t ranks[CLIENTS_MAX];
    uint32_t running;
    int next; /* the job has ended everywhere */
    uint32_t fences;
    struct timer timers[TIMERS_MAX];
    struct nodes_result result;
};

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void clients_kill(const struct endpoint *node)
{
    for (uint32_t i = 0; i < node->it->per_node; i++) {
        if (node->pids[i] > 0)
            kill(node->pids[i], SIGKILL);
    }
}

/* ---- what the host asks for ---- */

static void on_connected(void *context, const struct pmi_process *process)
{
    ((struct endpoint *)context)->result.connected++;
}

static void on_finalized(void *context, const struct pmi_process *process)
{
    ((struct endpoint *)context)->result.finalized++;
}

static void on_abort(void *context, uint64_t id, const struct pmi_process *caller, int status,
                     const char *text, const struct pmi_process *targets, size_t targets_count)
{
    struct endpoint *node = context;
    struct node_message message = {.type = NODE_ABORT, .status = status, .process = *caller};

    node_send(node->hub, &message, NULL, 0);
    message.type = NODE_TEXT;
    node_send(node->hub, &message, text, strlen(text));
    if (node->host == NULL)
        return;
    node->table->events.done(node->host, id, 0, NULL, 0);
    node->table->events.done(node->host, id, 0, NULL, 0);
}

/* On libpmix's thread. */
static void on_collective(void *context, const struct pmi_collective *collective)
{
    struct node_message message = {.type = NODE_FENCE,
                                   .id = collective->id,
                                   .status = (int)collective->timeout_ms,
                                   .participants = (uint32_t)collective->members_count};
    struct buffer packet = {0};

    buffer_append(&packet, collective->members,
                  collective->members_count * sizeof(*collective->members));
    buffer_append(&packet, collective->data, collective->data_bytes);
    node_send(((struct endpoint *)context)->own[1], &message, packet.data, packet.length_bytes);
    buffer_fini(&packet);
}

static void fence_pass_on(struct endpoint *node)
{
    static char data[NODE_PACKET_BYTES];
    struct node_message message;
    size_t got = node_receive(node->own[0], &message, data, sizeof(data));
    int timeout_ms = message.status;

    message.status = 0;
    node_send(node->hub, &message, data, got - sizeof(message));
    for (size_t i = 0; timeout_ms > 0 && i < TIMERS_MAX; i++) {
        if (node->timers[i].id != 0)
            continue;
        node->timers[i] = (struct timer){message.id, now_ms() + timeout_ms};
        break;
    }
    if (++node->fences == node->it->deregister_at)
        node->table->job_close(node->host, node->job);
}

static void on_fetch(void *context, uint64_t id, const struct pmi_process *process, const char *key,
                     uint32_t timeout_ms)
{
    struct endpoint *node = context;
    struct node_message message = {.type = NODE_MODEX, .id = id, .process = *process};

    node_send(node->hub, &message, NULL, 0);
}

static void on_provided(void *context, uint32_t job, uint64_t id, int status, const void *data,
                        size_t data_bytes)
{
    struct endpoint *node = context;
    struct node_message message = {.type = NODE_FETCHED, .id = id, .status = status};

    node_send(node->hub, &message, data, data_bytes);
}

static void on_text(void *context, const struct pmi_process *from, const char *text,
                    size_t text_bytes)
{
    struct endpoint *node = context;
    struct node_message message = {.type = NODE_TEXT, .process = *from};

    node_send(node->hub, &message, text, text_bytes);
}

static void complain(struct endpoint *node, const char *text)
{
    on_text(node, &(struct pmi_process){.rank = 0}, text, strlen(text));
    on_text(node, &(struct pmi_process){.rank = 0}, "\n", 1);
}

static void on_rejected(void *context, const struct pmi_process *process)
{
    complain(context, "a client is not let in");
}

static void on_opened(void *context, uint32_t job, int status, const char *why, int32_t pid)
{
    if (status < 0)
        complain(context, why);
}

static struct pmi_ops make_ops(struct endpoint *node)
{
    return (struct pmi_ops){.context = node,
                            .opened = on_opened,
                            .connected = on_connected,
                            .rejected = on_rejected,
                            .finalized = on_finalized,
                            .collective = on_collective,
                            .fetch = on_fetch,
                            .provided = on_provided,
                            .abort = on_abort,
                            .text = on_text};
}

/* ---- PMI-1 ---- */

static void on_socket_reply(void *context, uint32_t index, const void *data, size_t bytes)
{
    struct endpoint *node = context;

    if (node->pmi_fds[index] >= 0)
        (void)send(node->pmi_fds[index], data, bytes, MSG_NOSIGNAL);
}

static void pmi1_start(struct endpoint *node)
{
    struct pmi_ops ops = make_ops(node);
    struct pmi_socket_run run = {0, node->it->nodes, node->it->per_node};
    static const uint32_t apps[CLIENTS_MAX];
    struct buffer mapping = {0};
    struct pmi_socket_config config = {
        .job = node->job,
        .kvs_name = node->namespace,
        .size = node->it->nodes * node->it->per_node,
        .universe_size = 99,
        .local_count = node->it->per_node,
        .local_ranks = node->ranks,
        .local_apps = apps,
        .ops = &ops,
        .reply = on_socket_reply,
    };

    pmi_socket_mapping(&run, 1, &mapping);
    config.process_mapping = buffer_string(&mapping);
    node->pmi1 = pmi_socket_create(&config);
    buffer_fini(&mapping);
}

static void pmi1_serve(struct endpoint *node, uint32_t index)
{
    struct error error = ERROR_NONE;
    char data[1000];
    ssize_t got = recv(node->pmi_fds[index], data, sizeof(data), 0);

    if (got > 0 && pmi_socket_input(node->pmi1, index, data, (size_t)got, &error) == 0)
        return;
    if (got > 0)
        complain(node, error.text);
    else if (pmi_socket_closed(node->pmi1, index))
        complain(node, "a client has gone without finalize");
    close(node->pmi_fds[index]);
    node->pmi_fds[index] = -1;
}

/* ---- the host ---- */

static void job_open(struct endpoint *node)
{
    static const uint32_t apps[CLIENTS_MAX];
    struct buffer nodes = {0}, ranks = {0};
    struct pmi_job job = {
        .number = node->job,
        .namespace = node->namespace,
        .size = node->it->nodes * node->it->per_node,
        .universe_size = node->it->nodes * node->it->per_node,
        .apps_count = 1,
        .job_id = "1",
        .directory = node->directory,
        .node_index = node->index,
        .uid = getuid(),
        .gid = getgid(),
        .local_ranks = node->ranks,
        .local_apps = apps,
        .local_count = node->it->per_node,
    };

    for (uint32_t rank = 0; rank < job.size; rank++) {
        if (rank % node->it->per_node == 0) {
            buffer_printf(&nodes, "%snode%u", rank ? "," : "", rank / node->it->per_node);
            buffer_printf(&ranks, "%s%u", rank ? ";" : "", rank);
        } else {
            buffer_printf(&ranks, ",%u", rank);
        }
    }
    job.node_names = buffer_string(&nodes);
    job.ranks_by_node = buffer_string(&ranks);
    node->table->job_open(node->host, &job);
    buffer_fini(&nodes);
    buffer_fini(&ranks);
}

static void host_start(struct endpoint *node)
{
    struct pmi_ops ops = make_ops(node);
    struct host_config config = {
        .directory = node->directory,
        .node_name = node->name,
        .server_namespace = "banyan",
        .server_rank = node->index,
        .ops = &ops,
    };
    void *plugin = dlopen(node->it->plugin, RTLD_NOW | RTLD_LOCAL);
    struct error error = ERROR_NONE;

    node->is_open = 1;
    if (node->host != NULL) {
        job_open(node);
        return;
    }
    if (plugin == NULL) {
        complain(node, dlerror());
        _exit(1);
    }
    node->table = dlsym(plugin, "host_table");
    assert(node->table->abi == HOST_ABI);
    node->host = node->table->create(&config, &error);
    if (node->host == NULL)
        complain(node, error.text);
    else
        job_open(node);
}

/* A client says its first message at once. */
static void client_admit(struct endpoint *node)
{
    static char message[HELLO_BYTES_MAX];
    struct pmi_process process = {.job = node->job};
    int fd = accept4(node->listener, NULL, NULL, SOCK_CLOEXEC);
    struct hello hello;
    size_t bytes;

    if (fd < 0)
        return;
    if (recv(fd, message, HELLO_HEADER_BYTES, MSG_WAITALL) != HELLO_HEADER_BYTES ||
        hello_length(message, &bytes) < 0 ||
        recv(fd, message + HELLO_HEADER_BYTES, bytes - HELLO_HEADER_BYTES, MSG_WAITALL) !=
            (ssize_t)(bytes - HELLO_HEADER_BYTES) ||
        hello_read(message, bytes, &hello) < 0) {
        complain(node, "a client says nothing that can be read");
        close(fd);
        return;
    }
    process.rank = hello.rank;
    if (!node->is_open)
        host_start(node);
    if (node->host == NULL)
        close(fd);
    else
        node->table->admit(node->host, fd, &process, message, bytes);
}

/* ---- processes ---- */

static void set_number(const char *name, uint32_t value)
{
    char text[16];

    snprintf(text, sizeof(text), "%u", value);
    setenv(name, text, 1);
}

static void client_environment(struct endpoint *node, uint32_t index, int pmi_fd)
{
    struct buffer variables = {0};
    struct host_environment environment = {
        .namespace = node->namespace,
        .rank = node->ranks[index],
        .size = node->it->nodes * node->it->per_node,
        .local_rank = index,
        .local_size = node->it->per_node,
        .node_name = node->name,
        .server_namespace = "banyan",
        .server_rank = node->index,
        .server_port = node->port,
        .server_pid = (int32_t)getppid(),
        .server_directory = node->directory,
        .shared_memory_directory = node->directory,
        .pmi_fd = pmi_fd,
        .pmix = !node->it->pmi1,
        .crowded = 1,
    };

    host_environment_write(&environment, &variables);
    for (size_t at = 0; at < variables.length_bytes; at += strlen((char *)variables.data + at) + 1)
        putenv((char *)variables.data + at);
    set_number("TEST_RANK", environment.rank);
    set_number("TEST_SIZE", environment.size);
    set_number("TEST_LOCAL_RANK", index);
    set_number("TEST_LOCAL_SIZE", environment.local_size);
}

static void client_start(struct endpoint *node, uint32_t index, const sigset_t *mask)
{
    int ends[2] = {-1, -1};

    node->pmi_fds[index] = -1;
    if (node->it->pmi1 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        abort();
    node->pids[index] = fork();
    if (node->pids[index] == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sigprocmask(SIG_SETMASK, mask, NULL);
        client_environment(node, index, ends[1] < 0 ? -1 : dup(ends[1]));
        execv(node->it->argv[0], node->it->argv);
        _exit(127);
    }
    node->running++;
    if (ends[1] >= 0) {
        close(ends[1]);
        node->pmi_fds[index] = ends[0];
    }
}

static void clients_reap(struct endpoint *node)
{
    struct pmi_process process;
    struct signalfd_siginfo ignored;
    int status;

    (void)!read(node->signals, &ignored, sizeof(ignored));
    for (uint32_t i = 0; i < node->it->per_node; i++) {
        if (node->pids[i] <= 0 || waitpid(node->pids[i], &status, WNOHANG) <= 0)
            continue;
        node->pids[i] = 0;
        node->running--;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            node->result.exited++;
        else
            node->result.failed++;
        process = (struct pmi_process){.job = node->job, .rank = node->ranks[i]};
        if (node->host != NULL)
            node->table->events.gone(node->host, &process);
        if (node->running == 0)
            node_send(node->hub, &(struct node_message){.type = NODE_ENDED}, NULL, 0);
    }
}

/* ---- the loop ---- */

static void listen_anywhere(struct endpoint *node)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof(address);

    node->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(node->listener, (struct sockaddr *)&address, bytes) < 0 ||
        listen(node->listener, 128) < 0 ||
        getsockname(node->listener, (struct sockaddr *)&address, &bytes) < 0)
        abort();
    node->port = ntohs(address.sin_port);
}

static void hub_serve(struct endpoint *node)
{
    static char data[NODE_PACKET_BYTES];
    struct node_message message;
    size_t got = node_receive(node->hub, &message, data, sizeof(data));

    if (got == 0)
        _exit(1);
    got -= sizeof(message);
    if (message.type == NODE_KILL)
        clients_kill(node);
    else if (message.type == NODE_NEXT)
        node->next = 1;
    else if (message.type == NODE_FENCE_RESULT && node->pmi1 != NULL)
        pmi_socket_events.done(node->pmi1, message.id, message.status, data, got);
    else if (node->host == NULL)
        return;
    else if (message.type == NODE_FETCH)
        node->table->events.provide(node->host, message.id, &message.process, "");
    /* Every answer is given twice: the second is for an id that is forgotten. */
    for (int i = 0; i < 2 && node->host != NULL; i++) {
        if (message.type == NODE_FENCE_RESULT || message.type == NODE_MODEX_RESULT)
            node->table->events.done(node->host, message.id, message.status, data, got);
    }
}

static int next_timeout_ms(struct endpoint *node)
{
    struct node_message message = {.type = NODE_TIMED_OUT};
    int64_t now = now_ms(), next = INT64_MAX;

    for (size_t i = 0; i < TIMERS_MAX; i++) {
        if (node->timers[i].id != 0 && node->timers[i].deadline_ms <= now) {
            message.id = node->timers[i].id;
            node_send(node->hub, &message, NULL, 0);
            node->table->events.done(node->host, message.id, -ETIMEDOUT, NULL, 0);
            node->timers[i].id = 0;
        } else if (node->timers[i].id != 0 && node->timers[i].deadline_ms - now < next) {
            next = node->timers[i].deadline_ms - now;
        }
    }
    return next == INT64_MAX ? -1 : (int)next;
}

static void loop(struct endpoint *node)
{
    struct pollfd fds[5 + CLIENTS_MAX];

    node->next = 0;
    while (!node->next) {
        int timeout_ms = next_timeout_ms(node);
        uint32_t clients = node->it->per_node;

        fds[0] = (struct pollfd){.fd = node->hub, .events = POLLIN};
        fds[1] = (struct pollfd){.fd = node->signals, .events = POLLIN};
        fds[2] = (struct pollfd){.fd = node->listener, .events = POLLIN};
        fds[3].fd = node->host != NULL ? node->table->descriptor(node->host) : -1;
        fds[3].events = POLLIN;
        fds[4] = (struct pollfd){.fd = node->own[0], .events = POLLIN};
        for (uint32_t i = 0; i < clients; i++)
            fds[5 + i] = (struct pollfd){.fd = node->pmi_fds[i], .events = POLLIN};
        if (poll(fds, 5 + clients, timeout_ms) < 0)
            continue;
        for (uint32_t i = 0; i < clients; i++) {
            if (fds[5 + i].revents != 0)
                pmi1_serve(node, i);
        }
        if (fds[4].revents != 0)
            fence_pass_on(node);
        if (fds[3].revents != 0)
            node->table->process(node->host);
        if (fds[2].revents != 0)
            client_admit(node);
        if (fds[0].revents != 0)
            hub_serve(node);
        if (fds[1].revents != 0)
            clients_reap(node);
    }
}

static void open_many(uint32_t count)
{
    while (count-- > 0)
        (void)!dup(STDIN_FILENO);
}

/* One job from the first process to the last. */
static void run_job(struct endpoint *node, uint32_t number, const sigset_t *mask)
{
    const struct nodes_case *it = node->it;

    snprintf(node->namespace, sizeof(node->namespace), "test.%u", number);
    node->job = number;
    node->is_open = 0;
    listen_anywhere(node);
    if (it->pmi1)
        pmi1_start(node);
    else if (host_environment_is_eager(it->nodes * it->per_node, it->per_node))
        host_start(node);
    for (uint32_t i = 0; i < it->per_node; i++)
        client_start(node, i, mask);
    open_many(it->descriptors);
    loop(node);
    if (node->host != NULL) {
        node->table->job_close(node->host, node->job);
        node->table->job_close(node->host, node->job);
    }
    if (node->listener >= 0)
        close(node->listener);
    pmi_socket_destroy(node->pmi1);
    node->pmi1 = NULL;
}

void node_main(const struct nodes_case *it, uint32_t index, int hub)
{
    struct endpoint *node = memory_allocate_zeroed(sizeof(*node));
    struct node_message message = {.type = NODE_DONE};
    sigset_t set, old;

    node->it = it;
    node->index = index;
    node->hub = hub;
    snprintf(node->name, sizeof(node->name), "node%u", index);
    snprintf(node->directory, sizeof(node->directory), "%s/%s", it->directory, node->name);
    mkdir(node->directory, 0700);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, node->own) < 0)
        abort();
    for (uint32_t i = 0; i < it->per_node; i++)
        node->ranks[i] = index * it->per_node + i;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, &old);
    node->signals = signalfd(-1, &set, SFD_CLOEXEC);
    for (uint32_t number = 1; number <= (it->jobs > 0 ? it->jobs : 1); number++)
        run_job(node, number, &old);
    node_send(hub, &message, &node->result, sizeof(node->result));
    /* What the hub still sends is read, else it would get an error instead of the message. */
    while (node_receive(hub, &message, node, sizeof(*node)) > 0)
        ;
    _exit(0);
}

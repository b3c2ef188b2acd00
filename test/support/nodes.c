/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/support/nodes.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/support/nodes_node.h"

#define NODES_MAX      16
#define OPERATIONS_MAX 64
#define SILENCE_MS_MAX 30000

/* A fence that not all nodes have joined yet. */
struct operation {
    uint32_t key;               /* of the participants; 0: a free place */
    uint32_t expected, arrived; /* bits of nodes */
    int status;                 /* of its result */
    uint64_t ids[NODES_MAX];
    struct buffer data;
};

struct hub {
    const struct nodes_case *it;
    struct nodes_result *result;
    int sockets[NODES_MAX];
    pid_t pids[NODES_MAX];
    uint32_t running;
    uint32_t ended; /* nodes without clients of this job */
    uint32_t done;  /* bits of nodes */
    struct operation operations[OPERATIONS_MAX];
};

size_t node_receive(int fd, struct node_message *ret_message, void *data, size_t data_bytes)
{
    struct iovec parts[2] = {{ret_message, sizeof(*ret_message)}, {data, data_bytes}};
    struct msghdr header = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t got;

    do
        got = recvmsg(fd, &header, 0);
    while (got < 0 && errno == EINTR);
    assert(got <= 0 || (size_t)got >= sizeof(*ret_message));
    return got <= 0 ? 0 : (size_t)got;
}

void node_send(int fd, const struct node_message *message, const void *data, size_t data_bytes)
{
    struct iovec parts[2] = {{(void *)(uintptr_t)message, sizeof(*message)},
                             {(void *)(uintptr_t)data, data_bytes}};
    struct msghdr header = {.msg_iov = parts, .msg_iovlen = 2};

    while (sendmsg(fd, &header, MSG_NOSIGNAL) < 0 && errno == EINTR)
        ;
}

static uint32_t node_of(const struct hub *hub, uint32_t rank)
{
    return rank / hub->it->per_node;
}

static uint32_t expected_nodes(const struct hub *hub, const struct pmi_process *processes,
                               uint32_t count)
{
    uint32_t bits = 0;

    for (uint32_t i = 0; i < count; i++) {
        if (processes[i].rank == PMI_RANK_ALL)
            return (1u << hub->it->nodes) - 1;
        bits |= 1u << node_of(hub, processes[i].rank);
    }
    return bits;
}

static uint32_t key_of(const struct pmi_process *processes, uint32_t count)
{
    uint32_t key = 1;

    for (uint32_t i = 0; i < count; i++)
        key = key * 31 + processes[i].rank + 7;
    return key | 1;
}

/* The oldest operation with this key that the node has not joined, or a new one. */
static struct operation *operation_find(struct hub *hub, uint32_t key, uint32_t node)
{
    struct operation *place = NULL;

    for (size_t i = 0; i < OPERATIONS_MAX; i++) {
        struct operation *operation = &hub->operations[i];

        if (operation->key == key && !(operation->arrived >> node & 1))
            return operation;
        if (operation->key == 0 && place == NULL)
            place = operation;
    }
    assert(place != NULL);
    place->key = key;
    return place;
}

static void fence_join(struct hub *hub, uint32_t node, const struct node_message *message,
                       const char *data, size_t data_bytes)
{
    const struct pmi_process *processes = (const struct pmi_process *)(const void *)data;
    size_t skip = message->participants * sizeof(*processes);
    uint32_t key = key_of(processes, message->participants);
    struct operation *operation = operation_find(hub, key, node);
    struct node_message result = {.type = NODE_FENCE_RESULT};

    hub->result->fences++;
    operation->expected = expected_nodes(hub, processes, message->participants);
    operation->arrived |= 1u << node;
    operation->ids[node] = message->id;
    buffer_append(&operation->data, data + skip, data_bytes - skip);
    if (operation->arrived != operation->expected)
        return;
    result.status = operation->status;
    for (uint32_t i = 0; i < hub->it->nodes; i++) {
        result.id = operation->ids[i];
        if (operation->expected >> i & 1)
            node_send(hub->sockets[i], &result, operation->data.data, operation->data.length_bytes);
    }
    buffer_fini(&operation->data);
    memset(operation, 0, sizeof(*operation));
}

static void fence_time_out(struct hub *hub, uint32_t node, uint64_t id)
{
    for (size_t i = 0; i < OPERATIONS_MAX; i++) {
        struct operation *operation = &hub->operations[i];

        if (operation->key != 0 && operation->arrived >> node & 1 && operation->ids[node] == id)
            operation->status = -ETIMEDOUT;
    }
}

static void count(struct nodes_result *sum, const struct nodes_result *part)
{
    sum->exited += part->exited;
    sum->failed += part->failed;
    sum->connected += part->connected;
    sum->finalized += part->finalized;
}

static void tell_all(const struct hub *hub, enum node_message_type type)
{
    struct node_message message = {.type = type};

    for (uint32_t i = 0; i < hub->it->nodes; i++)
        node_send(hub->sockets[i], &message, NULL, 0);
}

/* Ids of a request that crosses over carry the node that asked. */
static void serve(struct hub *hub, uint32_t node, struct node_message *message, const char *data,
                  size_t data_bytes)
{
    switch (message->type) {
    case NODE_FENCE:
        fence_join(hub, node, message, data, data_bytes);
        break;
    case NODE_TIMED_OUT:
        fence_time_out(hub, node, message->id);
        break;
    case NODE_MODEX:
        message->type = NODE_FETCH;
        message->id = message->id << 8 | node;
        node_send(hub->sockets[node_of(hub, message->process.rank)], message, NULL, 0);
        break;
    case NODE_FETCHED:
        message->type = NODE_MODEX_RESULT;
        node = (uint32_t)(message->id & 255);
        message->id >>= 8;
        node_send(hub->sockets[node], message, data, data_bytes);
        break;
    case NODE_TEXT:
        buffer_append(&hub->result->text, data, data_bytes);
        break;
    case NODE_ABORT:
        hub->result->aborts++;
        hub->result->abort_status = message->status;
        tell_all(hub, NODE_KILL);
        break;
    case NODE_ENDED:
        if (++hub->ended < hub->it->nodes)
            break;
        hub->ended = 0;
        tell_all(hub, NODE_NEXT);
        break;
    default:
        assert(message->type == NODE_DONE && data_bytes == sizeof(struct nodes_result));
        count(hub->result, (const struct nodes_result *)(const void *)data);
        hub->running--;
        hub->done |= 1u << node;
    }
}

static void fork_node(struct hub *hub, uint32_t index, int output)
{
    int ends[2], bytes = 4 * NODE_PACKET_BYTES;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        abort();
    for (int i = 0; i < 2; i++)
        setsockopt(ends[i], SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes));
    fflush(NULL);
    hub->pids[index] = fork();
    assert(hub->pids[index] >= 0);
    if (hub->pids[index] == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(output, STDOUT_FILENO);
        close(output);
        close(ends[0]);
        for (uint32_t i = 0; i < index; i++)
            close(hub->sockets[i]);
        node_main(hub->it, index, ends[1]);
    }
    close(ends[1]);
    hub->sockets[index] = ends[0];
    hub->running++;
}

/* Serves until every node is done; 0 if nothing was heard for too long. */
static int serve_all(struct hub *hub, int output)
{
    static char data[NODE_PACKET_BYTES];
    struct node_message message;
    struct pollfd fds[NODES_MAX + 1];
    uint32_t nodes = hub->it->nodes;
    size_t got;

    while (hub->running > 0) {
        for (uint32_t i = 0; i < nodes; i++)
            fds[i] =
                (struct pollfd){.fd = hub->done >> i & 1 ? -1 : hub->sockets[i], .events = POLLIN};
        fds[nodes] = (struct pollfd){.fd = output, .events = POLLIN};
        if (poll(fds, nodes + 1, SILENCE_MS_MAX) == 0)
            return 0;
        for (uint32_t i = 0; i < nodes; i++) {
            if (!(fds[i].revents & (POLLIN | POLLHUP)))
                continue;
            got = node_receive(hub->sockets[i], &message, data, sizeof(data));
            if (got == 0) /* it died */
                return 0;
            serve(hub, i, &message, data, got - sizeof(message));
        }
        if (fds[nodes].revents & POLLIN) {
            ssize_t bytes = read(output, data, sizeof(data));

            buffer_append(&hub->result->output, data, bytes < 0 ? 0 : (size_t)bytes);
        }
    }
    return 1;
}

static void drain(struct hub *hub, int output)
{
    char data[4096];
    ssize_t got;

    while ((got = read(output, data, sizeof(data))) > 0)
        buffer_append(&hub->result->output, data, (size_t)got);
}

void nodes_run(const struct nodes_case *it, struct nodes_result *ret_result)
{
    struct hub hub = {.it = it, .result = ret_result};
    int output[2];

    assert(it->nodes <= NODES_MAX);
    memset(ret_result, 0, sizeof(*ret_result));
    if (pipe(output) < 0)
        abort();
    for (uint32_t i = 0; i < it->nodes; i++)
        fork_node(&hub, i, output[1]);
    close(output[1]);
    ret_result->timed_out = !serve_all(&hub, output[0]);
    for (uint32_t i = 0; i < it->nodes; i++) {
        if (ret_result->timed_out)
            kill(hub.pids[i], SIGKILL);
        close(hub.sockets[i]);
        int status;
        waitpid(hub.pids[i], &status, 0);
        if (status)
            buffer_printf(&ret_result->text, "node %u ended with %d\n", i, status);
    }
    drain(&hub, output[0]);
    close(output[0]);
    for (size_t i = 0; i < OPERATIONS_MAX; i++)
        buffer_fini(&hub.operations[i].data);
}

void nodes_result_fini(struct nodes_result *result)
{
    buffer_fini(&result->output);
    buffer_fini(&result->text);
}

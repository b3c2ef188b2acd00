/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/rank/rank_pmi.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "fabric/address.h"
#include "launch/exec/descriptor.h"
#include "launch/exec/virtual_node.h"
#include "launch/rank/rank_pmi_internal.h"
#include "pmix/host_environment.h"

/* Ports for MASTER_PORT. */
#define MASTER_PORT_FIRST 20480u
#define MASTER_PORTS      12288u

#define SOCKET_READ_BYTES 4096
/* Requests of a client that does not read its answers are not read until it does. */
#define SOCKET_UNSENT_BYTES 65536

static void client_close(struct client *client)
{
    loop_watch_destroy(client->watch);
    client->watch = NULL;
    if (client->fd >= 0)
        close(client->fd);
    client->fd = -1;
    buffer_fini(&client->unsent);
}

static void client_flush(struct client *client)
{
    while (client->fd >= 0 && client->unsent.length_bytes > 0) {
        ssize_t sent = send(client->fd, client->unsent.data, client->unsent.length_bytes,
                            MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno != EAGAIN)
            buffer_clear(&client->unsent); /* it no longer reads; its end is noticed by reading */
        if (sent < 0)
            break;
        buffer_consume(&client->unsent, (size_t)sent);
    }
    if (client->watch)
        loop_watch_set(client->watch,
                       (client->unsent.length_bytes < SOCKET_UNSENT_BYTES ? LOOP_READ : 0) |
                           (client->unsent.length_bytes > 0 ? LOOP_WRITE : 0));
}

static void socket_reply(void *context, uint32_t index, const void *data, size_t bytes)
{
    struct client *client = &((struct speaker *)context)->rank_pmi->clients[index];

    if (client->fd < 0)
        return;
    buffer_append(&client->unsent, data, bytes);
    client_flush(client);
}

struct mapping_runs {
    struct pmi_socket_run *items;
    uint32_t count;
};

/* Adds the next block of ranks; consecutive nodes with equal counts form one run. */
static void mapping_add(struct mapping_runs *runs, uint32_t node, uint32_t ranks)
{
    struct pmi_socket_run *last = runs->count ? &runs->items[runs->count - 1] : NULL;

    assert(ranks > 0);
    if (last && last->ranks_per_node == ranks && last->first_node + last->nodes == node) {
        last->nodes++;
        return;
    }
    runs->items = memory_resize(runs->items, (runs->count + 1) * sizeof *runs->items);
    runs->items[runs->count++] =
        (struct pmi_socket_run){.first_node = node, .nodes = 1, .ranks_per_node = ranks};
}

/* Ranks round-robin over the nodes: blocks of one rank.  O(ranks), which PMI-1 costs anyway. */
static void mapping_in_turn(const struct rank_pmi *rank_pmi, struct mapping_runs *runs)
{
    const struct job_local *job = rank_pmi->config.job;

    for (uint32_t rank = 0; rank < job->map.processes; rank++) {
        uint32_t node, local_index;

        placement_map_find(&job->map, rank, &node, &local_index);
        mapping_add(runs, (uint32_t)ranges_count_within(&job->places, 1, node + 1) - 1, 1);
    }
}

static void mapping_in_blocks(const struct rank_pmi *rank_pmi, struct mapping_runs *runs)
{
    const struct job_local *job = rank_pmi->config.job;
    uint32_t place = 0;

    for (uint32_t node = 0; ranges_next(&job->places, place, &place); node++, place++)
        mapping_add(runs, node, placement_map_count(&job->map, place - 1));
}

/* PMI_process_mapping: which ranks share a node. Nodes are numbered by their order in the job. */
static void process_mapping(const struct rank_pmi *rank_pmi, struct buffer *out)
{
    struct mapping_runs runs = {0};

    if (!placement_map_is_contiguous(&rank_pmi->config.job->map))
        mapping_in_turn(rank_pmi, &runs);
    else
        mapping_in_blocks(rank_pmi, &runs);
    pmi_socket_mapping(runs.items, runs.count, out);
    free(runs.items);
}

/* The values that the job was spawned with, in memory that is the caller's to free. */
static struct pmi_socket_pair *preput_pairs(const struct job_spec *spec)
{
    struct pmi_socket_pair *pairs =
        memory_allocate_zeroed((spec->preput_count + 1) * sizeof(*pairs));

    for (uint32_t i = 0; i < spec->preput_count; i++)
        pairs[i] =
            (struct pmi_socket_pair){.key = spec->preput[i].key, .value = spec->preput[i].value};
    return pairs;
}

/* On a client's first message: a job that does not use PMI-1 does not pay for it. */
static void socket_open(struct rank_pmi *rank_pmi)
{
    struct speaker *speaker = &rank_pmi->speakers[SPEAKER_SOCKET];
    const struct job_local *job = rank_pmi->config.job;
    struct pmi_ops ops = rank_pmi_ops(speaker);
    struct buffer mapping = {0};
    struct pmi_socket_pair *preput = preput_pairs(&job->spec);
    char spawner[PMI_NAMESPACE_BYTES];
    struct pmi_socket_config config = {
        .job = job->number,
        .kvs_name = rank_pmi->namespace,
        .size = job->map.processes,
        .universe_size = (uint32_t)allocation_slots(rank_pmi->config.allocation),
        .local_count = job->count,
        .local_ranks = rank_pmi->ranks,
        .local_apps = rank_pmi->apps,
        .ops = &ops,
        .reply = socket_reply,
        .spawner = job->spec.parent > 0 ? spawner : NULL,
        .preput = preput,
        .preput_count = job->spec.preput_count,
    };

    assert(rank_pmi->socket == NULL && job->count > 0);
    if (job->spec.parent > 0)
        job_spec_namespace(rank_pmi->config.jobs_name, job->spec.parent, spawner, sizeof(spawner));
    process_mapping(rank_pmi, &mapping);
    config.process_mapping = buffer_string(&mapping);
    rank_pmi->socket = pmi_socket_create(&config);
    speaker->handle = rank_pmi->socket;
    buffer_fini(&mapping);
    free(preput);
    for (uint32_t i = 0; i < job->count; i++)
        if (rank_pmi->clients[i].is_gone)
            (void)pmi_socket_closed(rank_pmi->socket, i);
}

/* A client that violates its protocol cannot be served: it is killed, and nothing else. */
static void client_refuse(struct client *client, const char *why)
{
    struct rank_pmi *rank_pmi = client->rank_pmi;

    rank_pmi_say(rank_pmi, "rank %u on %s is killed: what it has sent is not PMI: %s",
                 rank_pmi->ranks[client->index], rank_pmi->config.node_name, why);
    (void)pmi_socket_closed(rank_pmi->socket, client->index);
    client_close(client);
    rank_pmi->events.kill(rank_pmi->events.context, client->index);
}

/* A rank that has closed its socket takes no further part. */
static void client_gone(struct client *client)
{
    struct rank_pmi *rank_pmi = client->rank_pmi;

    client->is_gone = 1;
    if (rank_pmi->socket)
        (void)pmi_socket_closed(rank_pmi->socket, client->index);
}

/* Without having said anything: it may be started again, and others wait for that. */
static int client_may_return(const struct client *client)
{
    return client->rank_pmi->config.job->spec.on_failure == JOB_ON_FAILURE_RESTART &&
           !client->has_joined;
}

static void client_ready(void *context, int fd, unsigned int ready)
{
    struct client *client = context;
    struct rank_pmi *rank_pmi = client->rank_pmi;
    char data[SOCKET_READ_BYTES];
    struct error error = ERROR_NONE;
    ssize_t got;

    if (ready & LOOP_WRITE)
        client_flush(client);
    if (!(ready & LOOP_READ))
        return;
    got = recv(fd, data, sizeof data, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        if (!client_may_return(client))
            client_gone(client);
        client_close(client);
        rank_pmi_stall_check(rank_pmi);
        return;
    }
    rank_pmi_joined(client);
    if (!rank_pmi->socket)
        socket_open(rank_pmi);
    if (pmi_socket_input(rank_pmi->socket, client->index, data, (size_t)got, &error) < 0)
        client_refuse(client, error.text);
    rank_pmi_stall_check(rank_pmi);
}

static void clients_create(struct rank_pmi *rank_pmi)
{
    const struct job_local *job = rank_pmi->config.job;

    assert(rank_pmi->config.place > 0);
    rank_pmi->ranks = memory_allocate((job->count + 1) * sizeof *rank_pmi->ranks);
    rank_pmi->apps = memory_allocate_zeroed((job->count + 1) * sizeof *rank_pmi->apps);
    rank_pmi->clients = memory_allocate_zeroed((job->count + 1) * sizeof *rank_pmi->clients);
    for (uint32_t i = 0; i < job->count; i++) {
        rank_pmi->ranks[i] = placement_map_rank(&job->map, rank_pmi->config.place - 1, i);
        rank_pmi->apps[i] = placement_map_app(&job->map, rank_pmi->ranks[i]);
        rank_pmi->clients[i].rank_pmi = rank_pmi;
        rank_pmi->clients[i].index = i;
        rank_pmi->clients[i].fd = -1;
    }
}

/* If --net matches nothing, as it may on virtual nodes, the libraries choose themselves. */
static void net_open(struct rank_pmi *rank_pmi)
{
    const char *net = rank_pmi->config.net;
    struct error error = ERROR_NONE;

    if (net != NULL &&
        address_net_interfaces(net, &rank_pmi->net_interfaces, &rank_pmi->net_devices, &error) < 0)
        log_info("no network settings for the processes: %s", error.text);
}

static void speakers_create(struct rank_pmi *rank_pmi)
{
    static const struct pmi_events *const events[SPEAKER_COUNT] = {&pmi_socket_events,
                                                                   &pmi_node_events};

    for (int kind = 0; kind < SPEAKER_COUNT; kind++)
        rank_pmi->speakers[kind] = (struct speaker){
            .rank_pmi = rank_pmi, .kind = (enum speaker_kind)kind, .events = events[kind]};
}

static const struct rank_jobs_ops jobs_ops = {
    .open = rank_pmi_pmix_need,
    .open_foreign = rank_pmi_foreign_open,
};

struct rank_pmi *rank_pmi_create(const struct rank_pmi_config *config, struct error *error)
{
    struct rank_pmi *rank_pmi = memory_allocate_zeroed(sizeof *rank_pmi);
    int rc = 0;

    assert(config->job != NULL && config->events != NULL && config->place > 0);
    rank_pmi->config = *config;
    rank_pmi->events = *config->events;
    list_init(&rank_pmi->stand_ins);
    rank_pmi_collective_open(rank_pmi);
    rank_pmi_stall_group_open(rank_pmi);
    rank_pmi_fetch_open(rank_pmi);
    rank_pmi_request_open(rank_pmi);
    rank_pmi_lazy_open(rank_pmi);
    rank_pmi_notice_open(rank_pmi);
    rank_pmi_abort_open(rank_pmi);
    job_spec_namespace(config->jobs_name, config->job->number, rank_pmi->namespace,
                       sizeof rank_pmi->namespace);
    clients_create(rank_pmi);
    speakers_create(rank_pmi);
    rank_jobs_add(config->jobs, rank_pmi, &jobs_ops);
    net_open(rank_pmi);
    if (config->job->spec.mpi & JOB_MPI_PMIX)
        rc = rank_pmi_pmix_open(rank_pmi, error);
    if (rc < 0) {
        rank_pmi_destroy(rank_pmi);
        return NULL;
    }
    return rank_pmi;
}

void rank_pmi_destroy(struct rank_pmi *rank_pmi)
{
    if (!rank_pmi)
        return;
    rank_jobs_remove(rank_pmi->config.jobs, rank_pmi);
    rank_pmi_pmix_close(rank_pmi);
    rank_pmi_fetch_close(rank_pmi);
    rank_pmi_request_close(rank_pmi);
    rank_pmi_lazy_close(rank_pmi);
    rank_pmi_notice_close(rank_pmi);
    rank_pmi_abort_close(rank_pmi);
    rank_pmi_collective_close(rank_pmi);
    rank_pmi_stall_close(rank_pmi);
    rank_pmi_stall_group_close(rank_pmi);
    rank_pmi_stand_in_close(rank_pmi);
    for (uint32_t i = 0; i < rank_pmi->config.job->count; i++)
        client_close(&rank_pmi->clients[i]);
    pmi_socket_destroy(rank_pmi->socket);
    buffer_fini(&rank_pmi->net_interfaces);
    buffer_fini(&rank_pmi->net_devices);
    free(rank_pmi->clients);
    free(rank_pmi->ranks);
    free(rank_pmi->apps);
    free(rank_pmi);
}

int rank_pmi_pmi_fd(struct rank_pmi *rank_pmi, uint32_t index, int *ret_fd)
{
    struct client *client = &rank_pmi->clients[index];
    int ends[2];

    assert(index < rank_pmi->config.job->count);
    assert(client->fd < 0 || client_may_return(client));
    client_close(client); /* of the process before this one */
    *ret_fd = -1;
    if (!(rank_pmi->config.job->spec.mpi & JOB_MPI_PMI1))
        return 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    client->fd = descriptor_move_high(ends[0]);
    client->watch =
        loop_watch_create(rank_pmi->config.loop, client->fd, LOOP_READ, client_ready, client);
    *ret_fd = ends[1];
    return 0;
}

/* More ranks than processors here: a rank that waits by spinning would keep others from running. */
static int is_crowded(const struct rank_pmi *rank_pmi)
{
    const struct job_local *job = rank_pmi->config.job;
    uint32_t here = rank_pmi->config.shared_machine ? job->map.processes : job->count;
    cpu_set_t processors;

    if (sched_getaffinity(0, sizeof processors, &processors) < 0)
        return 0;
    return here > (uint32_t)CPU_COUNT(&processors);
}

/* Where the first rank of the job runs, as the other nodes can reach it. */
static void master_address(const struct rank_pmi *rank_pmi, char text[HOST_NAME_BYTES_MAX + 1])
{
    const struct job_local *job = rank_pmi->config.job;
    uint32_t node, local_index;

    placement_map_find(&job->map, 0, &node, &local_index);
    hostlist_name(rank_pmi->config.allocation->names, node, text);
    if (rank_pmi->config.shared_machine) {
        char address[VIRTUAL_NODE_TEXT_BYTES];

        virtual_node_address(text, address);
        snprintf(text, HOST_NAME_BYTES_MAX + 1, "%s", address);
    } else if (job->nodes == 1) {
        snprintf(text, HOST_NAME_BYTES_MAX + 1, "127.0.0.1");
    }
}

/* Every node must know it before a process runs there, so nobody can ask whether it is free: one below
 * those that the system gives to others, and another for each job of an instance. */
static uint16_t master_port(const struct rank_pmi *rank_pmi)
{
    uint64_t name = hash_string(rank_pmi->namespace);

    return (uint16_t)(MASTER_PORT_FIRST + name % MASTER_PORTS);
}

void rank_pmi_environment(struct rank_pmi *rank_pmi, uint32_t index, int target_fd,
                          struct buffer *out)
{
    const struct job_local *job = rank_pmi->config.job;
    const struct session *session = rank_pmi->config.session;
    struct host_environment environment = {
        .namespace = rank_pmi->namespace,
        .rank = rank_pmi->ranks[index],
        .size = job->map.processes,
        .local_rank = index,
        .local_size = job->count,
        .node_name = rank_pmi->config.node_name,
        .server_namespace = pmi_node_namespace(rank_pmi->config.pmi_node),
        .server_rank = rank_pmi->config.place,
        .server_port = rank_pmi->pmix.port,
        .server_pid = rank_pmi->pmix.pid,
        .server_directory = pmi_node_directory(rank_pmi->config.pmi_node),
        .shared_memory_directory = session->shared_directory[0] ? session->shared_directory : NULL,
        .pmi_fd = job->spec.mpi & JOB_MPI_PMI1 ? target_fd : -1,
        .pmix = (job->spec.mpi & JOB_MPI_PMIX) != 0,
        .crowded = is_crowded(rank_pmi),
        .master_port = master_port(rank_pmi),
        .spawned = job->spec.parent > 0,
    };
    char master[HOST_NAME_BYTES_MAX + 1], address[VIRTUAL_NODE_TEXT_BYTES];

    assert(index < job->count);
    if (rank_pmi->config.shared_machine) {
        virtual_node_address(rank_pmi->config.node_name, address);
        environment.address = address;
    }
    if (job->spec.mpi & JOB_MPI_TORCH) {
        master_address(rank_pmi, master);
        environment.master_address = master;
    }
    if (rank_pmi->net_interfaces.length_bytes > 0) {
        environment.net_interfaces = buffer_string(&rank_pmi->net_interfaces);
        environment.net_devices = buffer_string(&rank_pmi->net_devices);
    }
    host_environment_write(&environment, out);
}

int rank_pmi_exited(struct rank_pmi *rank_pmi, uint32_t index, int wait_status, int by_us)
{
    const struct job_local *job = rank_pmi->config.job;

    assert(index < job->count && rank_pmi->ended_count < job->count);
    if (client_may_return(&rank_pmi->clients[index])) /* which it might have until now */
        client_gone(&rank_pmi->clients[index]);
    rank_pmi_pmix_exited(rank_pmi, index);
    rank_pmi_abort_ended(rank_pmi, index);
    rank_pmi->has_deserted |= rank_pmi_is_connected(rank_pmi, index) != 0;
    if (++rank_pmi->ended_count == job->count && job->nodes > 1 && rank_pmi->has_deserted &&
        job->spec.on_failure == JOB_ON_FAILURE_CONTINUE)
        rank_pmi_collective_stand_in(rank_pmi); /* so that others that fence with them need not
                                                 * ask */
    if (!by_us || rank_pmi->clients[index].is_aborted)
        rank_pmi_notice_end(rank_pmi, index, wait_status, rank_pmi_is_connected(rank_pmi, index));
    return rank_pmi_is_connected(rank_pmi, index);
}

int rank_pmi_is_connected(const struct rank_pmi *rank_pmi, uint32_t index)
{
    const struct client *client = &rank_pmi->clients[index];

    assert(index < rank_pmi->config.job->count);
    return client->state[SPEAKER_SOCKET] == CLIENT_CONNECTED ||
           client->state[SPEAKER_PMIX] == CLIENT_CONNECTED;
}

enum job_stall_state rank_pmi_stall_state(const struct rank_pmi *rank_pmi,
                                          const struct operation_name *key, uint32_t index)
{
    const struct client *client = &rank_pmi->clients[index];
    enum client_state state =
        client->state[key->kind == JOB_OPERATION_PMI1 ? SPEAKER_SOCKET : SPEAKER_PMIX];

    assert(index < rank_pmi->config.job->count);
    if (job_is_group_barrier(key)) {
        if (rank_pmi_group_arrived(rank_pmi, key, index))
            return JOB_ROLL_ARRIVED;
    } else if (key->kind == JOB_OPERATION_PMI1 && rank_pmi->socket &&
               pmi_socket_in_barrier(rank_pmi->socket, index)) {
        return JOB_ROLL_ARRIVED;
    }
    if (state == CLIENT_FINALIZED)
        return JOB_ROLL_FINALIZED;
    return state == CLIENT_NEVER ? JOB_ROLL_NEW : JOB_ROLL_RUNNING;
}

int rank_pmi_result(struct rank_pmi *rank_pmi, const struct operation_name *key, int status,
                    struct message *payload)
{
    int is_ours = rank_pmi_collective_result(rank_pmi, key, status, payload);

    rank_pmi_stand_in_result(rank_pmi, key, status, payload);
    return is_ours;
}

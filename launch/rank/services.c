/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/rank/services.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "fabric/address.h"
#include "launch/exec/descriptor.h"
#include "launch/rank/services_internal.h"
#include "pmix/host_environment.h"

#define PMI1_READ_BYTES 4096
/* Who asks and does not read the answers is not heard any more until he does. */
#define PMI1_UNSENT_BYTES 65536

int64_t services_local_index(const struct services *services, uint32_t rank)
{
    uint32_t low = 0, high = services->config.job->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (services->ranks[middle] < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < services->config.job->count && services->ranks[low] == rank ? (int64_t)low : -1;
}

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
            buffer_clear(&client->unsent); /* it reads no more; its end is seen by reading */
        if (sent < 0)
            break;
        buffer_consume(&client->unsent, (size_t)sent);
    }
    if (client->watch)
        loop_watch_set(client->watch,
                       (client->unsent.length_bytes < PMI1_UNSENT_BYTES ? LOOP_READ : 0) |
                           (client->unsent.length_bytes > 0 ? LOOP_WRITE : 0));
}

static void pmi1_reply(void *context, uint32_t index, const void *data, size_t bytes)
{
    struct services *services = context;
    struct client *client = &services->clients[index];

    if (client->fd < 0)
        return;
    buffer_append(&client->unsent, data, bytes);
    client_flush(client);
}

static void pmi1_barrier(void *context, const void *data, size_t bytes)
{
    struct services *services = context;
    struct node_key key = {
        .set_id = job_set_id(services->config.job->number, JOB_OPERATION_PMI1),
        .owner = services->config.job->number,
        .generation = ++services->pmi1_generation,
        .kind = JOB_OPERATION_PMI1,
        .merge = JOB_MERGE_CONCATENATE,
        .target = NODE_TARGET_ALL,
    };

    services->world.contribute(services->world.context, &key, &services->config.job->places,
                               message_create(data, bytes));
}

static void pmi1_connected(void *context, uint32_t index)
{
    ((struct services *)context)->clients[index].pmi1_state = CLIENT_CONNECTED;
}

static void pmi1_finalized(void *context, uint32_t index)
{
    ((struct services *)context)->clients[index].pmi1_state = CLIENT_FINALIZED;
}

static void pmi1_abort(void *context, uint32_t index, int status, const char *message)
{
    struct services *services = context;

    services->world.aborted(services->world.context, index, status, message);
}

static void pmi1_refused(void *context, uint32_t index, const char *what)
{
    struct services *services = context;
    struct client *client = &services->clients[index];
    char text[HOST_NAME_BYTES_MAX + 128];

    if (client->was_refused)
        return;
    client->was_refused = 1;
    snprintf(text, sizeof text, "rank %u on %s was refused what it asked for: %s is not supported",
             services->ranks[index], services->config.node_name, what);
    services->world.text(services->world.context, text, strlen(text));
}

struct mapping_runs {
    struct pmi1_run *items;
    uint32_t count;
};

/* Adds the next block of ranks; nodes that follow each other with equally many join one run. */
static void mapping_add(struct mapping_runs *runs, uint32_t node, uint32_t ranks)
{
    struct pmi1_run *last = runs->count ? &runs->items[runs->count - 1] : NULL;

    if (last && last->ranks_per_node == ranks && last->first_node + last->nodes == node) {
        last->nodes++;
        return;
    }
    runs->items = memory_resize(runs->items, (runs->count + 1) * sizeof *runs->items);
    runs->items[runs->count++] =
        (struct pmi1_run){.first_node = node, .nodes = 1, .ranks_per_node = ranks};
}

/* Ranks in turn over the nodes: one block of one rank each. O(ranks), which PMI-1 costs anyway. */
static void mapping_in_turn(const struct services *services, struct mapping_runs *runs)
{
    const struct job_local *job = services->config.job;

    for (uint32_t rank = 0; rank < job->map.processes; rank++) {
        uint32_t node, local_index;

        place_map_find(&job->map, rank, &node, &local_index);
        mapping_add(runs, (uint32_t)ranges_count_within(&job->places, 1, node + 1) - 1, 1);
    }
}

static void mapping_in_blocks(const struct services *services, struct mapping_runs *runs)
{
    const struct job_local *job = services->config.job;
    uint32_t place = 0;

    for (uint32_t node = 0; ranges_next(&job->places, place, &place); node++, place++)
        mapping_add(runs, node, place_map_count(&job->map, place - 1));
}

/* PMI_process_mapping: which ranks share a node. Nodes are numbered by their order in the job. */
static void process_mapping(const struct services *services, struct buffer *out)
{
    struct mapping_runs runs = {0};

    if (!place_map_is_contiguous(&services->config.job->map))
        mapping_in_turn(services, &runs);
    else
        mapping_in_blocks(services, &runs);
    pmi1_mapping(runs.items, runs.count, out);
    free(runs.items);
}

/* With the first word of a client: a job that does not speak PMI-1 does not pay for it. */
static void pmi1_open(struct services *services)
{
    static const struct pmi1_world world_functions = {
        .reply = pmi1_reply,
        .barrier = pmi1_barrier,
        .connected = pmi1_connected,
        .finalized = pmi1_finalized,
        .abort = pmi1_abort,
        .refused = pmi1_refused,
    };
    const struct job_local *job = services->config.job;
    struct pmi1_world world = world_functions;
    struct buffer mapping = {0};
    struct pmi1_config config = {
        .kvs_name = services->namespace,
        .size = job->map.processes,
        .universe_size = (uint32_t)allocation_slots(services->config.allocation),
        .local_count = job->count,
        .local_ranks = services->ranks,
        .local_apps = services->apps,
        .world = &world,
    };

    world.context = services;
    process_mapping(services, &mapping);
    config.process_mapping = buffer_string(&mapping);
    services->pmi1 = pmi1_create(&config);
    buffer_fini(&mapping);
    for (uint32_t i = 0; i < job->count; i++)
        if (services->clients[i].is_gone)
            (void)pmi1_closed(services->pmi1, i);
}

static void client_ready(void *context, int fd, unsigned int ready)
{
    struct client *client = context;
    struct services *services = client->services;
    char data[PMI1_READ_BYTES];
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
        client->is_gone = 1;
        if (services->pmi1)
            (void)pmi1_closed(services->pmi1, client->index);
        client_close(client);
        return;
    }
    if (!services->pmi1)
        pmi1_open(services);
    if (pmi1_input(services->pmi1, client->index, data, (size_t)got, &error) < 0) {
        log_warning("rank %u: %s", services->ranks[client->index], error.text);
        (void)pmi1_closed(services->pmi1, client->index);
        client_close(client);
    }
}

static void clients_create(struct services *services)
{
    const struct job_local *job = services->config.job;

    services->ranks = memory_allocate((job->count + 1) * sizeof *services->ranks);
    services->apps = memory_allocate_zeroed((job->count + 1) * sizeof *services->apps);
    services->clients = memory_allocate_zeroed((job->count + 1) * sizeof *services->clients);
    for (uint32_t i = 0; i < job->count; i++) {
        services->ranks[i] = place_map_rank(&job->map, services->config.place - 1, i);
        services->apps[i] = place_map_app(&job->map, services->ranks[i]);
        services->clients[i].services = services;
        services->clients[i].index = i;
        services->clients[i].fd = -1;
    }
}

/* Where --net fits nothing, as it may on virtual nodes, the libraries choose for themselves. */
static void net_open(struct services *services)
{
    const char *net = services->config.net;
    struct error error = ERROR_NONE;

    if (net != NULL &&
        address_net_interfaces(net, &services->net_interfaces, &services->net_devices, &error) < 0)
        log_info("the processes are not told of a network: %s", error.text);
}

struct services *services_create(const struct services_config *config, struct error *error)
{
    struct services *services = memory_allocate_zeroed(sizeof *services);
    int rc = 0;

    services->config = *config;
    services->world = *config->world;
    list_init(&services->pmix.fences);
    list_init(&services->pmix.fetches);
    list_init(&services->stand_ins);
    job_namespace(config->jobs_name, config->job->number, services->namespace,
                  sizeof services->namespace);
    snprintf(services->server_namespace, sizeof services->server_namespace, "banyan-%s",
             config->session_id);
    clients_create(services);
    net_open(services);
    if (config->job->spec.mpi & JOB_MPI_PMIX)
        rc = services_pmix_open(services, error);
    if (rc < 0) {
        services_destroy(services);
        return NULL;
    }
    return services;
}

void services_destroy(struct services *services)
{
    if (!services)
        return;
    services_pmix_close(services);
    services_stand_in_close(services);
    for (uint32_t i = 0; i < services->config.job->count; i++)
        client_close(&services->clients[i]);
    pmi1_destroy(services->pmi1);
    buffer_fini(&services->net_interfaces);
    buffer_fini(&services->net_devices);
    free(services->clients);
    free(services->ranks);
    free(services->apps);
    free(services);
}

int services_pmi_fd(struct services *services, uint32_t index, int *ret_fd)
{
    struct client *client = &services->clients[index];
    int ends[2];

    *ret_fd = -1;
    if (!(services->config.job->spec.mpi & JOB_MPI_PMI1))
        return 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    client->fd = descriptor_move_high(ends[0]);
    client->watch =
        loop_watch_create(services->config.loop, client->fd, LOOP_READ, client_ready, client);
    *ret_fd = ends[1];
    return 0;
}

/* More ranks than processors here: a rank that waits by spinning would keep others from running. */
static int is_crowded(const struct services *services)
{
    const struct job_local *job = services->config.job;
    uint32_t here = services->config.shared_machine ? job->map.processes : job->count;
    cpu_set_t processors;

    if (sched_getaffinity(0, sizeof processors, &processors) < 0)
        return 0;
    return here > (uint32_t)CPU_COUNT(&processors);
}

void services_environment(struct services *services, uint32_t index, int target_fd,
                          struct buffer *out)
{
    const struct job_local *job = services->config.job;
    const struct session *session = services->config.session;
    struct host_environment environment = {
        .namespace = services->namespace,
        .rank = services->ranks[index],
        .size = job->map.processes,
        .local_rank = index,
        .local_size = job->count,
        .node_name = services->config.node_name,
        .server_namespace = services->server_namespace,
        .server_rank = services->config.place,
        .server_port = services->pmix.port,
        .server_directory = session->directory,
        .shared_memory_directory = session->shared_directory[0] ? session->shared_directory : NULL,
        .pmi_fd = job->spec.mpi & JOB_MPI_PMI1 ? target_fd : -1,
        .pmix = (job->spec.mpi & JOB_MPI_PMIX) != 0,
        .crowded = is_crowded(services),
    };

    if (services->net_interfaces.length_bytes > 0) {
        environment.net_interfaces = buffer_string(&services->net_interfaces);
        environment.net_devices = buffer_string(&services->net_devices);
    }
    host_environment_write(&environment, out);
}

/* A job that goes on does so without the ranks of this node: whoever fences with them need not ask. */
static void stand_in(struct services *services)
{
    const struct job_local *job = services->config.job;
    struct node_key key = {
        .set_id = job_set_id(job->number, JOB_OPERATION_PMI1),
        .owner = job->number,
        .generation = services->pmi1_generation + 1,
        .kind = JOB_OPERATION_PMI1,
        .merge = JOB_MERGE_CONCATENATE,
        .target = NODE_TARGET_ALL,
    };

    if (job->spec.mpi & JOB_MPI_PMI1)
        services_stand_in(services, &key, &job->places);
    if (job->spec.mpi & JOB_MPI_PMIX)
        services_pmix_stand_in(services);
}

int services_exited(struct services *services, uint32_t index)
{
    const struct job_local *job = services->config.job;
    struct client *client = &services->clients[index];

    services_pmix_exited(services, index);
    if (++services->ended_count == job->count && job->nodes > 1 &&
        job->spec.on_failure == JOB_ON_FAILURE_CONTINUE)
        stand_in(services);
    return client->pmi1_state == CLIENT_CONNECTED || client->pmix_state == CLIENT_CONNECTED;
}

uint32_t services_last_generation(const struct services *services, const struct node_key *key)
{
    if (key->kind == JOB_OPERATION_PMI1)
        return services->pmi1_generation;
    return services_pmix_last_generation(services, key->set_id);
}

enum job_roll_state services_roll_state(const struct services *services, const struct node_key *key,
                                        uint32_t index)
{
    const struct client *client = &services->clients[index];
    enum client_state state =
        key->kind == JOB_OPERATION_PMI1 ? client->pmi1_state : client->pmix_state;

    if (key->kind == JOB_OPERATION_PMI1 && services->pmi1 && pmi1_in_barrier(services->pmi1, index))
        return JOB_ROLL_ARRIVED;
    if (state == CLIENT_FINALIZED)
        return JOB_ROLL_FINALIZED;
    return state == CLIENT_NEVER ? JOB_ROLL_NEW : JOB_ROLL_RUNNING;
}

void services_result(struct services *services, const struct node_key *key, int status,
                     struct message *payload)
{
    if (key->kind == JOB_OPERATION_PMIX)
        services_pmix_result(services, key, status, payload);
    else if (key->kind == JOB_OPERATION_PMI1 && services->pmi1)
        pmi1_barrier_done(services->pmi1, status, payload ? payload->data : NULL,
                          payload ? payload->length_bytes : 0);
    services_stand_in_result(services, key, status);
}

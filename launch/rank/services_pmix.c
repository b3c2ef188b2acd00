/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/time.h"
#include "launch/rank/services.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "launch/exec/plugin.h"
#include "launch/rank/services_internal.h"
#include "pmix/host_environment.h"

/* Of libpmix's server version 4 and 5; what a client is told instead of a greeting. */
#define REFUSED_NOT_FOUND     (-46)
#define REFUSED_NOT_SUPPORTED (-47)
/* A rank whose data others have waited for so long is named. */
#define FETCH_LATE_NS (5 * NS_PER_S)
/* A key that a rank has not committed, though others, is waited for so long if the caller has not said
 * how long, as libpmix does for a rank of the same node (4.2.2); looked for that often. */
#define FETCH_KEY_NS       (2 * NS_PER_S)
#define FETCH_SLACK_NS     (1 * NS_PER_S) /* the caller's own node ends it in time */
#define FETCH_AGAIN_NS     (10 * NS_PER_MS)
#define FETCH_AGAIN_NS_MAX (160 * NS_PER_MS)
#define FETCH_KEY_BYTES    512u

/* A fence of local processes, or their connect or disconnect, that waits for the other nodes. */
struct fence_wait {
    struct list_node node;
    struct services *services;
    struct loop_timer *timer; /* NULL: no time-out */
    uint64_t id;              /* the host's */
    struct node_key key;
    enum host_operation operation;
    uint64_t members; /* of whom, whatever the operation */
};

struct fence_set {
    uint32_t generation; /* the last one used */
    struct ranges places;
};

/* A blob of a process elsewhere that a local one has asked for. */
struct modex_wait {
    struct services *services;
    struct loop_timer *timer; /* NULL: no time-out */
    uint64_t id;              /* the host's */
    uint32_t request;         /* the overlay's */
};

/* A blob of a local process that another node has asked for. */
struct fetch_wait {
    struct list_node node;
    struct services *services;
    struct loop_timer *timer; /* asks again, for the key was not there */
    char *key;                /* or "" */
    uint64_t key_until_ns;
    uint64_t again_ns; /* after how long */
    uint64_t id;
    uint32_t source;
    uint32_t request;
    uint32_t rank;
    uint64_t since_ns;
    int told;
};

static void fence_free(struct fence_wait *fence)
{
    list_remove(&fence->node);
    loop_timer_destroy(fence->timer);
    free(fence);
}

/* It ends for everyone or, if it has been decided, not at all. */
static void fence_timed_out(void *context)
{
    struct fence_wait *fence = context;
    const struct services_world *world = &fence->services->world;

    world->cancel(world->context, &fence->key);
}

static int compare_processes(const void *a, const void *b)
{
    const struct host_process *left = a, *right = b;
    int order = strcmp(left->namespace, right->namespace);

    if (order != 0)
        return order;
    return left->rank < right->rank ? -1 : left->rank > right->rank;
}

/* What a set of processes does together, one name for each operation: fences, connects and
 * disconnects of the same processes do not mix. */
static uint64_t operation_set_id(enum host_operation operation, uint64_t members)
{
    return operation == HOST_FENCE ? members : hash_mix(members + operation);
}

/* Name and places of a set of processes, the same at all its members whatever order they gave. */
static int participants_set(const struct services *services, const struct host_process *list,
                            size_t count, uint64_t *ret_set_id, struct ranges *ret_places)
{
    const struct job_local *job = services->config.job;
    struct host_process *sorted = memory_copy(list, count * sizeof *list);
    uint64_t id = hash_mix(JOB_OPERATION_PMIX);
    int rc = 0;

    qsort(sorted, count, sizeof *sorted, compare_processes);
    for (size_t i = 0; i < count && rc == 0; i++) {
        uint32_t node, local_index;

        id = hash_mix(id ^ hash_string(sorted[i].namespace)) + hash_mix(sorted[i].rank);
        if (strcmp(sorted[i].namespace, services->namespace) != 0) {
            rc = -ENOENT;
        } else if (sorted[i].rank == HOST_RANK_ALL) {
            ranges_add_all(ret_places, &job->places);
        } else if (sorted[i].rank >= job->map.processes) {
            rc = -EINVAL;
        } else {
            place_map_find(&job->map, sorted[i].rank, &node, &local_index);
            ranges_add(ret_places, node + 1, node + 1);
        }
    }
    free(sorted);
    *ret_set_id = id;
    return rc;
}

static uint32_t generation_next(struct services_pmix *pmix, uint64_t set_id,
                                const struct ranges *places)
{
    struct fence_set *set = map_get_u64(pmix->sets, set_id);

    if (!set) {
        set = memory_allocate_zeroed(sizeof *set);
        ranges_copy(&set->places, places);
        (void)map_put_u64(pmix->sets, set_id, set);
    }
    return ++set->generation;
}

uint32_t services_pmix_last_generation(const struct services *services, uint64_t set_id)
{
    const struct fence_set *set =
        services->pmix.sets ? map_get_u64(services->pmix.sets, set_id) : NULL;

    return set ? set->generation : 0;
}

static struct node_key fence_key(const struct services *services, uint64_t set_id)
{
    return (struct node_key){
        .set_id = set_id,
        .owner = services->config.job->number,
        .kind = JOB_OPERATION_PMIX,
        .merge = JOB_MERGE_CONCATENATE,
        .target = NODE_TARGET_ALL,
    };
}

static void stand_in_set(struct services *services, uint64_t set_id, const struct ranges *places)
{
    struct node_key key = fence_key(services, set_id);

    key.generation = services_pmix_last_generation(services, set_id) + 1;
    services_stand_in(services, &key, places);
}

/* In the sets that were fenced here, and in that of all. */
void services_pmix_stand_in(struct services *services)
{
    struct services_pmix *pmix = &services->pmix;
    struct host_process everyone = {.rank = HOST_RANK_ALL};
    struct ranges places = {0};
    const void *key;
    size_t cursor = 0, key_bytes;
    uint64_t set_id;

    while (pmix->sets && map_next_entry(pmix->sets, &cursor, &key, &key_bytes)) {
        const struct fence_set *set;

        memcpy(&set_id, key, sizeof set_id);
        set = map_get_u64(pmix->sets, set_id);
        stand_in_set(services, set_id, &set->places);
    }
    snprintf(everyone.namespace, sizeof everyone.namespace, "%s", services->namespace);
    if (participants_set(services, &everyone, 1, &set_id, &places) == 0)
        stand_in_set(services, set_id, &places);
    ranges_fini(&places);
}

/* Of the time limits of its members the first ends it. */
static void fence_limit(struct fence_wait *fence, uint32_t timeout_ms)
{
    if (timeout_ms == 0)
        return;
    fence->timer = loop_timer_create(fence->services->config.loop, fence_timed_out, fence);
    loop_timer_set(fence->timer, loop_now_ns() + timeout_ms * NS_PER_MS);
}

static void world_fence(void *context, uint64_t id, enum host_operation operation,
                        const struct host_process *participants, size_t participants_count,
                        const void *data, size_t data_bytes, int collect, uint32_t timeout_ms)
{
    struct services *services = context;
    struct services_pmix *pmix = &services->pmix;
    struct ranges places = {0};
    struct fence_wait *fence;
    uint64_t members;
    int rc = participants_set(services, participants, participants_count, &members, &places);
    struct node_key key = fence_key(services, operation_set_id(operation, members));

    (void)collect; /* libpmix gives no data when none is to be collected */
    if (rc == 0 && services_stands_in(services, key.set_id))
        rc = -ESRCH; /* of ranks that have ended since */
    if (rc == 0 && operation == HOST_DISCONNECT && !map_get_u64(pmix->connected, members))
        rc = -ENOTCONN;
    if (rc < 0) {
        pmix->table->fence_done(pmix->host, id, rc, NULL, 0);
        ranges_fini(&places);
        return;
    }
    fence = memory_allocate_zeroed(sizeof *fence);
    fence->id = id;
    fence->key = key;
    fence->operation = operation;
    fence->members = members;
    fence->services = services;
    fence_limit(fence, timeout_ms);
    fence->key.generation = generation_next(pmix, key.set_id, &places);
    list_append(&pmix->fences, &fence->node);
    services->world.contribute(services->world.context, &fence->key, &places,
                               message_create(data, data_bytes));
    ranges_fini(&places);
}

/* Every node of a member has seen the same result, so all know the same. */
static void connection_change(struct services_pmix *pmix, enum host_operation operation,
                              uint64_t members)
{
    static char present;

    if (operation == HOST_CONNECT)
        (void)map_put_u64(pmix->connected, members, &present);
    else if (operation == HOST_DISCONNECT)
        (void)map_remove_u64(pmix->connected, members);
}

void services_pmix_result(struct services *services, const struct node_key *key, int status,
                          struct message *payload)
{
    struct services_pmix *pmix = &services->pmix;
    struct list_node *node, *spare;

    list_for_each(&pmix->fences, node, spare)
    {
        struct fence_wait *fence = list_entry(node, struct fence_wait, node);

        if (fence->key.set_id != key->set_id || fence->key.generation != key->generation)
            continue;
        if (status == 0)
            connection_change(pmix, fence->operation, fence->members);
        pmix->table->fence_done(pmix->host, fence->id, status, payload ? payload->data : NULL,
                                payload ? payload->length_bytes : 0);
        fence_free(fence);
        return;
    }
}

static void modex_free(struct modex_wait *modex)
{
    loop_timer_destroy(modex->timer);
    free(modex);
}

/* An answer that comes later finds nobody. */
static void modex_timed_out(void *context)
{
    struct modex_wait *modex = context;
    struct services_pmix *pmix = &modex->services->pmix;
    uint64_t id = modex->id;

    (void)map_remove_u64(pmix->requests, modex->request);
    modex_free(modex);
    pmix->table->modex_done(pmix->host, id, -ETIMEDOUT, NULL, 0);
}

static void world_modex(void *context, uint64_t id, const struct host_process *process,
                        const char *key, uint32_t timeout_ms)
{
    struct services *services = context;
    struct services_pmix *pmix = &services->pmix;
    const struct job_local *job = services->config.job;
    struct buffer payload = {0};
    uint32_t node, local_index;
    struct modex_wait *modex;

    if (strcmp(process->namespace, services->namespace) != 0 ||
        process->rank >= job->map.processes) {
        pmix->table->modex_done(pmix->host, id, -ENOENT, NULL, 0);
        return;
    }
    place_map_find(&job->map, process->rank, &node, &local_index);
    wire_put_u8(&payload, JOB_MESSAGE_MODEX);
    wire_put_u32(&payload, job->number);
    wire_put_u32(&payload, process->rank);
    wire_put_u32(&payload, timeout_ms);
    wire_put_string(&payload, key);
    modex = memory_allocate_zeroed(sizeof *modex);
    modex->services = services;
    modex->id = id;
    modex->request =
        services->world.request(services->world.context, node + 1, message_from_buffer(&payload));
    buffer_fini(&payload);
    if (timeout_ms > 0) {
        modex->timer = loop_timer_create(services->config.loop, modex_timed_out, modex);
        loop_timer_set(modex->timer, loop_now_ns() + timeout_ms * NS_PER_MS);
    }
    (void)map_put_u64(pmix->requests, modex->request, modex);
}

void services_reply(struct services *services, uint32_t id, int status, struct message *payload)
{
    struct services_pmix *pmix = &services->pmix;
    struct modex_wait *modex = pmix->requests ? map_remove_u64(pmix->requests, id) : NULL;
    struct wire_reader reader;

    if (!modex)
        return;
    wire_reader_init(&reader, payload ? payload->data : NULL, payload ? payload->length_bytes : 0);
    if (status == 0)
        status = (int32_t)wire_get_u32(&reader);
    if (wire_status(&reader) < 0)
        status = -EBADMSG;
    pmix->table->modex_done(pmix->host, modex->id, status, reader.position, wire_left(&reader));
    modex_free(modex);
}

static void fetch_answer(struct services *services, uint32_t source, uint32_t request, int status,
                         const void *data, size_t data_bytes)
{
    struct buffer payload = {0};

    wire_put_u32(&payload, (uint32_t)status);
    buffer_append(&payload, data, data_bytes);
    services->world.reply(services->world.context, source, request, message_from_buffer(&payload));
    buffer_fini(&payload);
}

static void fetch_free(struct fetch_wait *fetch)
{
    list_remove(&fetch->node);
    loop_timer_destroy(fetch->timer);
    free(fetch->key);
    free(fetch);
}

/* When the time for the key is over, for what there is. */
static void fetch_ask(struct fetch_wait *fetch)
{
    const struct services *services = fetch->services;
    struct host_process process = {.rank = fetch->rank};
    int has_time = loop_now_ns() < fetch->key_until_ns;

    snprintf(process.namespace, sizeof process.namespace, "%s", services->namespace);
    services->pmix.table->modex_fetch(services->pmix.host, fetch->id, &process,
                                      has_time ? fetch->key : "");
}

static void fetch_ask_again(void *context)
{
    fetch_ask(context);
}

static void fetch_later(struct fetch_wait *fetch)
{
    if (fetch->timer == NULL)
        fetch->timer = loop_timer_create(fetch->services->config.loop, fetch_ask_again, fetch);
    loop_timer_set(fetch->timer, loop_now_ns() + fetch->again_ns);
    if (fetch->again_ns < FETCH_AGAIN_NS_MAX)
        fetch->again_ns *= 2;
}

static void world_modex_fetched(void *context, uint64_t id, int status, const void *data,
                                size_t data_bytes)
{
    struct services *services = context;
    struct list_node *node, *spare;

    list_for_each(&services->pmix.fetches, node, spare)
    {
        struct fetch_wait *fetch = list_entry(node, struct fetch_wait, node);

        if (fetch->id != id)
            continue;
        if (status == -EAGAIN) {
            fetch_later(fetch);
            return;
        }
        fetch_answer(services, fetch->source, fetch->request, status, data, data_bytes);
        fetch_free(fetch);
        return;
    }
}

static void world_connected(void *context, const struct host_process *process)
{
    struct services *services = context;
    int64_t index = services_local_index(services, process->rank);

    if (index >= 0)
        services->clients[index].pmix_state = CLIENT_CONNECTED;
}

static void world_finalized(void *context, const struct host_process *process)
{
    struct services *services = context;
    int64_t index = services_local_index(services, process->rank);

    if (index >= 0)
        services->clients[index].pmix_state = CLIENT_FINALIZED;
}

/* 1 if the caller has named all of its job, or nobody, which means the same. */
static int is_whole_job(const struct services *services, const struct host_process *targets,
                        size_t targets_count)
{
    const struct job_local *job = services->config.job;
    struct ranges ranks = {0};
    int whole;

    for (size_t i = 0; i < targets_count; i++) {
        if (strcmp(targets[i].namespace, services->namespace) != 0)
            continue;
        if (targets[i].rank == HOST_RANK_ALL)
            ranges_add(&ranks, 0, job->map.processes - 1);
        else if (targets[i].rank < job->map.processes)
            ranges_add(&ranks, targets[i].rank, targets[i].rank);
    }
    whole = targets_count == 0 || ranges_count(&ranks) == job->map.processes;
    ranges_fini(&ranks);
    return whole;
}

/* The client's libpmix (4.2.2) does not look at the answer and returns success: so the user is told. */
static void abort_refuse(struct services *services, uint64_t id, const struct host_process *caller)
{
    char text[HOST_NAME_BYTES_MAX + 160];

    snprintf(text, sizeof text,
             "rank %u on %s asked to end some ranks of its job only, which is not supported: none "
             "is ended",
             caller->rank, services->config.node_name);
    services->world.text(services->world.context, text, strlen(text));
    services->pmix.table->abort_done(services->pmix.host, id, -ENOTSUP);
}

/* The caller waits until its job has ended, and it with it; a part of a job is not ended alone. */
static void world_abort(void *context, uint64_t id, const struct host_process *caller, int status,
                        const char *message, const struct host_process *targets,
                        size_t targets_count)
{
    struct services *services = context;
    int64_t index = services_local_index(services, caller->rank);

    if (!is_whole_job(services, targets, targets_count))
        abort_refuse(services, id, caller);
    else if (index >= 0)
        services->world.aborted(services->world.context, (uint32_t)index, status, message);
}

static void world_text(void *context, const struct host_process *from, const char *text,
                       size_t text_bytes)
{
    struct services *services = context;

    (void)from;
    services->world.text(services->world.context, text, text_bytes);
}

static void host_ready(void *context, int fd, unsigned int ready)
{
    struct services *services = context;

    (void)fd;
    (void)ready;
    services->pmix.table->process(services->pmix.host);
}

static struct host *host_create(struct services *services, struct error *error)
{
    struct host_world world = {
        .context = services,
        .connected = world_connected,
        .finalized = world_finalized,
        .abort = world_abort,
        .fence = world_fence,
        .modex = world_modex,
        .modex_fetched = world_modex_fetched,
        .text = world_text,
    };
    struct host_config config = {
        .directory = services->config.session->directory,
        .node_name = services->config.node_name,
        .server_namespace = services->server_namespace,
        .server_rank = services->config.place,
        .world = &world,
    };

    if (session_create(services->config.session, error) < 0)
        return NULL;
    services->pmix.table = plugin_pmix_host(error);
    return services->pmix.table ? services->pmix.table->create(&config, error) : NULL;
}

/* A small job that never calls libpmix does not pay for it. */
static int host_start(struct services *services)
{
    struct services_pmix *pmix = &services->pmix;
    struct error error = ERROR_NONE;

    if (pmix->host)
        return 0;
    if (pmix->failed || pmix->door == NULL)
        return -ENOTCONN;
    pmix->host = host_create(services, &error);
    if (pmix->host && services_job_register(services, &error) == 0) {
        pmix->host_watch =
            loop_watch_create(services->config.loop, pmix->table->descriptor(pmix->host), LOOP_READ,
                              host_ready, services);
        return 0;
    }
    pmix->failed = 1;
    services->world.failed(services->world.context, &error);
    return -ENOTCONN;
}

/* The first answer of libpmix's server is a status, which says the client what PMIx_Init returns. */
static void refuse(int fd, int32_t status)
{
    uint32_t answer = htonl((uint32_t)status);

    (void)!send(fd, &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT);
    close(fd);
}

/* A client has said who it is; libpmix is started for the first that may enter. */
static void client_arrived(void *context, int fd, const struct hello *hello, const void *message,
                           size_t message_bytes)
{
    struct services *services = context;
    struct services_pmix *pmix = &services->pmix;

    if (!hello->is_client)
        refuse(fd, REFUSED_NOT_SUPPORTED);
    else if (strcmp(hello->process.namespace, services->namespace) != 0 ||
             services_local_index(services, hello->process.rank) < 0)
        refuse(fd, REFUSED_NOT_FOUND);
    else if (host_start(services) < 0)
        close(fd);
    else
        pmix->table->admit(pmix->host, fd, &hello->process, message, message_bytes);
}

/* Others wait for what a rank has not committed: said once for each rank. */
static void fetch_tell(struct services *services, const struct fetch_wait *fetch)
{
    int64_t index = services_local_index(services, fetch->rank);
    uint8_t state = 0;
    char text[HOST_NAME_BYTES_MAX + 160];

    if (index >= 0)
        state = services->world.process_state(services->world.context, (uint32_t)index);
    snprintf(text, sizeof text,
             "others wait for data that rank %u on %s has not committed (alive%s%s)", fetch->rank,
             services->config.node_name, state == 'T' || state == 't' ? ", stopped in state " : "",
             state == 'T'   ? "T"
             : state == 't' ? "t"
                            : "");
    services->world.text(services->world.context, text, strlen(text));
}

static void fetches_late(void *context)
{
    struct services *services = context;
    struct services_pmix *pmix = &services->pmix;
    uint64_t now_ns = loop_now_ns();
    struct list_node *node, *spare, *other, *other_spare;

    list_for_each(&pmix->fetches, node, spare)
    {
        struct fetch_wait *fetch = list_entry(node, struct fetch_wait, node);

        if (fetch->told || now_ns < fetch->since_ns + FETCH_LATE_NS)
            continue;
        fetch_tell(services, fetch);
        list_for_each(&pmix->fetches, other, other_spare)
        {
            struct fetch_wait *same = list_entry(other, struct fetch_wait, node);

            same->told |= same->rank == fetch->rank;
        }
    }
    if (!list_is_empty(&pmix->fetches))
        loop_timer_set(pmix->fetch_timer, now_ns + FETCH_LATE_NS);
}

static void fetch_watch(struct services *services)
{
    struct services_pmix *pmix = &services->pmix;

    if (!pmix->fetch_timer)
        pmix->fetch_timer = loop_timer_create(services->config.loop, fetches_late, services);
    if (list_is_empty(&pmix->fetches))
        loop_timer_set(pmix->fetch_timer, loop_now_ns() + FETCH_LATE_NS);
}

void services_request(struct services *services, uint32_t source, uint32_t id,
                      struct wire_reader *reader)
{
    uint32_t number = wire_get_u32(reader);
    uint32_t rank = wire_get_u32(reader);
    uint32_t timeout_ms = wire_get_u32(reader);
    char *key = wire_get_string(reader, FETCH_KEY_BYTES);
    struct fetch_wait *fetch;

    if (wire_finish(reader) < 0 || number != services->config.job->number ||
        services_local_index(services, rank) < 0 || host_start(services) < 0) {
        fetch_answer(services, source, id, -ENOENT, NULL, 0);
        free(key);
        return;
    }
    fetch = memory_allocate_zeroed(sizeof *fetch);
    fetch->services = services;
    fetch->key = key;
    fetch->again_ns = FETCH_AGAIN_NS;
    fetch->key_until_ns =
        loop_now_ns() + (timeout_ms > 0 ? timeout_ms * NS_PER_MS + FETCH_SLACK_NS : FETCH_KEY_NS);
    fetch->id = ++services->pmix.fetch_next;
    fetch->source = source;
    fetch->request = id;
    fetch->rank = rank;
    fetch->since_ns = loop_now_ns();
    fetch_watch(services);
    list_append(&services->pmix.fetches, &fetch->node);
    fetch_ask(fetch);
}

int services_pmix_open(struct services *services, struct error *error)
{
    struct services_pmix *pmix = &services->pmix;

    pmix->door = door_open(services->config.loop, client_arrived, services, &pmix->port, error);
    if (pmix->door == NULL)
        return error->code;
    pmix->sets = map_create();
    pmix->connected = map_create();
    pmix->requests = map_create();
    if (host_environment_is_eager(services->config.job->map.processes,
                                  services->config.job->count) &&
        host_start(services) < 0)
        return error_set(error, -EIO, "the PMIx server did not start");
    return 0;
}

void services_pmix_exited(struct services *services, uint32_t index)
{
    struct host_process process = {.rank = services->ranks[index]};

    if (!services->pmix.host)
        return;
    services->pmix.table->process(services->pmix.host); /* its finalize comes before its end */
    snprintf(process.namespace, sizeof process.namespace, "%s", services->namespace);
    services->pmix.table->process_gone(services->pmix.host, &process);
}

static void sets_free(struct services *services)
{
    struct services_pmix *pmix = &services->pmix;
    struct fence_set *set;
    size_t cursor = 0;

    while (pmix->sets && (set = map_next(pmix->sets, &cursor)) != NULL) {
        ranges_fini(&set->places);
        free(set);
    }
    map_destroy(pmix->sets);
}

static void requests_free(struct map *requests)
{
    size_t cursor = 0;
    struct modex_wait *waiting;

    if (!requests)
        return;
    while ((waiting = map_next(requests, &cursor)))
        modex_free(waiting);
    map_destroy(requests);
}

void services_pmix_close(struct services *services)
{
    struct services_pmix *pmix = &services->pmix;
    struct list_node *node, *spare;

    door_close(pmix->door);
    pmix->door = NULL;
    if (pmix->host) {
        loop_watch_destroy(pmix->host_watch);
        pmix->table->job_deregister(pmix->host, services->namespace);
        pmix->table->destroy(pmix->host);
    }
    list_for_each(&pmix->fences, node, spare) fence_free(list_entry(node, struct fence_wait, node));
    if (pmix->fetch_timer)
        loop_timer_destroy(pmix->fetch_timer);
    list_for_each(&pmix->fetches, node, spare)
    {
        fetch_free(list_entry(node, struct fetch_wait, node));
    }
    sets_free(services);
    map_destroy(pmix->connected);
    requests_free(pmix->requests);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_job.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "pmix/host_internal.h"
#include "pmix/host_loop.h"
#include "pmix/host_status.h"

#include <pmix.h>

#define INFO_COUNT_MAX 32 /* keys of a job or of a process, given below */

/* A registered job, as far as it is needed afterwards. */
struct host_registration {
    uint32_t number;
    uint32_t local_count;
    uint32_t *local_ranks; /* ascending */
    unsigned char *gone;   /* by local rank */
    enum pmi_stop stop;
    unsigned char *stopped; /* likewise: it waits for a debugger */
    uint32_t stopped_count;
    int is_spoiled; /* libpmix must not deregister it */
    int keeps_data;
    char namespace[];
};

/* Keys and values on their way to libpmix, which copies them. */
struct info_list {
    pmix_info_t items[INFO_COUNT_MAX];
    size_t count;
};

static pmix_info_t *info_next(struct info_list *list)
{
    assert(list->count < INFO_COUNT_MAX);
    return &list->items[list->count++];
}

static void info_add_string(struct info_list *list, const char *key, const char *text)
{
    PMIX_INFO_LOAD(info_next(list), key, text, PMIX_STRING);
}

static void info_add_u32(struct info_list *list, const char *key, uint32_t value)
{
    PMIX_INFO_LOAD(info_next(list), key, &value, PMIX_UINT32);
}

static void info_add_u16(struct info_list *list, const char *key, uint16_t value)
{
    PMIX_INFO_LOAD(info_next(list), key, &value, PMIX_UINT16);
}

static void info_add_rank(struct info_list *list, const char *key, pmix_rank_t rank)
{
    PMIX_INFO_LOAD(info_next(list), key, &rank, PMIX_PROC_RANK);
}

static void info_add_true(struct info_list *list, const char *key)
{
    PMIX_INFO_LOAD(info_next(list), key, NULL, PMIX_BOOL);
}

/* The node and rank maps, in libpmix's own short form. */
static pmix_status_t add_maps(struct info_list *list, const struct pmi_job *job)
{
    char *nodes = NULL, *ranks = NULL;
    pmix_status_t status = PMIx_generate_regex(job->node_names, &nodes);

    if (status == PMIX_SUCCESS)
        status = PMIx_generate_ppn(job->ranks_by_node, &ranks);
    if (status == PMIX_SUCCESS) {
        PMIX_INFO_LOAD(info_next(list), PMIX_NODE_MAP, nodes, PMIX_REGEX);
        PMIX_INFO_LOAD(info_next(list), PMIX_PROC_MAP, ranks, PMIX_REGEX);
    }
    free(nodes);
    free(ranks);
    return status;
}

/* The number of the node's processes before the first of a new job. */
static uint32_t node_rank_base(const struct host *host)
{
    const struct host_registration *registration;
    uint32_t base = 0;
    size_t cursor = 0;

    while ((registration = hash_map_next(host->jobs, &cursor)) != NULL)
        base += registration->local_count;
    return base;
}

/* "0-1:2-3": of the local processes in order; empty for those not bound. */
static void add_local_cpusets(struct info_list *list, const struct pmi_job *job)
{
    struct buffer sets = {0};
    int is_bound = 0;

    for (uint32_t i = 0; job->bindings != NULL && i < job->local_count; i++) {
        const char *cpus = job->bindings[i].cpus;
        const char *numbers = cpus != NULL ? strchr(cpus, ':') : NULL;

        is_bound |= numbers != NULL;
        buffer_printf(&sets, "%s%s", i > 0 ? ":" : "", numbers != NULL ? numbers + 1 : "");
    }
    if (is_bound)
        info_add_string(list, PMIX_LOCAL_CPUSETS, buffer_string(&sets));
    buffer_fini(&sets);
}

/* Of a spawned job, which its processes recognise by this (PMIx 4.1, 12.2.4). */
static void add_parent(struct info_list *list, const struct pmi_job *job)
{
    pmix_proc_t parent;

    if (job->parent == NULL)
        return;
    PMIX_LOAD_PROCID(&parent, job->parent, job->parent_rank);
    PMIX_INFO_LOAD(info_next(list), PMIX_PARENT_ID, &parent, PMIX_PROC);
    info_add_true(list, PMIX_SPAWNED);
}

/* The client's PMIx_Init, or the program, finds it and waits. */
static void add_stop(struct info_list *list, const struct pmi_job *job)
{
    assert(job->stop < PMI_STOP_COUNT);
    if (job->stop == PMI_STOP_INIT)
        info_add_rank(list, PMIX_DEBUG_STOP_IN_INIT, PMIX_RANK_WILDCARD);
    else if (job->stop == PMI_STOP_APP)
        info_add_rank(list, PMIX_DEBUG_STOP_IN_APP, PMIX_RANK_WILDCARD);
    else if (job->stop == PMI_STOP_EXEC)
        info_add_rank(list, PMIX_DEBUG_STOP_ON_EXEC, PMIX_RANK_WILDCARD);
}

/* Of debugger daemons. */
static void add_target(struct info_list *list, const struct pmi_job *job)
{
    pmix_proc_t target;

    if (job->target == NULL)
        return;
    PMIX_LOAD_PROCID(&target, job->target,
                     job->target_rank == PMI_RANK_ALL ? PMIX_RANK_WILDCARD : job->target_rank);
    PMIX_INFO_LOAD(info_next(list), PMIX_DEBUG_TARGET, &target, PMIX_PROC);
    info_add_string(list, PMIX_DEBUG_JOB, job->target);
    info_add_true(list, PMIX_DEBUGGER_DAEMONS);
}

static void add_job_keys(struct info_list *list, const struct host *host, const struct pmi_job *job)
{
    struct buffer peers = {0};

    for (uint32_t i = 0; i < job->local_count; i++)
        buffer_printf(&peers, "%s%u", i == 0 ? "" : ",", job->local_ranks[i]);
    info_add_u32(list, PMIX_UNIV_SIZE, job->universe_size);
    info_add_u32(list, PMIX_JOB_SIZE, job->size);
    info_add_u32(list, PMIX_MAX_PROCS,
                 job->universe_size > job->size ? job->universe_size : job->size);
    info_add_u32(list, PMIX_JOB_NUM_APPS, job->apps_count);
    info_add_string(list, PMIX_JOBID, job->job_id);
    info_add_string(list, PMIX_RM_NAME, PACKAGE_NAME);
    info_add_string(list, PMIX_RM_VERSION, PACKAGE_VERSION);
    info_add_string(list, PMIX_TMPDIR, job->directory);
    info_add_string(list, PMIX_NSDIR, job->directory);
    info_add_true(list, PMIX_TDIR_RMCLEAN);
    info_add_u32(list, PMIX_LOCAL_SIZE, job->local_count);
    info_add_u32(list, PMIX_NODE_SIZE, node_rank_base(host) + job->local_count);
    if (job->local_count > 0)
        info_add_string(list, PMIX_LOCAL_PEERS, buffer_string(&peers));
    if (job->local_count > 0)
        info_add_rank(list, PMIX_LOCALLDR, job->local_ranks[0]);
    info_add_rank(list, PMIX_NPROC_OFFSET, 0);
    if (job->slots > 0)
        info_add_u32(list, PMIX_NUM_SLOTS, job->slots);
    if (job->map_by != NULL)
        info_add_string(list, PMIX_MAPBY, job->map_by);
    if (job->rank_by != NULL)
        info_add_string(list, PMIX_RANKBY, job->rank_by);
    if (job->bind_to != NULL)
        info_add_string(list, PMIX_BINDTO, job->bind_to);
    add_local_cpusets(list, job);
    add_parent(list, job);
    add_stop(list, job);
    add_target(list, job);
    buffer_fini(&peers);
}

/* A key whose value is an array of keys and values. */
static void load_array(pmix_info_t *ret_info, const char *key, const struct info_list *list)
{
    pmix_data_array_t *array;

    PMIX_DATA_ARRAY_CREATE(array, list->count, PMIX_INFO);
    memcpy(array->array, list->items, list->count * sizeof(list->items[0]));
    PMIX_LOAD_KEY(ret_info->key, key);
    ret_info->value.type = PMIX_DATA_ARRAY;
    ret_info->value.data.darray = array;
}

/* The application of a rank; applications have consecutive ranks. */
static uint32_t app_of(const struct pmi_job *job, uint32_t rank)
{
    uint32_t app = 0;

    assert(rank < job->size);
    while (job->apps != NULL && app + 1 < job->apps_count && rank >= job->apps[app + 1].first_rank)
        app++;
    return app;
}

/* Data of every process, local or remote: what identifies it. */
static void add_identity(struct info_list *list, const struct pmi_job *job, uint32_t rank)
{
    uint32_t app = app_of(job, rank);

    info_add_rank(list, PMIX_RANK, rank);
    info_add_rank(list, PMIX_GLOBAL_RANK, rank);
    if (job->apps != NULL || job->apps_count == 1)
        info_add_rank(list, PMIX_APP_RANK,
                      rank - (job->apps != NULL ? job->apps[app].first_rank : 0));
}

static void add_binding(struct info_list *list, const struct pmi_binding *binding)
{
    if (binding->cpus == NULL)
        return;
    info_add_string(list, PMIX_CPUSET, binding->cpus);
    if (binding->locality != NULL)
        info_add_string(list, PMIX_LOCALITY_STRING, binding->locality);
    info_add_u16(list, PMIX_PACKAGE_RANK, binding->package_rank);
}

/* One local process.  libpmix takes a process array whose first key is the rank, and once it has
 * one it no longer derives local and node ranks (4.2.2). */
static void add_process(const struct host *host, const struct pmi_job *job, uint32_t index,
                        pmix_info_t *ret_info)
{
    struct info_list list = {.count = 0};
    char *directory = memory_printf("%s/%u", job->directory, job->local_ranks[index]);

    assert(index < job->local_count);
    add_identity(&list, job, job->local_ranks[index]);
    info_add_u32(&list, PMIX_APPNUM, job->local_apps[index]);
    info_add_u16(&list, PMIX_LOCAL_RANK, (uint16_t)index);
    info_add_u16(&list, PMIX_NODE_RANK, (uint16_t)(node_rank_base(host) + index));
    info_add_u32(&list, PMIX_NODEID, job->node_index);
    info_add_u32(&list, PMIX_REINCARNATION, 0);
    info_add_string(&list, PMIX_HOSTNAME, host->node_name);
    info_add_string(&list, PMIX_PROCDIR, directory);
    if (job->bindings != NULL)
        add_binding(&list, &job->bindings[index]);
    add_parent(&list, job);
    free(directory);
    load_array(ret_info, PMIX_PROC_DATA, &list);
}

/* One of another node, of which libpmix itself provides only the host name. */
static void add_remote(const struct pmi_job *job, uint32_t rank, pmix_info_t *ret_info)
{
    struct info_list list = {.count = 0};

    assert(job->local_numbers != NULL && job->nodes[rank] != job->node_index);
    add_identity(&list, job, rank);
    info_add_u32(&list, PMIX_APPNUM, app_of(job, rank));
    info_add_u16(&list, PMIX_LOCAL_RANK, job->local_numbers[rank]);
    info_add_u16(&list, PMIX_NODE_RANK, job->local_numbers[rank]);
    info_add_u32(&list, PMIX_NODEID, job->nodes[rank]);
    info_add_u32(&list, PMIX_REINCARNATION, 0);
    load_array(ret_info, PMIX_PROC_DATA, &list);
}

static void add_app(const struct pmi_job *job, uint32_t app, pmix_info_t *ret_info)
{
    const struct pmi_app *own = &job->apps[app];
    struct info_list list = {.count = 0};

    assert(app < job->apps_count);
    info_add_u32(&list, PMIX_APPNUM, app);
    info_add_u32(&list, PMIX_APP_SIZE, own->size);
    info_add_rank(&list, PMIX_APPLDR, own->first_rank);
    if (own->directory != NULL)
        info_add_string(&list, PMIX_WDIR, own->directory);
    if (own->arguments != NULL)
        info_add_string(&list, PMIX_APP_ARGV, own->arguments);
    load_array(ret_info, PMIX_APP_INFO_ARRAY, &list);
}

/* Local processes, remote ones if there are not too many, applications. */
static size_t add_arrays(const struct host *host, const struct pmi_job *job, pmix_info_t *ret_info)
{
    size_t count = 0;

    for (uint32_t i = 0; i < job->local_count; i++)
        add_process(host, job, i, &ret_info[count++]);
    for (uint32_t rank = 0; job->nodes != NULL && rank < job->size; rank++) {
        if (job->nodes[rank] != job->node_index)
            add_remote(job, rank, &ret_info[count++]);
    }
    for (uint32_t i = 0; job->apps != NULL && i < job->apps_count; i++)
        add_app(job, i, &ret_info[count++]);
    return count;
}

static pmix_status_t register_namespace(struct host *host, const struct pmi_job *job)
{
    struct info_list list = {.count = 0};
    pmix_info_t *info;
    pmix_nspace_t namespace;
    pmix_status_t status;
    size_t room, count;
    struct host_loop_call call = {0};

    status = add_maps(&list, job);
    if (status != PMIX_SUCCESS)
        return status;
    add_job_keys(&list, host, job);
    room = list.count + job->local_count + (job->nodes != NULL ? job->size : 0) +
           (job->apps != NULL ? job->apps_count : 0);
    PMIX_INFO_CREATE(info, room);
    memcpy(info, list.items, list.count * sizeof(list.items[0]));
    count = list.count + add_arrays(host, job, &info[list.count]);
    assert(count <= room);
    PMIX_LOAD_NSPACE(namespace, job->namespace);
    status = PMIx_server_register_nspace(namespace, (int)job->local_count, info, count,
                                         host_loop_callback(), &call);
    status = host_loop_finish(&call, status);
    PMIX_INFO_FREE(info, room);
    return status;
}

static pmix_status_t register_clients(const struct pmi_job *job)
{
    pmix_status_t status = PMIX_OPERATION_SUCCEEDED;
    pmix_proc_t proc;

    for (uint32_t i = 0; i < job->local_count; i++) {
        struct host_loop_call call = {0};

        PMIX_LOAD_PROCID(&proc, job->namespace, job->local_ranks[i]);
        status = PMIx_server_register_client(&proc, job->uid, job->gid, NULL, host_loop_callback(),
                                             &call);
        status = host_loop_finish(&call, status);
        if (host_status_to_errno(status) < 0)
            break;
    }
    return status;
}

static void remember_job(struct host *host, const struct pmi_job *job)
{
    size_t name_bytes = strlen(job->namespace) + 1;
    struct host_registration *registration =
        memory_allocate_zeroed(sizeof(*registration) + name_bytes);

    assert(job->number != PMI_JOB_NONE);
    memcpy(registration->namespace, job->namespace, name_bytes);
    registration->number = job->number;
    registration->local_count = job->local_count;
    registration->local_ranks =
        memory_copy(job->local_ranks, job->local_count * sizeof(job->local_ranks[0]));
    registration->gone = memory_allocate_zeroed(job->local_count);
    registration->stop = job->stop;
    registration->keeps_data = job->keeps_data;
    registration->stopped = memory_allocate_zeroed(job->local_count);
    pthread_mutex_lock(&host->mutex);
    hash_map_put(host->jobs, job->namespace, name_bytes, registration);
    pthread_mutex_unlock(&host->mutex);
}

static void on_deregistered(pmix_status_t status, void *context)
{
}

/* Asynchronous: there is no need to wait, since libpmix handles calls in order. */
static void forget_in_libpmix(const char *name)
{
    pmix_nspace_t namespace;

    PMIX_LOAD_NSPACE(namespace, name);
    PMIx_server_deregister_nspace(namespace, on_deregistered, NULL);
}

static struct host_registration *find_registration(const struct host *host, const char *namespace)
{
    return hash_map_get(host->jobs, namespace, strlen(namespace) + 1);
}

static struct host_registration *find_number(const struct host *host, uint32_t number)
{
    struct host_registration *registration;
    size_t cursor = 0;

    while ((registration = hash_map_next(host->jobs, &cursor)) != NULL) {
        if (registration->number == number)
            break;
    }
    return registration;
}

static int job_register(struct host *host, const struct pmi_job *job, struct error *error)
{
    pmix_status_t status;

    if (strlen(job->namespace) > PMIX_MAX_NSLEN)
        return error_set(error, -ENAMETOOLONG, "PMIx namespace %.32s... is longer than %d bytes",
                         job->namespace, PMIX_MAX_NSLEN);
    if (find_registration(host, job->namespace) != NULL || find_number(host, job->number) != NULL)
        return error_set(error, -EEXIST, "PMIx namespace %s is registered already", job->namespace);
    status = register_namespace(host, job);
    if (host_status_to_errno(status) < 0)
        return error_set(error, host_status_to_errno(status),
                         "libpmix cannot register namespace %s: %s", job->namespace,
                         PMIx_Error_string(status));
    status = register_clients(job);
    if (host_status_to_errno(status) < 0) {
        forget_in_libpmix(job->namespace);
        return error_set(error, host_status_to_errno(status),
                         "libpmix cannot register the processes of namespace %s: %s",
                         job->namespace, PMIx_Error_string(status));
    }
    remember_job(host, job);
    return 0;
}

void host_job_open(struct host *host, const struct pmi_job *job)
{
    struct error error = ERROR_NONE;
    int rc = job_register(host, job, &error);

    host->ops.opened(host->ops.context, job->number, rc, error.text, (int32_t)getpid());
}

/* The next job with processes here; others have no speaker that passes on a request. */
static const struct host_registration *with_local(const struct host *host, size_t *cursor)
{
    const struct host_registration *registration;

    do
        registration = hash_map_next(host->jobs, cursor);
    while (registration != NULL && registration->local_count == 0);
    return registration;
}

int host_job_any(const struct host *host, struct pmi_process *ret_process)
{
    size_t cursor = 0;
    const struct host_registration *registration = with_local(host, &cursor);

    if (registration == NULL)
        return 0;
    *ret_process =
        (struct pmi_process){.job = registration->number, .rank = registration->local_ranks[0]};
    return 1;
}

/* Clients may still be connected: libpmix keeps what they refer to until they close. */
static void deregister_job(struct host *host, struct host_registration *registration)
{
    const char *namespace = registration->namespace;

    if (!registration->is_spoiled)
        forget_in_libpmix(namespace);
    pthread_mutex_lock(&host->mutex);
    hash_map_remove(host->jobs, namespace, strlen(namespace) + 1);
    pthread_mutex_unlock(&host->mutex);
    free(registration->local_ranks);
    free(registration->gone);
    free(registration->stopped);
    free(registration);
}

void host_job_close(struct host *host, uint32_t number)
{
    struct host_registration *registration = find_number(host, number);

    if (registration != NULL)
        deregister_job(host, registration);
}

/* The flag of a local process, or NULL. */
static unsigned char *gone_of(const struct host *host, const struct host_process *process)
{
    struct host_registration *registration = find_registration(host, process->namespace);

    for (uint32_t i = 0; registration != NULL && i < registration->local_count; i++) {
        if (registration->local_ranks[i] == process->rank)
            return &registration->gone[i];
    }
    return NULL;
}

int host_job_is_local(const struct host *host, const struct host_process *process)
{
    return gone_of(host, process) != NULL;
}

int host_job_stopped(struct host *host, const struct host_process *process)
{
    struct host_registration *registration = find_registration(host, process->namespace);
    int all = process->rank == PMI_RANK_ALL;
    uint32_t before;

    if (registration == NULL ||
        (registration->stop != PMI_STOP_INIT && registration->stop != PMI_STOP_APP))
        return 0;
    before = registration->stopped_count;
    for (uint32_t i = 0; i < registration->local_count; i++) {
        if ((!all && registration->local_ranks[i] != process->rank) || registration->stopped[i])
            continue;
        registration->stopped[i] = 1;
        registration->stopped_count++;
    }
    return registration->stopped_count > before &&
           registration->stopped_count == registration->local_count;
}

/* When libpmix refuses a client in the handshake, it frees the record of that rank twice, at the
 * latest when the namespace is deregistered (4.2.2, the error path of
 * pmix_ptl_base_connection_handler): so that namespace is never deregistered. */
void host_job_spoiled(struct host *host, const struct host_process *process)
{
    struct host_registration *registration = find_registration(host, process->namespace);

    if (registration != NULL)
        registration->is_spoiled = 1;
}

void host_job_process_gone(struct host *host, const struct host_process *process)
{
    unsigned char *gone = gone_of(host, process);

    if (gone != NULL)
        *gone = 1;
}

int host_job_is_gone(const struct host *host, const struct host_process *process)
{
    const unsigned char *gone = gone_of(host, process);

    return gone != NULL && *gone;
}

/* The namespaces of an instance have one name, and end with '-' and the number of the job.  The length of that name
 * in the namespace of any open job; 0 if there is none. */
static size_t common_name(const struct host *host, const char **ret_namespace)
{
    const struct host_registration *registration;
    const char *dash;
    size_t cursor = 0;

    registration = hash_map_next(host->jobs, &cursor);
    dash = registration != NULL ? strrchr(registration->namespace, '-') : NULL;
    if (dash == NULL)
        return 0;
    *ret_namespace = registration->namespace;
    return (size_t)(dash + 1 - registration->namespace);
}

static uint32_t number_of(const struct host *host, const char *namespace)
{
    const struct host_registration *registration = find_registration(host, namespace);
    const char *other, *digits;
    size_t bytes;
    unsigned long number;
    char *end;

    if (registration != NULL)
        return registration->number;
    bytes = common_name(host, &other);
    if (bytes == 0 || strncmp(namespace, other, bytes) != 0)
        return PMI_JOB_NONE;
    digits = namespace + bytes;
    number = strtoul(digits, &end, 10);
    return *digits >= '1' && *digits <= '9' && *end == '\0' && number < UINT32_MAX
               ? (uint32_t)number
               : PMI_JOB_NONE;
}

struct pmi_process host_job_pmi(const struct host *host, const struct host_process *process)
{
    return (struct pmi_process){.job = number_of(host, process->namespace), .rank = process->rank};
}

void host_job_name(const struct host *host, const struct pmi_process *process,
                   struct host_process *ret_process)
{
    const char *other = "";
    size_t bytes = common_name(host, &other);

    ret_process->rank = process->rank;
    if (process->job == PMI_JOB_NONE)
        snprintf(ret_process->namespace, sizeof(ret_process->namespace), "%s",
                 host->server_namespace);
    else if (host_job_process(host, process, ret_process) < 0)
        snprintf(ret_process->namespace, sizeof(ret_process->namespace), "%.*s%u", (int)bytes,
                 other, process->job);
}

struct pmi_process *host_job_pmi_all(const struct host *host, const struct host_process *processes,
                                     size_t count)
{
    struct pmi_process *all = memory_allocate(count * sizeof(*all));

    for (size_t i = 0; i < count; i++)
        all[i] = host_job_pmi(host, &processes[i]);
    return all;
}

int host_job_process(const struct host *host, const struct pmi_process *process,
                     struct host_process *ret_process)
{
    const struct host_registration *registration = find_number(host, process->job);

    if (registration == NULL)
        return -ENOENT;
    memcpy(ret_process->namespace, registration->namespace, strlen(registration->namespace) + 1);
    ret_process->rank = process->rank;
    return 0;
}

int host_job_first(const struct host *host, char namespace[PMI_NAMESPACE_BYTES])
{
    const struct host_registration *registration;
    size_t cursor = 0;

    registration = with_local(host, &cursor);
    if (registration == NULL)
        return -ENOENT;
    memcpy(namespace, registration->namespace, strlen(registration->namespace) + 1);
    return 0;
}

int host_job_near(const struct host *host, const char *wanted, char namespace[PMI_NAMESPACE_BYTES])
{
    const struct host_registration *registration = find_registration(host, wanted);

    if (registration == NULL || registration->local_count == 0)
        return host_job_first(host, namespace);
    memcpy(namespace, registration->namespace, strlen(registration->namespace) + 1);
    return 0;
}

int host_job_is_open(struct host *host, const char *namespace)
{
    int is_open;

    pthread_mutex_lock(&host->mutex);
    is_open = find_registration(host, namespace) != NULL;
    pthread_mutex_unlock(&host->mutex);
    return is_open;
}

int host_job_keeps_data(struct host *host, const char *namespace)
{
    const struct host_registration *registration;
    int keeps_data;

    pthread_mutex_lock(&host->mutex);
    registration = find_registration(host, namespace);
    keeps_data = registration == NULL || registration->keeps_data; /* NULL: nobody takes it */
    pthread_mutex_unlock(&host->mutex);
    return keeps_data;
}

void host_job_caller(struct host *host, const pmix_proc_t *proc, struct host_process *ret_caller)
{
    host_process_from_pmix(proc, ret_caller);
    if (host_job_is_open(host, ret_caller->namespace))
        return;
    ret_caller->rank = PMI_RANK_ALL;
    pthread_mutex_lock(&host->mutex);
    (void)host_job_first(host, ret_caller->namespace);
    pthread_mutex_unlock(&host->mutex);
}

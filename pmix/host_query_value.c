/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_query_value.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "pmix/host_fabric_value.h"
#include "pmix/host_internal.h"
#include "pmix/host_spawn.h"

#include <pmix.h>

#define KIB_PER_MIB 1024.0f

/* ---- Qualifiers ---- */

/* Those that some key heeds; the others are ignored, unless they are required. */
static const char *const qualifiers[] = {PMIX_NSPACE,
                                         PMIX_RANK,
                                         PMIX_PROCID,
                                         PMIX_HOSTNAME,
                                         PMIX_PSET_NAME,
                                         PMIX_FABRIC_PLANE,
                                         PMIX_FABRIC_DEVICE_INDEX,
                                         PMIX_FABRIC_DEVICE_NAME,
                                         PMIX_QUERY_LOCAL_ONLY,
                                         PMIX_QUERY_REPORT_AVG,
                                         PMIX_QUERY_REFRESH_CACHE,
                                         PMIX_QUERY_SUPPORTED_QUALIFIERS,
                                         NULL};

static const char *text_of(const pmix_value_t *value)
{
    return value->type == PMIX_STRING ? value->data.string : NULL;
}

/* Tools that read qualifiers from a command line pass all of them as text. */
static int read_rank(const pmix_value_t *value, uint32_t *ret_rank)
{
    const char *text = text_of(value);
    char *end = NULL;
    pmix_rank_t rank;

    if (text != NULL)
        rank = (pmix_rank_t)strtoul(text, &end, 10);
    else if (value->type == PMIX_PROC_RANK)
        rank = value->data.rank;
    else if (value->type == PMIX_UINT32 || value->type == PMIX_INT || value->type == PMIX_INT32)
        rank = value->data.uint32;
    else
        return -EINVAL;
    if (text != NULL && (end == text || *end != 0))
        return -EINVAL;
    *ret_rank = rank == PMIX_RANK_WILDCARD ? PMI_RANK_ALL : rank;
    return 0;
}

/* Of the fabric: 1 if it is one of these. */
static int read_fabric_qualifier(const pmix_info_t *info, struct host_query_scope *scope,
                                 int *ret_status)
{
    const pmix_value_t *value = &info->value;

    *ret_status = 0;
    if (PMIX_CHECK_KEY(info, PMIX_FABRIC_PLANE)) {
        scope->plane = text_of(value);
        *ret_status = scope->plane == NULL ? -EINVAL : 0;
    } else if (PMIX_CHECK_KEY(info, PMIX_FABRIC_DEVICE_NAME)) {
        scope->device_name = text_of(value);
        *ret_status = scope->device_name == NULL ? -EINVAL : 0;
    } else if (PMIX_CHECK_KEY(info, PMIX_FABRIC_DEVICE_INDEX)) {
        *ret_status = read_rank(value, &scope->device);
    } else {
        return 0;
    }
    return 1;
}

static int read_qualifier(const pmix_info_t *info, struct host_query_scope *scope)
{
    const pmix_value_t *value = &info->value;
    int rc;

    if (read_fabric_qualifier(info, scope, &rc))
        return rc;
    if (PMIX_CHECK_KEY(info, PMIX_PROCID)) {
        if (value->type != PMIX_PROC || value->data.proc == NULL)
            return -EINVAL;
        scope->namespace = value->data.proc->nspace;
        scope->rank =
            value->data.proc->rank == PMIX_RANK_WILDCARD ? PMI_RANK_ALL : value->data.proc->rank;
    } else if (PMIX_CHECK_KEY(info, PMIX_RANK)) {
        return read_rank(value, &scope->rank);
    } else if (PMIX_CHECK_KEY(info, PMIX_NSPACE)) {
        scope->namespace = text_of(value);
        return scope->namespace == NULL ? -EINVAL : 0;
    } else if (PMIX_CHECK_KEY(info, PMIX_HOSTNAME)) {
        scope->node_name = text_of(value);
    } else if (PMIX_CHECK_KEY(info, PMIX_PSET_NAME)) {
        scope->set = text_of(value);
    } else if (PMIX_CHECK_KEY(info, PMIX_QUERY_LOCAL_ONLY)) {
        scope->is_local = PMIX_INFO_TRUE(info);
    } else if (PMIX_CHECK_KEY(info, PMIX_QUERY_SUPPORTED_QUALIFIERS)) {
        scope->lists_qualifiers = PMIX_INFO_TRUE(info);
    }
    return 0;
}

int host_query_scope(const pmix_query_t *query, const struct pmi_instance_facts *instance,
                     uint32_t job, struct host_query_scope *ret_scope)
{
    struct host_query_scope scope = {.job = job, .rank = PMI_RANK_ALL, .device = PMI_FABRIC_ALL};
    int rc = host_refuses(query->qualifiers, query->nqual, qualifiers) ? -ENOTSUP : 0;

    for (size_t i = 0; i < query->nqual && rc == 0; i++)
        rc = read_qualifier(&query->qualifiers[i], &scope);
    if (rc == 0 && scope.namespace != NULL) {
        scope.job = pmi_query_job(instance->name, scope.namespace);
        if (pmi_instance_facts_find(instance, scope.job) == NULL)
            rc = -ENOENT;
    }
    if (rc == 0)
        *ret_scope = scope;
    return rc;
}

/* ---- Values ---- */

typedef int value_function(const struct host_query_scope *scope,
                           const struct host_query_facts *facts, pmix_value_t *ret_value);

static int load_text(struct buffer *text, pmix_value_t *ret_value)
{
    PMIX_VALUE_LOAD(ret_value, buffer_string(text), PMIX_STRING);
    buffer_fini(text);
    return 0;
}

static int load_u32(uint32_t number, pmix_value_t *ret_value)
{
    PMIX_VALUE_LOAD(ret_value, &number, PMIX_UINT32);
    return 0;
}

/* The array belongs to the value. */
static void *load_array(size_t count, pmix_data_type_t type, pmix_value_t *ret_value)
{
    pmix_data_array_t *array;

    PMIX_DATA_ARRAY_CREATE(array, count, type);
    PMIX_VALUE_CONSTRUCT(ret_value);
    ret_value->type = PMIX_DATA_ARRAY;
    ret_value->data.darray = array;
    return array->array;
}

static const struct pmi_job_facts *job_of(const struct host_query_scope *scope,
                                          const struct host_query_facts *facts)
{
    return pmi_instance_facts_find(facts->instance, scope->job);
}

static void namespace_of(const struct host_query_facts *facts, const struct pmi_job_facts *job,
                         char text[PMI_NAMESPACE_BYTES])
{
    pmi_query_namespace(facts->instance->name, job->number, text);
}

static int is_active(const struct pmi_job_facts *job)
{
    return job->phase != PMI_JOB_ENDED;
}

static int value_namespaces(const struct host_query_scope *scope,
                            const struct host_query_facts *facts, pmix_value_t *ret_value)
{
    struct buffer text = {0};

    for (uint32_t i = 0; i < facts->instance->jobs_count; i++) {
        char namespace[PMI_NAMESPACE_BYTES];

        if (!is_active(&facts->instance->jobs[i]))
            continue;
        namespace_of(facts, &facts->instance->jobs[i], namespace);
        buffer_printf(&text, "%s%s", text.length_bytes > 0 ? "," : "", namespace);
    }
    return load_text(&text, ret_value);
}

/* Of each active job its name and command line: that of several applications as one would type it. */
static void describe_job(const struct host_query_facts *facts, const struct pmi_job_facts *job,
                         pmix_info_t *entry)
{
    char namespace[PMI_NAMESPACE_BYTES];
    struct buffer command = {0};
    pmix_value_t value;
    pmix_info_t *items;

    namespace_of(facts, job, namespace);
    for (uint32_t i = 0; i < job->apps_count; i++)
        buffer_printf(&command, "%s%s", i > 0 ? " : " : "", job->apps[i].command);
    items = load_array(2, PMIX_INFO, &value);
    PMIX_INFO_LOAD(&items[0], PMIX_NSPACE, namespace, PMIX_STRING);
    PMIX_INFO_LOAD(&items[1], PMIX_CMD_LINE, buffer_string(&command), PMIX_STRING);
    PMIX_LOAD_KEY(entry->key, PMIX_QUERY_NAMESPACE_INFO);
    entry->value = value;
    buffer_fini(&command);
}

static int value_namespace_info(const struct host_query_scope *scope,
                                const struct host_query_facts *facts, pmix_value_t *ret_value)
{
    const struct pmi_instance_facts *instance = facts->instance;
    pmix_info_t *entries;
    size_t count = 0;

    for (uint32_t i = 0; i < instance->jobs_count; i++)
        count += is_active(&instance->jobs[i]) != 0;
    entries = load_array(count, PMIX_INFO, ret_value);
    for (uint32_t i = 0; i < instance->jobs_count; i++) {
        if (is_active(&instance->jobs[i]))
            describe_job(facts, &instance->jobs[i], entries++);
    }
    return 0;
}

static int value_job_status(const struct host_query_scope *scope,
                            const struct host_query_facts *facts, pmix_value_t *ret_value)
{
    static const pmix_status_t statuses[PMI_JOB_PHASE_COUNT] = {
        [PMI_JOB_WAITING] = PMIX_OPERATION_IN_PROGRESS,
        [PMI_JOB_STARTING] = PMIX_OPERATION_IN_PROGRESS,
        [PMI_JOB_RUNNING] = PMIX_SUCCESS,
        [PMI_JOB_ENDING] = PMIX_EVENT_JOB_END,
        [PMI_JOB_ENDED] = PMIX_EVENT_JOB_END,
    };
    const struct pmi_job_facts *job = job_of(scope, facts);
    pmix_status_t status;

    if (job == NULL)
        return -EINVAL;
    status = statuses[job->phase];
    PMIX_VALUE_LOAD(ret_value, &status, PMIX_STATUS);
    return 0;
}

static int value_job_size(const struct host_query_scope *scope,
                          const struct host_query_facts *facts, pmix_value_t *ret_value)
{
    const struct pmi_job_facts *job = job_of(scope, facts);

    return job != NULL ? load_u32(job->size, ret_value) : -EINVAL;
}

static int value_job_apps(const struct host_query_scope *scope,
                          const struct host_query_facts *facts, pmix_value_t *ret_value)
{
    const struct pmi_job_facts *job = job_of(scope, facts);

    return job != NULL ? load_u32(job->apps_count, ret_value) : -EINVAL;
}

/* Of a job if one is named, else of the instance. */
static int value_nodes(const struct host_query_scope *scope, const struct host_query_facts *facts,
                       pmix_value_t *ret_value)
{
    const struct pmi_job_facts *job = scope->namespace != NULL ? job_of(scope, facts) : NULL;

    return load_u32(job != NULL ? (uint32_t)ranges_count(&job->places) : facts->instance->nodes,
                    ret_value);
}

static int value_slots(const struct host_query_scope *scope, const struct host_query_facts *facts,
                       pmix_value_t *ret_value)
{
    uint64_t slots = facts->instance->slots;

    return load_u32(slots < UINT32_MAX ? (uint32_t)slots : UINT32_MAX, ret_value);
}

static int value_spawn(const struct host_query_scope *scope, const struct host_query_facts *facts,
                       pmix_value_t *ret_value)
{
    const char *const *directives = host_spawn_directives();
    struct buffer text = {0};

    for (size_t i = 0; directives[i] != NULL; i++)
        buffer_printf(&text, "%s%s", i > 0 ? "," : "", directives[i]);
    return load_text(&text, ret_value);
}

/* Where processes can wait for a debugger, and how its daemons get to them. */
static int value_debug(const struct host_query_scope *scope, const struct host_query_facts *facts,
                       pmix_value_t *ret_value)
{
    struct buffer text = {0};

    buffer_printf(&text, "%s,%s,%s,%s,%s,%s", PMIX_DEBUG_STOP_ON_EXEC, PMIX_DEBUG_STOP_IN_INIT,
                  PMIX_DEBUG_STOP_IN_APP, PMIX_DEBUG_TARGET, PMIX_DEBUG_DAEMONS_PER_NODE,
                  PMIX_DEBUG_DAEMONS_PER_PROC);
    return load_text(&text, ret_value);
}

/* ---- Process sets: one for each application of a job that has several ---- */

static void set_name(const struct host_query_facts *facts, const struct pmi_job_facts *job,
                     uint32_t app, char text[PMI_NAMESPACE_BYTES + 16])
{
    char namespace[PMI_NAMESPACE_BYTES];

    namespace_of(facts, job, namespace);
    snprintf(text, PMI_NAMESPACE_BYTES + 16, "%s/app%u", namespace, app);
}

static uint32_t sets_of(const struct pmi_job_facts *job)
{
    return job->apps_count > 1 && job->size > 0 && is_active(job) ? job->apps_count : 0;
}

static int value_sets_count(const struct host_query_scope *scope,
                            const struct host_query_facts *facts, pmix_value_t *ret_value)
{
    size_t count = 0;

    for (uint32_t i = 0; i < facts->instance->jobs_count; i++)
        count += sets_of(&facts->instance->jobs[i]);
    PMIX_VALUE_LOAD(ret_value, &count, PMIX_SIZE);
    return 0;
}

static int value_sets(const struct host_query_scope *scope, const struct host_query_facts *facts,
                      pmix_value_t *ret_value)
{
    struct buffer text = {0};

    for (uint32_t i = 0; i < facts->instance->jobs_count; i++) {
        for (uint32_t app = 0; app < sets_of(&facts->instance->jobs[i]); app++) {
            char name[PMI_NAMESPACE_BYTES + 16];

            set_name(facts, &facts->instance->jobs[i], app, name);
            buffer_printf(&text, "%s%s", text.length_bytes > 0 ? "," : "", name);
        }
    }
    return load_text(&text, ret_value);
}

static void list_members(const struct host_query_facts *facts, const struct pmi_job_facts *job,
                         const struct pmi_app_facts *app, pmix_value_t *ret_value)
{
    pmix_proc_t *procs = load_array(app->size, PMIX_PROC, ret_value);
    char namespace[PMI_NAMESPACE_BYTES];

    namespace_of(facts, job, namespace);
    for (uint32_t i = 0; i < app->size; i++)
        PMIX_LOAD_PROCID(&procs[i], namespace, app->first_rank + i);
}

static int value_set_members(const struct host_query_scope *scope,
                             const struct host_query_facts *facts, pmix_value_t *ret_value)
{
    if (scope->set == NULL)
        return -EINVAL;
    for (uint32_t i = 0; i < facts->instance->jobs_count; i++) {
        const struct pmi_job_facts *job = &facts->instance->jobs[i];

        for (uint32_t app = 0; app < sets_of(job); app++) {
            char name[PMI_NAMESPACE_BYTES + 16];

            set_name(facts, job, app, name);
            if (strcmp(name, scope->set) != 0)
                continue;
            list_members(facts, job, &job->apps[app], ret_value);
            return 0;
        }
    }
    return -ENOENT;
}

/* ---- Processes ---- */

static pmix_proc_state_t state_of(const struct pmi_process_facts *process)
{
    static const pmix_proc_state_t states[PMI_PROCESS_STATE_COUNT] = {
        [PMI_PROCESS_STARTING] = PMIX_PROC_STATE_LAUNCH_UNDERWAY,
        [PMI_PROCESS_RUNNING] = PMIX_PROC_STATE_RUNNING,
        [PMI_PROCESS_CONNECTED] = PMIX_PROC_STATE_CONNECTED,
        [PMI_PROCESS_EXITED] = PMIX_PROC_STATE_TERMINATED,
        [PMI_PROCESS_KILLED] = PMIX_PROC_STATE_ABORTED_BY_SIG,
        [PMI_PROCESS_FAILED] = PMIX_PROC_STATE_FAILED_TO_START,
    };

    if (process->state == PMI_PROCESS_EXITED && process->code != 0)
        return PMIX_PROC_STATE_TERM_NON_ZERO;
    return states[process->state];
}

static const char *program_of(const struct pmi_job_facts *job, uint32_t rank)
{
    for (uint32_t i = 0; i < job->apps_count; i++) {
        if (rank - job->apps[i].first_rank < job->apps[i].size)
            return job->apps[i].program;
    }
    return "";
}

static void describe_process(const struct host_query_facts *facts, const struct pmi_job_facts *job,
                             const struct pmi_node_facts *node,
                             const struct pmi_process_facts *process, pmix_proc_info_t *ret_info)
{
    char namespace[PMI_NAMESPACE_BYTES];

    namespace_of(facts, job, namespace);
    PMIX_LOAD_PROCID(&ret_info->proc, namespace, process->rank);
    ret_info->hostname = memory_copy_string(node->name);
    ret_info->executable_name = memory_copy_string(program_of(job, process->rank));
    ret_info->pid = (pid_t)process->pid;
    ret_info->exit_code =
        process->state == PMI_PROCESS_KILLED ? (int)process->code + 128 : (int)process->code;
    ret_info->state = state_of(process);
}

static int compare_ranks(const void *a, const void *b)
{
    pmix_rank_t first = ((const pmix_proc_info_t *)a)->proc.rank;
    pmix_rank_t second = ((const pmix_proc_info_t *)b)->proc.rank;

    return (first > second) - (first < second);
}

static int is_meant(const struct host_query_scope *scope, const struct pmi_node_facts *node)
{
    return scope->node_name == NULL || strcmp(scope->node_name, node->name) == 0;
}

static size_t count_processes(const struct host_query_scope *scope,
                              const struct host_query_facts *facts)
{
    size_t count = 0;

    for (size_t i = 0; i < facts->nodes_count; i++) {
        if (is_meant(scope, &facts->nodes[i]))
            count += facts->nodes[i].processes_count;
    }
    return count;
}

/* Sorted by rank.  Processes of a lost node are not in it. */
static int value_table(const struct host_query_scope *scope, const struct host_query_facts *facts,
                       pmix_value_t *ret_value)
{
    const struct pmi_job_facts *job = job_of(scope, facts);
    size_t count = count_processes(scope, facts);
    pmix_proc_info_t *entries;
    size_t next = 0;

    if (job == NULL)
        return -EINVAL;
    entries = load_array(count, PMIX_PROC_INFO, ret_value);
    for (size_t i = 0; i < facts->nodes_count; i++) {
        const struct pmi_node_facts *node = &facts->nodes[i];

        for (uint32_t j = 0; is_meant(scope, node) && j < node->processes_count; j++)
            describe_process(facts, job, node, &node->processes[j], &entries[next++]);
    }
    assert(next == count);
    if (count > 1)
        qsort(entries, count, sizeof(*entries), compare_ranks);
    return 0;
}

/* Means over the daemons of the nodes and over the processes. */
static int value_memory(const struct host_query_scope *scope, const struct host_query_facts *facts,
                        pmix_value_t *ret_value)
{
    float daemons_kib = 0, clients_kib = 0, mean;
    size_t daemons = 0, clients = 0;
    pmix_info_t *items;

    for (size_t i = 0; i < facts->nodes_count; i++) {
        const struct pmi_node_facts *node = &facts->nodes[i];

        if (!is_meant(scope, node))
            continue;
        daemons++;
        daemons_kib += (float)node->daemon_kib;
        for (uint32_t j = 0; j < node->processes_count; j++) {
            clients += node->processes[j].memory_kib > 0;
            clients_kib += (float)node->processes[j].memory_kib;
        }
    }
    if (daemons == 0)
        return -ENOENT;
    items = load_array(2, PMIX_INFO, ret_value);
    mean = daemons_kib / (float)daemons / KIB_PER_MIB;
    PMIX_INFO_LOAD(&items[0], PMIX_DAEMON_MEMORY, &mean, PMIX_FLOAT);
    mean = clients > 0 ? clients_kib / (float)clients / KIB_PER_MIB : 0;
    PMIX_INFO_LOAD(&items[1], PMIX_CLIENT_AVG_MEMORY, &mean, PMIX_FLOAT);
    return 0;
}

/* ---- The fabric ---- */

static int value_planes(const struct host_query_scope *scope, const struct host_query_facts *facts,
                        pmix_value_t *ret_value)
{
    return host_fabric_planes(facts->fabric, ret_value);
}

static int value_fabric_index(const struct host_query_scope *scope,
                              const struct host_query_facts *facts, pmix_value_t *ret_value)
{
    return host_fabric_index(facts->fabric, ret_value);
}

static int value_devices_count(const struct host_query_scope *scope,
                               const struct host_query_facts *facts, pmix_value_t *ret_value)
{
    return host_fabric_devices_count(facts->fabric, ret_value);
}

static int value_dims(const struct host_query_scope *scope, const struct host_query_facts *facts,
                      pmix_value_t *ret_value)
{
    return host_fabric_dims(facts->fabric, ret_value);
}

static int value_costs(const struct host_query_scope *scope, const struct host_query_facts *facts,
                       pmix_value_t *ret_value)
{
    return host_fabric_costs(facts->fabric, ret_value);
}

static int value_devices(const struct host_query_scope *scope, const struct host_query_facts *facts,
                         pmix_value_t *ret_value)
{
    return host_fabric_devices(facts->fabric, ret_value);
}

static int value_device(const struct host_query_scope *scope, const struct host_query_facts *facts,
                        pmix_value_t *ret_value)
{
    return host_fabric_device(facts->fabric, ret_value);
}

/* ---- The table ---- */

static value_function value_keys;

/* What a key is about: which processes, or which part of the fabric. */
enum needs {
    NEEDS_NONE,
    NEEDS_JOB,
    NEEDS_LOCAL,
    NEEDS_MEMORY,
    NEEDS_FABRIC,
    NEEDS_COSTS,
    NEEDS_DEVICES
};

#define OF_JOB       PMIX_NSPACE
#define OF_PROCESSES PMIX_NSPACE "," PMIX_RANK "," PMIX_PROCID
#define OF_DEVICES \
    PMIX_FABRIC_PLANE "," PMIX_FABRIC_DEVICE_INDEX "," PMIX_FABRIC_DEVICE_NAME "," PMIX_HOSTNAME

static const struct {
    const char *key;
    value_function *value;
    enum needs needs;
    const char *qualifiers;
} keys[] = {
    {PMIX_QUERY_SUPPORTED_KEYS, value_keys, NEEDS_NONE, ""},
    {PMIX_QUERY_NAMESPACES, value_namespaces, NEEDS_NONE, ""},
    {PMIX_QUERY_NAMESPACE_INFO, value_namespace_info, NEEDS_NONE, ""},
    {PMIX_QUERY_JOB_STATUS, value_job_status, NEEDS_NONE, OF_JOB},
    {PMIX_QUERY_PROC_TABLE, value_table, NEEDS_JOB, OF_PROCESSES "," PMIX_HOSTNAME},
    {PMIX_QUERY_LOCAL_PROC_TABLE, value_table, NEEDS_LOCAL, OF_PROCESSES "," PMIX_HOSTNAME},
    {PMIX_QUERY_MEMORY_USAGE, value_memory, NEEDS_MEMORY,
     OF_PROCESSES "," PMIX_HOSTNAME "," PMIX_QUERY_LOCAL_ONLY "," PMIX_QUERY_REPORT_AVG},
    {PMIX_QUERY_SPAWN_SUPPORT, value_spawn, NEEDS_NONE, ""},
    {PMIX_QUERY_DEBUG_SUPPORT, value_debug, NEEDS_NONE, ""},
    {PMIX_QUERY_NUM_PSETS, value_sets_count, NEEDS_NONE, ""},
    {PMIX_QUERY_PSET_NAMES, value_sets, NEEDS_NONE, ""},
    {PMIX_QUERY_PSET_MEMBERSHIP, value_set_members, NEEDS_NONE, PMIX_PSET_NAME},
    {PMIX_JOB_SIZE, value_job_size, NEEDS_NONE, OF_JOB},
    {PMIX_JOB_NUM_APPS, value_job_apps, NEEDS_NONE, OF_JOB},
    {PMIX_NUM_NODES, value_nodes, NEEDS_NONE, OF_JOB},
    {PMIX_NUM_SLOTS, value_slots, NEEDS_NONE, ""},
    {PMIX_UNIV_SIZE, value_slots, NEEDS_NONE, ""},
    {PMIX_FABRIC_PLANE, value_planes, NEEDS_FABRIC, ""},
    {PMIX_FABRIC_INDEX, value_fabric_index, NEEDS_FABRIC, PMIX_FABRIC_PLANE},
    {PMIX_FABRIC_NUM_DEVICES, value_devices_count, NEEDS_FABRIC, PMIX_FABRIC_PLANE},
    {PMIX_FABRIC_DIMS, value_dims, NEEDS_FABRIC, PMIX_FABRIC_PLANE},
    {PMIX_FABRIC_COST_MATRIX, value_costs, NEEDS_COSTS, OF_DEVICES},
    {PMIX_FABRIC_DEVICES, value_devices, NEEDS_DEVICES, OF_DEVICES},
    {PMIX_FABRIC_DEVICE, value_device, NEEDS_DEVICES, OF_DEVICES},
};

#define KEYS_COUNT (sizeof(keys) / sizeof(keys[0]))

static int value_keys(const struct host_query_scope *scope, const struct host_query_facts *facts,
                      pmix_value_t *ret_value)
{
    struct buffer text = {0};

    for (size_t i = 0; i < KEYS_COUNT; i++)
        buffer_printf(&text, "%s%s", i > 0 ? "," : "", keys[i].key);
    return load_text(&text, ret_value);
}

static int find_key(const char *key)
{
    for (size_t i = 0; i < KEYS_COUNT; i++) {
        if (strcmp(keys[i].key, key) == 0)
            return (int)i;
    }
    return -ENOENT;
}

static char *copy_name(const char *name)
{
    return name != NULL ? memory_printf("%.*s", (int)PMI_FABRIC_NAME_MAX, name) : NULL;
}

static void ask_fabric(enum needs needs, const struct host_query_scope *scope,
                       struct pmi_query *ret_query)
{
    *ret_query = (struct pmi_query){
        .kind = PMI_QUERY_FABRIC,
        .fabric = {.plane = copy_name(scope->plane), .device = PMI_FABRIC_ALL},
    };
    if (needs == NEEDS_FABRIC)
        return;
    ret_query->fabric.parts = needs == NEEDS_COSTS ? PMI_FABRIC_COSTS : PMI_FABRIC_DEVICES;
    ret_query->fabric.device = scope->device;
    ret_query->fabric.device_name = copy_name(scope->device_name);
    ret_query->fabric.node = copy_name(scope->node_name);
}

int host_query_needs(const char *key, const struct host_query_scope *scope,
                     const struct pmi_instance_facts *instance, struct pmi_query *ret_query)
{
    struct pmi_query query = {.kind = PMI_QUERY_PROCESSES, .job = scope->job, .rank = scope->rank};
    const struct pmi_job_facts *job = pmi_instance_facts_find(instance, scope->job);
    int found = find_key(key);

    if (found < 0 || keys[found].needs == NEEDS_NONE || scope->lists_qualifiers)
        return 0;
    if (keys[found].needs >= NEEDS_FABRIC) {
        ask_fabric(keys[found].needs, scope, ret_query);
        return 1;
    }
    if (job == NULL)
        return 0;
    query.with_memory = keys[found].needs == NEEDS_MEMORY;
    query.is_local =
        scope->is_local || (keys[found].needs == NEEDS_LOCAL && scope->node_name == NULL);
    ranges_copy(&query.places, &job->places);
    *ret_query = query;
    return 1;
}

int host_query_value(const char *key, const struct host_query_scope *scope,
                     const struct host_query_facts *facts, pmix_value_t *ret_value)
{
    int found = find_key(key);

    if (found < 0)
        return found;
    if (scope->lists_qualifiers) {
        PMIX_VALUE_LOAD(ret_value, keys[found].qualifiers, PMIX_STRING);
        return 0;
    }
    return keys[found].value(scope, facts, ret_value);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/request_nodes.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/name_index.h"
#include "alloc/same_node.h"

/* The allocation has one source. */
static int check_sources(const struct request_settings *settings, struct error *error)
{
    int sources = (settings->hosts.count > 0) + (settings->host_files.count > 0) +
                  (settings->virtual_nodes > 0);

    if (sources > 1)
        return error_set(error, -EINVAL, "give only one of --host, --hostfile and --virtual-nodes");
    if (settings->slots > 0 && (settings->hosts.count > 0 || settings->host_files.count > 0))
        return error_set(error, -EINVAL,
                         "option --slots is for this machine and for --virtual-nodes; with %s "
                         "write slots after the names, as in n1:4",
                         settings->hosts.count > 0 ? "--host" : "--hostfile");
    /* `banyan run` has handled and removed them before this point. */
    if (settings->alloc != NULL || settings->on != NULL)
        return error_set(error, -EINVAL, "option %s is for banyan run only",
                         settings->alloc != NULL ? "--alloc" : "--on");
    if (settings->source != NULL && settings->virtual_nodes > 0)
        return error_set(error, -EINVAL,
                         "options --source and --virtual-nodes cannot be used together");
    return 0;
}

/* ---- The scheduler's job ---- */

/* The source set by --source or detected from the environment, or NULL. */
static int source_choose(const struct request_settings *settings, const struct request_ops *ops,
                         const struct source **ret_source, struct error *error)
{
    *ret_source = NULL;
    if (settings->source == NULL) {
        *ret_source = ops->sources != NULL ? source_detect(ops->sources) : NULL;
        return 0;
    }
    if (strcmp(settings->source, SOURCE_LOCAL) == 0)
        return 0;
    if (ops->sources == NULL)
        return error_set(error, -ENOTSUP,
                         "option --source: no scheduler environment is available here");
    *ret_source = source_find(settings->source, error);
    if (*ret_source != NULL)
        return 0;
    error_prefix(error, "option --source");
    return -EINVAL;
}

/* All nodes now have slots from another source. */
static void trace_slots(const struct request_ops *ops, const struct allocation *allocation,
                        const char *place)
{
    if (ops->trace == NULL)
        return;
    allocation_trace_fini(ops->trace);
    allocation_trace_place(ops->trace, "%s", place);
    for (uint32_t i = 0; i < hostlist_runs(allocation->names); i++) {
        struct host_run run = hostlist_run(allocation->names, i);

        allocation_trace_add(ops->trace, &run, allocation->runs[0].slots);
    }
}

static int slots_override(const struct request_settings *settings, const struct request_ops *ops,
                          struct source_result *result, struct error *error)
{
    struct allocation *allocation = &result->allocation;

    assert(result->source != NULL);
    if (settings->slots == 0)
        return 0;
    if (result->slots_given)
        return error_set(
            error, -EINVAL,
            "option --slots: %s already sets the slots of its nodes; use --host to override them",
            result->source->title);
    allocation_set_slots(allocation, settings->slots);
    snprintf(allocation->origin, sizeof(allocation->origin), "%s and --slots",
             result->source->title);
    trace_slots(ops, allocation, allocation->origin);
    return 0;
}

/* LSF chooses CPUs for each task; ours follow the options, which a user relying on LSF must
 * know. */
static void note_affinity(const struct source_result *result, struct request_nodes *nodes)
{
    if (result->tasks_count > 0)
        snprintf(
            nodes->notice, sizeof(nodes->notice),
            "the CPUs that %s assigned to each task (LSB_AFFINITY_HOSTFILE) are ignored: binding follows --map-by and --bind-to",
            result->source->title);
}

static int find_in_job(const struct request_settings *settings, const struct request_ops *ops,
                       const struct source *source, struct request_nodes *nodes,
                       struct error *error)
{
    struct source_ops sources = *ops->sources;
    struct source_result result;
    int rc;

    assert(source != NULL);
    sources.trace = ops->trace;
    rc = source_read(source, &sources, &result, error);
    if (rc < 0)
        return rc;
    rc = slots_override(settings, ops, &result, error);
    if (rc == 0) {
        allocation_fini(&nodes->allocation);
        nodes->allocation = result.allocation;
        allocation_init(&result.allocation);
        nodes->source = source;
        nodes->slots_given = result.slots_given || settings->slots > 0;
        memcpy(nodes->job, result.job, sizeof(nodes->job));
        note_affinity(&result, nodes);
    }
    source_result_fini(&result);
    return rc;
}

static bool holds_all(const struct allocation *whole, const struct allocation *part)
{
    struct name_index *index = name_index_create();
    char name[HOST_NAME_BYTES_MAX + 1];
    bool all = true;
    uint32_t first = 0;

    for (uint32_t i = 0; i < hostlist_runs(whole->names); i++) {
        struct host_run run = hostlist_run(whole->names, i);

        name_index_add(index, &run, first);
        first += run.count;
    }
    for (uint32_t i = 0; all && i < allocation_nodes(part); i++) {
        hostlist_name(part->names, i, name);
        all = name_index_find(index, name, strlen(name)) >= 0;
    }
    name_index_destroy(index);
    return all;
}

/* Named nodes may still be those of the job; only that is checked here, so if the job cannot be
 * read they count as not of the job. */
static void note_job(const struct request_settings *settings, const struct request_ops *ops,
                     struct request_nodes *nodes)
{
    const struct source *source;
    struct source_result result;

    if (source_choose(settings, ops, &source, NULL) < 0 || source == NULL ||
        source_read(source, ops->sources, &result, NULL) < 0)
        return;
    if (holds_all(&result.allocation, &nodes->allocation)) {
        nodes->source = source;
        nodes->allocation.cpus = result.allocation.cpus;
        nodes->allocation.cpus_from = result.allocation.cpus_from;
        memcpy(nodes->job, result.job, sizeof(nodes->job));
    }
    source_result_fini(&result);
}

/* ---- What the options name ---- */

/* The nodes that +n, +e and ^ refer to: those that would be used by default. */
struct base_search {
    const struct request_settings *settings;
    const struct request_ops *ops;
    struct request_nodes found;
    bool is_found;
};

static int find_base(void *context, const struct allocation **ret_nodes, struct error *error)
{
    struct base_search *search = context;
    struct request_settings settings = *search->settings;
    struct request_ops ops = *search->ops;

    settings.hosts = settings.host_files = (struct option_list){.count = 0};
    ops.trace = NULL;
    if (!search->is_found) {
        int rc = request_nodes_find(&settings, &ops, &search->found, error);

        if (rc < 0)
            return rc;
        search->is_found = true;
    }
    *ret_nodes = &search->found.allocation;
    return 0;
}

/* Several lists are merged; slots of names in two of them add up. */
static int find_in_lists(const struct option_list *lists, const struct allocation_base *base,
                         struct allocation *allocation, struct error *error)
{
    char *hosts = options_list_join(lists, ",");
    int rc = allocation_parse_hosts_of(allocation, hosts, base, error);

    assert(lists->count > 0 && hosts != NULL);
    if (rc < 0 && lists->count > 1)
        error_prefix(error, "option --host, in '%.80s'", hosts);
    else if (rc < 0)
        error_prefix(error, "option --host");
    free(hosts);
    return rc;
}

/* A hosts file is read whole: a pipe or /dev/fd/N serves as well as a file. */
static int find_in_file(const char *path, const struct request_ops *ops,
                        const struct allocation_base *base, struct allocation *allocation,
                        struct error *error)
{
    struct buffer text = {0};
    int rc = ops->read_file(path, &text, error);

    if (rc < 0)
        error_prefix(error, "option --hostfile");
    else
        rc = allocation_parse_hostfile_of(allocation, path, buffer_string(&text), text.length_bytes,
                                          base, error);
    buffer_fini(&text);
    return rc;
}

static int find_named(const struct request_settings *settings, const struct request_ops *ops,
                      struct request_nodes *nodes, struct error *error)
{
    struct base_search search = {.settings = settings, .ops = ops};
    struct allocation_base base = {.nodes = find_base,
                                   .context = &search,
                                   .site = ops->configured != NULL ? &ops->configured->site : NULL};
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < settings->host_files.count; i++)
        rc = find_in_file(settings->host_files.items[i], ops, &base, &nodes->allocation, error);
    if (rc == 0 && settings->hosts.count > 0)
        rc = find_in_lists(&settings->hosts, &base, &nodes->allocation, error);
    if (search.is_found)
        request_nodes_fini(&search.found);
    if (rc == 0)
        note_job(settings, ops, nodes);
    return rc;
}

/* ---- This machine ---- */

static const char own_cores_place[] = "hwloc: the cores of this machine that this process may use";

/* Slots of a node that is this machine, or -errno. */
static int own_slots(const struct request_settings *settings, const struct request_ops *ops,
                     struct error *error)
{
    if (settings->slots > 0)
        return (int)settings->slots;
    return ops->cores(error);
}

/* Slots of each virtual node: from --slots, else what the job needs, else as many as a real one. */
static int virtual_slots(const struct request_settings *settings, const struct request_ops *ops,
                         struct error *error)
{
    uint32_t nodes = settings->virtual_nodes;
    uint32_t needed = settings->per_node;

    assert(nodes > 0);
    if (settings->slots == 0 && needed == 0 && settings->processes > 0)
        needed = (settings->processes - 1) / nodes + 1;
    if (needed > ALLOCATION_SLOTS_MAX)
        return error_set(error, -EINVAL,
                         "%u processes on %u virtual nodes are more than %u per node",
                         settings->processes, nodes, ALLOCATION_SLOTS_MAX);
    return settings->slots == 0 && needed > 0 ? (int)needed : own_slots(settings, ops, error);
}

static const char *virtual_slots_place(const struct request_settings *settings)
{
    if (settings->slots > 0)
        return "--slots";
    return settings->per_node > 0 || settings->processes > 0 ? "an equal share of the processes"
                                                             : own_cores_place;
}

static int find_virtual(const struct request_settings *settings, const struct request_ops *ops,
                        struct allocation *allocation, struct error *error)
{
    int slots = virtual_slots(settings, ops, error);

    if (slots < 0)
        return slots;
    allocation_generate(allocation, "v", settings->virtual_nodes, (uint32_t)slots);
    snprintf(allocation->origin, sizeof(allocation->origin), "--virtual-nodes %u%s",
             settings->virtual_nodes, settings->slots > 0 ? " and --slots" : "");
    trace_slots(ops, allocation, virtual_slots_place(settings));
    return 0;
}

static int find_here(const struct request_settings *settings, const struct request_ops *ops,
                     struct allocation *allocation, struct error *error)
{
    int slots = own_slots(settings, ops, error);

    if (slots < 0)
        return slots;
    allocation_add(allocation, ops->host_name, (uint32_t)slots);
    snprintf(allocation->origin, sizeof(allocation->origin), "%s",
             settings->slots > 0 ? "--slots" : "the cores of this machine");
    trace_slots(ops, allocation, settings->slots > 0 ? "--slots" : own_cores_place);
    return 0;
}

/* A scheduler that reports no slots has allocated whole machines: for this machine, take its
 * cores. */
static int count_own_cores(const struct request_ops *ops, struct request_nodes *nodes,
                           struct error *error)
{
    struct allocation *allocation = &nodes->allocation;
    char name[HOST_NAME_BYTES_MAX + 1];
    int cores;

    assert(nodes->source != NULL);
    if (nodes->slots_given || allocation_nodes(allocation) > 1)
        return 0;
    hostlist_name(allocation->names, 0, name);
    if (!same_node_is_here(name, ops->host_name))
        return 0;
    cores = ops->cores(error);
    if (cores < 0)
        return cores;
    allocation_set_slots(allocation, (uint32_t)cores);
    snprintf(allocation->origin, sizeof(allocation->origin), "%s and the cores of this machine",
             nodes->source->title);
    trace_slots(ops, allocation, own_cores_place);
    nodes->slots_given = true;
    return 0;
}

static int find_by_source(const struct request_settings *settings, const struct request_ops *ops,
                          struct request_nodes *nodes, struct error *error)
{
    const struct source *source;
    int rc = check_sources(settings, error);

    if (rc < 0)
        return rc;
    if (settings->host_files.count > 0 || settings->hosts.count > 0)
        return find_named(settings, ops, nodes, error);
    if (settings->virtual_nodes > 0)
        return find_virtual(settings, ops, &nodes->allocation, error);
    rc = source_choose(settings, ops, &source, error);
    if (rc < 0)
        return rc;
    if (source == NULL)
        return find_here(settings, ops, &nodes->allocation, error);
    rc = find_in_job(settings, ops, source, nodes, error);
    return rc < 0 ? rc : count_own_cores(ops, nodes, error);
}

int request_nodes_find(const struct request_settings *settings, const struct request_ops *ops,
                       struct request_nodes *ret_nodes, struct error *error)
{
    struct request_nodes nodes = {.slots_given = true};
    int rc;

    allocation_init(&nodes.allocation);
    nodes.allocation.trace = ops->trace;
    rc = find_by_source(settings, ops, &nodes, error);
    if (rc == 0)
        same_node_join(&nodes.allocation, ops->host_name);
    if (rc < 0)
        request_nodes_fini(&nodes);
    else
        *ret_nodes = nodes;
    return rc;
}

void request_nodes_fini(struct request_nodes *nodes)
{
    allocation_fini(&nodes->allocation);
}

void request_nodes_title(const struct request_nodes *nodes, char *text, size_t text_bytes)
{
    if (nodes->source == NULL)
        snprintf(text, text_bytes, "%s", "");
    else if (nodes->job[0] == '\0')
        snprintf(text, text_bytes, "%s", nodes->source->title);
    else
        snprintf(text, text_bytes, "%s job %s", nodes->source->title, nodes->job);
}

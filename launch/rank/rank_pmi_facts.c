/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job as the PMIx server must know it: the whole map, which libpmix needs on every node that
 * serves a client, applications, and the bindings of the local processes.  O(processes of the job).
 */
#include "config.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc/placement_print.h"
#include "launch/rank/rank_pmi_internal.h"

#define ARGUMENTS_BYTES_MAX 4096u /* of a command line given to clients */

/* The job's data; owns its texts. */
struct job_facts {
    struct buffer names; /* "n1,n2" */
    struct buffer ranks; /* "0,1;2,3" */
    struct buffer map_by;
    char *directory;
    char namespace[PMI_NAMESPACE_BYTES];
    char parent[PMI_NAMESPACE_BYTES];
    char number[16];
    uint32_t *nodes; /* by rank; NULL: the job is too large for that */
    uint16_t *local_numbers;
    struct pmi_app *apps;
    struct pmi_binding *bindings;
};

static void facts_fini(struct job_facts *facts, const struct pmi_job *job)
{
    for (uint32_t i = 0; facts->apps != NULL && i < job->apps_count; i++)
        free((char *)facts->apps[i].arguments);
    for (uint32_t i = 0; facts->bindings != NULL && i < job->local_count; i++) {
        free((char *)facts->bindings[i].cpus);
        free((char *)facts->bindings[i].locality);
    }
    free(facts->apps);
    free(facts->bindings);
    free(facts->nodes);
    free(facts->local_numbers);
    buffer_fini(&facts->names);
    buffer_fini(&facts->ranks);
    buffer_fini(&facts->map_by);
    free(facts->directory);
}

static void add_node(struct job_facts *facts, const struct placement_map *map, uint32_t node,
                     uint32_t index)
{
    uint32_t count = placement_map_count(map, node);

    for (uint32_t i = 0; i < count; i++) {
        uint32_t rank = placement_map_rank(map, node, i);

        assert(rank < map->processes);
        buffer_printf(&facts->ranks, "%s%u", i ? "," : index ? ";" : "", rank);
        if (facts->nodes != NULL) {
            facts->nodes[rank] = index;
            facts->local_numbers[rank] = (uint16_t)i;
        }
    }
}

static void make_maps(const struct rank_pmi *rank_pmi, const struct job_local *job,
                      struct job_facts *facts, uint32_t *ret_own_index)
{
    char name[HOST_NAME_BYTES_MAX + 1];
    uint32_t place = 0, index = 0;

    if (job->map.processes <= PMI_DETAILS_MAX) {
        facts->nodes = memory_allocate_zeroed(job->map.processes * sizeof(*facts->nodes));
        facts->local_numbers =
            memory_allocate_zeroed(job->map.processes * sizeof(*facts->local_numbers));
    }
    while (ranges_next(&job->places, place, &place)) {
        hostlist_name(rank_pmi->config.allocation->names, place - 1, name);
        buffer_printf(&facts->names, "%s%s", index ? "," : "", name);
        add_node(facts, &job->map, place - 1, index);
        if (place == rank_pmi->config.place)
            *ret_own_index = index;
        index++;
        place++;
    }
}

static char *join_arguments(char *const *argv)
{
    struct buffer text = {0};

    for (uint32_t i = 0; argv[i] != NULL && text.length_bytes < ARGUMENTS_BYTES_MAX; i++)
        buffer_printf(&text, "%s%s", i > 0 ? " " : "", argv[i]);
    (void)buffer_string(&text);
    return buffer_take(&text, NULL);
}

/* NULL if each process has its own. */
static const char *directory_of(const struct app_spec *app)
{
    return app->directory_is_template ? NULL : app->directory;
}

static void make_apps(const struct job_local *job, struct job_facts *facts)
{
    facts->apps = memory_allocate_zeroed(job->map.apps_count * sizeof(*facts->apps));
    for (uint32_t i = 0; i < job->map.apps_count; i++)
        facts->apps[i] = (struct pmi_app){.size = job->map.apps[i].processes,
                                          .first_rank = job->map.apps[i].first_rank,
                                          .directory = directory_of(&job->spec.apps[i]),
                                          .arguments = join_arguments(job->spec.apps[i].argv)};
}

static uint32_t package_of(const struct topology *view, const struct placement_binding *binding)
{
    uint32_t thread = ranges_is_empty(&binding->home) ? 0 : ranges_min(&binding->home);

    return thread < view->threads ? view->objects[TOPOLOGY_PACKAGE][thread] : TOPOLOGY_NONE;
}

static void make_bindings(const struct rank_pmi *rank_pmi, struct job_facts *facts)
{
    const struct job_local *job = rank_pmi->config.job;
    const struct placement_machines *machines = &job->spec.placement.machines;
    uint32_t node = rank_pmi->config.place - 1;
    uint32_t kind = placement_machines_kind(machines, node);

    if (job->bindings.count == 0 || kind == UINT32_MAX)
        return;
    assert(job->bindings.count >= job->count);
    facts->bindings = memory_allocate_zeroed(job->count * sizeof(*facts->bindings));
    for (uint32_t i = 0; i < job->count; i++) {
        const struct placement_binding *placed = &job->bindings.items[i];
        struct pmi_binding *binding = &facts->bindings[i];
        struct buffer text = {0};

        if (ranges_is_empty(&placed->cpus))
            continue;
        buffer_append_string(&text, "hwloc:");
        ranges_print(&placed->cpus, &text);
        binding->cpus = memory_copy_string(buffer_string(&text));
        buffer_clear(&text);
        buffer_append_string(&text, "hwloc:");
        placement_print_locality(&job->map, node, placed, &text);
        binding->locality = memory_copy_string(buffer_string(&text));
        buffer_fini(&text);
        for (uint32_t j = 0; j < i; j++)
            binding->package_rank +=
                package_of(&machines->kinds[kind].view, placed) ==
                package_of(&machines->kinds[kind].view, &job->bindings.items[j]);
    }
}

/* What is known of the job everywhere; fills in job and facts, to which it refers. */
static void make_job(const struct rank_pmi *rank_pmi, const struct job_local *local,
                     struct job_facts *facts, struct pmi_job *job)
{
    const struct placement_rule *rule = local->map.apps[0].rule;
    enum topology_level bind = placement_rule_bind_level(rule, local->map.in_threads);
    uint64_t slots = allocation_slots(rank_pmi->config.allocation);

    job->number = local->number;
    job->size = local->map.processes;
    job->universe_size = job->slots = (uint32_t)slots;
    job->apps_count = local->spec.apps_count;
    facts->directory = rank_pmi_directory(rank_pmi, local->number);
    job->directory = facts->directory;
    job->uid = getuid();
    job->gid = getgid();
    job->node_index = UINT32_MAX;
    job->rank_by = placement_rank_by_name(placement_rule_rank_by(rule));
    job->bind_to = bind == TOPOLOGY_NODE ? "none" : topology_level_name(bind);
    job_spec_namespace(rank_pmi->config.jobs_name, local->number, facts->namespace,
                       sizeof(facts->namespace));
    snprintf(facts->number, sizeof(facts->number), "%u", local->number);
    job->namespace = facts->namespace;
    job->job_id = facts->number;
    if (local->spec.parent > 0) {
        if (local->spec.tool != NULL)
            snprintf(facts->parent, sizeof(facts->parent), "%s", local->spec.tool);
        else
            job_spec_namespace(rank_pmi->config.jobs_name, local->spec.parent, facts->parent,
                               sizeof(facts->parent));
        job->parent = facts->parent;
        job->parent_rank = local->spec.parent_rank;
    }
    job->stop = local->spec.stop;
    job->keeps_data = local->spec.modex == JOB_MODEX_LAZY;
    job->target = local->spec.target;
    job->target_rank = local->spec.target_rank;
    make_maps(rank_pmi, local, facts, &job->node_index);
    make_apps(local, facts);
    placement_rule_print(rule, &facts->map_by);
    job->node_names = buffer_string(&facts->names);
    job->ranks_by_node = buffer_string(&facts->ranks);
    job->map_by = buffer_string(&facts->map_by);
    job->nodes = facts->nodes;
    job->local_numbers = facts->local_numbers;
    job->apps = facts->apps;
}

int rank_pmi_job_open(struct rank_pmi *rank_pmi, struct error *error)
{
    const struct job_local *local = rank_pmi->config.job;
    struct job_facts facts = {.nodes = NULL};
    struct pmi_ops ops = rank_pmi_ops(&rank_pmi->speakers[SPEAKER_PMIX]);
    struct pmi_job job = {
        .local_ranks = rank_pmi->ranks,
        .local_apps = rank_pmi->apps,
        .local_count = local->count,
    };
    int rc;

    make_job(rank_pmi, local, &facts, &job);
    make_bindings(rank_pmi, &facts);
    job.bindings = facts.bindings;
    rc = pmi_node_open(rank_pmi->config.pmi_node, &job, &ops, error);
    if (rc == 0)
        (void)mkdir(job.directory,
                    0700); /* the session's exists now; without it programs make their own */
    facts_fini(&facts, &job);
    return rc;
}

int rank_pmi_foreign_open(struct rank_pmi *rank_pmi, const struct job_local *foreign,
                          const struct pmi_ops *ops, struct error *error)
{
    struct job_facts facts = {.nodes = NULL};
    struct pmi_job job = {.local_count = 0};
    int rc;

    make_job(rank_pmi, foreign, &facts, &job);
    rc = pmi_node_open(rank_pmi->config.pmi_node, &job, ops, error);
    facts_fini(&facts, &job);
    return rc;
}

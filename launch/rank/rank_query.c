/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/rank/rank_query.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "launch/rank/rank_fabric.h"

char *rank_query_name(const char *jobs_name)
{
    return memory_printf("banyan-%s", jobs_name);
}

/* ---- The root ---- */

static void add_job(const struct instance *instance, uint32_t number,
                    struct pmi_instance_facts *facts)
{
    static const enum pmi_job_phase phases[] = {
        [INSTANCE_JOB_WAITING] = PMI_JOB_WAITING, [INSTANCE_JOB_STARTING] = PMI_JOB_STARTING,
        [INSTANCE_JOB_RUNNING] = PMI_JOB_RUNNING, [INSTANCE_JOB_ENDING] = PMI_JOB_ENDING,
        [INSTANCE_JOB_ENDED] = PMI_JOB_ENDED,
    };
    const struct job_spec *spec = instance_job_spec(instance, number);
    const struct placement_map *map = instance_job_map(instance, number);
    struct pmi_job_facts *job = pmi_instance_facts_add(facts, number);

    job->phase = phases[instance_job_state(instance, number)];
    job->size = map->processes;
    if (map->processes > 0)
        placement_map_places(map, &job->places);
    for (uint32_t app = 0; app < spec->apps_count; app++)
        pmi_job_facts_add(job, app < map->apps_count ? map->apps[app].first_rank : 0,
                          app < map->apps_count ? map->apps[app].processes : 0,
                          spec->apps[app].argv);
}

static void answer_jobs(const struct rank_query_place *place, struct buffer *answer)
{
    const struct allocation *roster = instance_roster(place->instance);
    struct pmi_instance_facts facts = {.name = rank_query_name(place->jobs_name),
                                       .nodes = allocation_nodes(roster),
                                       .slots = allocation_slots(roster)};
    struct ranges numbers = {0};
    uint32_t number = 0;

    instance_job_numbers(place->instance, &numbers);
    for (; ranges_next(&numbers, number, &number); number++)
        add_job(place->instance, number, &facts);
    pmi_instance_facts_encode(&facts, answer);
    pmi_instance_facts_fini(&facts);
    ranges_fini(&numbers);
}

/* ---- A node ---- */

static void add_part(const struct rank_query_place *place, const struct pmi_query *query,
                     const struct job_local *part, struct pmi_node_facts *facts)
{
    for (uint32_t index = 0; index < part->count; index++) {
        struct pmi_process_facts process = {
            .job = part->number, .rank = instance_part_rank(place->instance, part, index)};

        if (query->rank != PMI_RANK_ALL && query->rank != process.rank)
            continue;
        place->process(place->context, part->number, index, query->with_memory, &process);
        pmi_node_facts_add(facts, &process);
    }
}

static void answer_processes(const struct rank_query_place *place, const struct pmi_query *query,
                             struct buffer *answer)
{
    struct pmi_node_facts facts = {.name = memory_copy_string(place->node_name),
                                   .daemon_kib = place->daemon_kib(place->context)};
    struct ranges numbers = {0};
    uint32_t number = 0;

    if (query->job != PMI_JOB_NONE)
        ranges_add(&numbers, query->job, query->job);
    else
        instance_part_numbers(place->instance, &numbers);
    for (; ranges_next(&numbers, number, &number); number++) {
        const struct job_local *part = instance_part(place->instance, number);

        if (part != NULL)
            add_part(place, query, part, &facts);
    }
    pmi_node_facts_encode(&facts, answer);
    pmi_node_facts_fini(&facts);
    ranges_fini(&numbers);
}

int rank_query_answer(const struct rank_query_place *place, const void *data, size_t bytes,
                      struct buffer *answer)
{
    struct pmi_query query;
    int rc = pmi_query_decode(&query, data, bytes);

    if (rc < 0)
        return rc;
    if (query.kind == PMI_QUERY_PROCESSES)
        answer_processes(place, &query, answer);
    else if (instance_book(place->instance) == NULL)
        rc = -ENOTSUP;
    else if (query.kind == PMI_QUERY_FABRIC)
        rc = rank_fabric_answer(place->fabric(place->context), &query.fabric, answer);
    else
        answer_jobs(place, answer);
    pmi_query_fini(&query);
    return rc;
}

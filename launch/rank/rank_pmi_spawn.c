/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process asks for a new job (pmix/pmi_spawn.h).  Here the request becomes the specification of a job,
 * like that of a front end: the environment and the policies are those of the caller's job, which every
 * node of it knows.  The root runs it, and answers when all processes have been started, or that they
 * have not.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/hostlist.h"
#include "launch/rank/rank_pmi_internal.h"
#include "pmix/pmi_spawn.h"

/* ---- Programs ---- */

static char *make_directory(const char *given, const char *own)
{
    if (given == NULL)
        return own != NULL ? memory_copy_string(own) : NULL;
    if (given[0] == '/' || own == NULL)
        return memory_copy_string(given);
    return memory_printf("%s/%s", own, given);
}

/* own_directory: the caller's. */
static void make_app(const struct pmi_spawn_app *wanted, const struct app_spec *own,
                     const char *own_directory, struct app_spec *ret_app)
{
    /* The environment of the caller's job, as the user gave it, then what the callers have changed. */
    *ret_app = (struct app_spec){.argv = pmi_spawn_copy_strings(wanted->argv),
                                 .set = pmi_spawn_copy_strings(own->set),
                                 .limits = own->limits};
    variable_edits_add_all(&ret_app->edits, &own->edits);
    variable_edits_add_all(&ret_app->edits, &wanted->edits);
    ret_app->directory = make_directory(wanted->directory, own_directory);
}

/* ---- Placement ---- */

/* All nodes but those of the list, whose names may be followed by ":slots", which say nothing here. */
static int exclude_others(const struct allocation *roster, const char *hosts,
                          struct ranges *ret_excluded, struct error *error)
{
    struct ranges wanted = {0};
    char name[HOST_NAME_BYTES_MAX + 1];
    int rc = 0;

    while (rc == 0 && *hosts != '\0') {
        size_t bytes = strcspn(hosts, ",");
        size_t name_bytes = strcspn(hosts, ",:");
        int64_t index;

        snprintf(name, sizeof(name), "%.*s", (int)name_bytes, hosts);
        index = name_bytes < sizeof(name) ? hostlist_find(roster->names, name, 0) : -1;
        if (index < 0 && name_bytes > 0)
            rc = error_set(error, -ENOENT, "no node %s is in the allocation", name);
        else if (name_bytes > 0)
            ranges_add(&wanted, (uint32_t)index, (uint32_t)index);
        hosts += bytes + (hosts[bytes] == ',');
    }
    ranges_clear(ret_excluded);
    ranges_add(ret_excluded, 0, allocation_nodes(roster) - 1);
    ranges_remove_all(ret_excluded, &wanted);
    ranges_fini(&wanted);
    return rc;
}

static int parse_rule(const struct pmi_spawn_rule *wanted, struct placement_rule *rule,
                      struct placement_extra *extra, struct error *error)
{
    int rc = 0;

    if (wanted->map_by != NULL)
        rc = placement_rule_parse(wanted->map_by, rule, extra, error);
    if (rc == 0 && wanted->rank_by != NULL)
        rc = placement_rank_by_parse(wanted->rank_by, rule, error);
    if (rc == 0 && wanted->bind_to != NULL)
        rc = placement_bind_parse(wanted->bind_to, rule, error);
    if (rc == 0 && (extra->file != NULL || rule->policy == PLACEMENT_BY_LIST))
        rc = error_set(error, -ENOTSUP, "a spawned job cannot be placed by a file");
    if (wanted->per_node > 0)
        rule->per = wanted->per_node;
    if (wanted->cpus_per_process > 0)
        rule->pe = wanted->cpus_per_process;
    rule->oversubscribe |= wanted->oversubscribe;
    return rc;
}

static uint64_t count_beside(const struct job_local *other, const struct pmi_spawn_target *target)
{
    uint64_t processes = target->rank == PMI_RANK_ALL ? other->map.processes : 1;
    uint64_t nodes = target->rank == PMI_RANK_ALL ? other->nodes : 1;

    return nodes * target->per_node + processes * target->per_process;
}

/* Where processes of another job are: a number on each of their nodes, and for each of them. */
static struct placement_list *list_beside(const struct job_local *other,
                                          const struct pmi_spawn_target *target)
{
    struct placement_list *list = memory_allocate_zeroed(sizeof(*list));
    const struct placement_map *map = &other->map;
    uint32_t node, index, first, last, place = 0;
    int all = target->rank == PMI_RANK_ALL;
    struct ranges places = {0};

    first = all ? 0 : target->rank;
    last = all ? map->processes - 1 : target->rank;
    assert(last < map->processes);
    placement_map_find(map, first, &node, &index);
    if (all)
        ranges_copy(&places, &other->places);
    else
        ranges_add(&places, node + 1, node + 1);
    list->nodes = memory_allocate((count_beside(other, target) + 1) * sizeof(*list->nodes));
    for (; ranges_next(&places, place, &place); place++) {
        for (uint32_t i = 0; i < target->per_node; i++)
            list->nodes[list->count++] = place - 1;
    }
    for (uint32_t rank = first; rank <= last && target->per_process > 0; rank++) {
        placement_map_find(map, rank, &node, &index);
        for (uint32_t i = 0; i < target->per_process; i++)
            list->nodes[list->count++] = node;
    }
    ranges_fini(&places);
    assert(list->count == count_beside(other, target));
    return list;
}

/* Debugger daemons need no slots. */
static int make_rule_beside(const struct rank_pmi *rank_pmi, const struct pmi_spawn_target *target,
                            uint32_t job, struct placement *placement, struct error *error)
{
    const struct job_local *other = rank_jobs_map(rank_pmi->config.jobs, job);
    struct placement_rule rule = {
        .policy = PLACEMENT_BY_LIST, .bind = PLACEMENT_BIND_NONE, .oversubscribe = 1};

    if (other == NULL || (target->rank != PMI_RANK_ALL && target->rank >= other->map.processes))
        return error_set(error, -ENOENT, "there is no rank %u in job %u", target->rank, job);
    if (count_beside(other, target) > PLACEMENT_PROCESSES_MAX)
        return error_set(error, -E2BIG, "these are more than %u processes",
                         PLACEMENT_PROCESSES_MAX);
    rule.list = list_beside(other, target);
    rule.processes = rule.list->count;
    placement_add(placement, &rule);
    return 0;
}

/* What the user has allowed or wanted for the caller's job holds for those that it spawns. */
static int make_rule(const struct rank_pmi *rank_pmi, const struct pmi_spawn *spawn,
                     const struct pmi_spawn_app *app, const struct placement_rule *own,
                     struct placement *placement, struct error *error)
{
    const struct allocation *roster = rank_pmi->config.allocation;
    const char *hosts = app->rule.hosts != NULL ? app->rule.hosts : spawn->rule.hosts;
    struct placement_extra extra = {.no_local = 0};
    struct placement_rule rule = {.processes = app->processes,
                                  .bind = own->bind,
                                  .bind_level = own->bind_level,
                                  .oversubscribe = own->oversubscribe,
                                  .overload = own->overload};
    int rc = app->processes > PLACEMENT_PROCESSES_MAX
                 ? error_set(error, -E2BIG, "%u processes are too many", app->processes)
                 : parse_rule(&spawn->rule, &rule, &extra, error);

    if (rc == 0)
        rc = parse_rule(&app->rule, &rule, &extra, error);
    if (rc == 0 && hosts != NULL)
        rc = exclude_others(roster, hosts, &rule.excluded, error);
    if (rc < 0) {
        placement_rule_fini(&rule);
        return rc;
    }
    rule.oversubscribe |= extra.oversubscribe != 0;
    if (spawn->rule.no_oversubscribe || app->rule.no_oversubscribe)
        rule.oversubscribe = 0;
    if (extra.no_local)
        ranges_add(&placement->excluded, rank_pmi->config.place - 1, rank_pmi->config.place - 1);
    placement_add(placement, &rule);
    return 0;
}

/* ---- The job ---- */

static void take_preput(struct pmi_spawn *spawn, struct job_spec *spec)
{
    spec->preput = memory_allocate_zeroed((spawn->preput_count + 1) * sizeof(*spec->preput));
    spec->preput_count = spawn->preput_count;
    for (uint32_t i = 0; i < spawn->preput_count; i++) {
        spec->preput[i] =
            (struct job_preput){.key = spawn->preput[i].key, .value = spawn->preput[i].value};
        spawn->preput[i] = (struct pmi_spawn_pair){.key = NULL};
    }
}

/* caller: a rank of the job of rank_pmi. */
static int make_apps(const struct rank_pmi *rank_pmi, uint32_t caller,
                     const struct pmi_spawn *spawn, uint32_t target, struct job_spec *spec,
                     struct error *error)
{
    const struct job_local *job = rank_pmi->config.job;
    uint32_t own = placement_map_app(&job->map, caller);
    char *directory;
    int rc = 0;

    assert(own < job->spec.apps_count && job->spec.apps_count == job->spec.placement.rules_count);
    directory =
        job_spec_directory(&job->spec.apps[own], caller, rank_pmi->config.node_name, job->number);
    spec->apps = memory_allocate_zeroed(spawn->apps_count * sizeof(*spec->apps));
    for (uint32_t i = 0; rc == 0 && i < spawn->apps_count; i++) {
        rc = pmi_spawn_is_beside(spawn)
                 ? make_rule_beside(rank_pmi, &spawn->target, target, &spec->placement, error)
                 : make_rule(rank_pmi, spawn, &spawn->apps[i], &job->spec.placement.rules[own],
                             &spec->placement, error);
        if (rc == 0)
            make_app(&spawn->apps[i], &job->spec.apps[own], directory,
                     &spec->apps[spec->apps_count++]);
    }
    free(directory);
    return rc;
}

/* target: the job that is debugged, which is known here; 0: none. */
static int make_spec(const struct rank_pmi *rank_pmi, uint32_t caller, struct pmi_spawn *spawn,
                     uint32_t target, struct job_spec *spec, struct error *error)
{
    const struct job_local *job = rank_pmi->config.job;
    int is_tool = caller == PMI_RANK_ALL;
    uint64_t processes = 0;
    int rc;

    spec->mpi = job->spec.mpi;
    spec->uid = job->spec.uid;
    spec->on_failure =
        spawn->is_recoverable ? (uint8_t)JOB_ON_FAILURE_CONTINUE : job->spec.on_failure;
    spec->restarts_max = spec->on_failure == JOB_ON_FAILURE_RESTART ? job->spec.restarts_max : 0;
    spec->report_bindings = spawn->report_bindings;
    spec->stdin_rank = spawn->stdin_rank;
    spec->modex = job->spec.modex;
    spec->parent = job->number;
    spec->parent_rank = is_tool ? spawn->tool_rank : caller;
    spec->tool = is_tool ? memory_copy_string(spawn->tool) : NULL;
    spec->start_timeout_s = spawn->start_timeout_s;
    spec->run_timeout_s = spawn->run_timeout_s;
    spec->stop = spawn->stop;
    spec->target_rank = spawn->target.rank;
    if (spawn->target.namespace != NULL)
        spec->target = memory_copy_string(spawn->target.namespace);
    rc = make_apps(rank_pmi, is_tool ? 0 : caller, spawn, target, spec, error);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < spec->placement.rules_count; i++)
        processes += spec->placement.rules[i].processes;
    take_preput(spawn, spec);
    if (spec->stdin_rank != UINT32_MAX && spec->stdin_rank >= processes)
        return error_set(error, -EINVAL, "there is no rank %u to read standard input",
                         spec->stdin_rank);
    return 0;
}

/* ---- The request ---- */

struct spawn_wait {
    const struct speaker *speaker;
    uint64_t id;
    struct job_spawned spawned; /* the root's answer */
};

static void answer_spawn(const struct speaker *speaker, uint64_t id,
                         const struct pmi_spawn_answer *answer)
{
    struct buffer data = {0};

    pmi_spawn_answer_encode(answer, &data);
    rank_pmi_answer(speaker, id, 0, data.data, data.length_bytes);
    buffer_fini(&data);
}

static void refuse_spawn(const struct speaker *speaker, const struct pmi_request *request,
                         const char *why)
{
    struct pmi_spawn_answer answer = {.failure = PMI_SPAWN_FAILURE_REFUSED};

    snprintf(answer.reason, sizeof(answer.reason), "%s", why);
    answer_spawn(speaker, request->id, &answer);
    if (request->caller.rank == PMI_RANK_ALL)
        rank_pmi_say(speaker->rank_pmi, "a tool on %s cannot spawn: %s",
                     speaker->rank_pmi->config.node_name, why);
    else
        rank_pmi_say(speaker->rank_pmi, "rank %u on %s cannot spawn: %s", request->caller.rank,
                     speaker->rank_pmi->config.node_name, why);
}

/* The root has its own words for why a job does not run. */
static void make_answer(const struct rank_pmi *rank_pmi, const struct job_spawned *spawned,
                        struct pmi_spawn_answer *ret_answer)
{
    static const enum pmi_spawn_failure failures[JOB_SPAWN_FAILURE_COUNT] = {
        [JOB_SPAWN_OK] = PMI_SPAWN_FAILURE_NONE,
        [JOB_SPAWN_REFUSED] = PMI_SPAWN_FAILURE_REFUSED,
        [JOB_SPAWN_MAP] = PMI_SPAWN_FAILURE_MAP,
        [JOB_SPAWN_EXECUTABLE] = PMI_SPAWN_FAILURE_EXECUTABLE,
        [JOB_SPAWN_DIRECTORY] = PMI_SPAWN_FAILURE_DIRECTORY,
        [JOB_SPAWN_START] = PMI_SPAWN_FAILURE_START,
        [JOB_SPAWN_ENDED] = PMI_SPAWN_FAILURE_ENDED,
        [JOB_SPAWN_TIME] = PMI_SPAWN_FAILURE_TIME,
    };

    *ret_answer = (struct pmi_spawn_answer){.failure = failures[spawned->failure]};
    snprintf(ret_answer->reason, sizeof(ret_answer->reason), "%s", spawned->reason);
    if (spawned->failure != JOB_SPAWN_OK)
        return;
    ret_answer->job = spawned->number;
    ret_answer->processes = spawned->processes;
    job_spec_namespace(rank_pmi->config.jobs_name, spawned->number, ret_answer->namespace,
                       sizeof(ret_answer->namespace));
}

/* libpmix has the new job before its clients learn of it, or the root has no map: it has ended. */
static void child_is_known(struct rank_pmi *rank_pmi, void *context, int status)
{
    struct spawn_wait *wait = context;
    struct pmi_spawn_answer answer;

    if (status != -ECANCELED) {
        make_answer(rank_pmi, &wait->spawned, &answer);
        answer_spawn(wait->speaker, wait->id, &answer);
    }
    free(wait);
}

static void spawn_answered(struct rank_pmi *rank_pmi, void *context, int status, const void *data,
                           size_t data_bytes)
{
    struct spawn_wait *wait = context;

    if (status == 0)
        status = job_spawned_decode(&wait->spawned, data, data_bytes);
    if (status == 0 && wait->speaker->kind == SPEAKER_PMIX &&
        wait->spawned.failure == JOB_SPAWN_OK) {
        rank_jobs_need(rank_pmi, wait->spawned.number, 1, child_is_known, wait);
        return;
    }
    if (status == 0)
        child_is_known(rank_pmi, wait, 0);
    else if (status != -ECANCELED)
        rank_pmi_answer(wait->speaker, wait->id, status, NULL, 0);
    if (status < 0)
        free(wait);
}

static void send_spawn(const struct speaker *speaker, uint64_t id, const struct job_spec *spec)
{
    struct spawn_wait *wait = memory_allocate(sizeof(*wait));
    struct buffer payload = {0};

    *wait = (struct spawn_wait){.speaker = speaker, .id = id};
    job_spec_encode_spawn(spec, &payload);
    rank_pmi_ask(speaker->rank_pmi, 0, message_from_buffer(&payload), spawn_answered, wait);
    buffer_fini(&payload);
}

/* A spawn whose processes debug others, until it is known where those are. */
struct beside {
    const struct speaker *speaker;
    struct pmi_request request; /* without data */
    struct pmi_spawn spawn;
    uint32_t target;
};

static void begin(const struct speaker *speaker, const struct pmi_request *request,
                  struct pmi_spawn *spawn, uint32_t target)
{
    struct error error = ERROR_NONE;
    struct job_spec spec;

    job_spec_init(&spec);
    if (make_spec(speaker->rank_pmi, request->caller.rank, spawn, target, &spec, &error) < 0)
        refuse_spawn(speaker, request, error.text);
    else
        send_spawn(speaker, request->id, &spec);
    job_spec_fini(&spec);
}

static void target_is_known(struct rank_pmi *rank_pmi, void *context, int status)
{
    struct beside *beside = context;

    assert(beside->speaker->rank_pmi == rank_pmi && beside->target > 0);
    if (status == 0)
        begin(beside->speaker, &beside->request, &beside->spawn, beside->target);
    else if (status != -ECANCELED)
        refuse_spawn(beside->speaker, &beside->request, "the job to debug does not run");
    pmi_spawn_fini(&beside->spawn);
    free(beside);
}

/* Its number from its namespace; 0 if there is none in this instance. */
static uint32_t target_number(const struct rank_pmi *rank_pmi, const char *namespace)
{
    const char *dash = strrchr(namespace, '-');
    unsigned long number = dash != NULL ? strtoul(dash + 1, NULL, 10) : 0;
    char expected[PMI_NAMESPACE_BYTES];

    if (number == 0 || number > UINT32_MAX)
        return 0;
    job_spec_namespace(rank_pmi->config.jobs_name, (uint32_t)number, expected, sizeof(expected));
    return strcmp(namespace, expected) == 0 ? (uint32_t)number : 0;
}

/* A local process, or a tool that says its name. */
static int is_caller(const struct rank_pmi *rank_pmi, uint32_t rank, const struct pmi_spawn *spawn)
{
    return rank == PMI_RANK_ALL ? spawn->tool != NULL : rank_pmi_local_index(rank_pmi, rank) >= 0;
}

void rank_pmi_spawn(struct speaker *speaker, const struct pmi_request *request)
{
    struct rank_pmi *rank_pmi = speaker->rank_pmi;
    struct pmi_spawn spawn;
    struct beside *beside;
    uint32_t target;

    if (pmi_spawn_decode(&spawn, request->data, request->data_bytes) < 0) {
        refuse_spawn(speaker, request, "the request cannot be read");
        return;
    }
    if (!is_caller(rank_pmi, request->caller.rank, &spawn)) {
        refuse_spawn(speaker, request, "it is no process of this node");
        pmi_spawn_fini(&spawn);
        return;
    }
    if (spawn.target.namespace == NULL) {
        begin(speaker, request, &spawn, 0);
        pmi_spawn_fini(&spawn);
        return;
    }
    target = target_number(rank_pmi, spawn.target.namespace);
    beside = memory_allocate_zeroed(sizeof(*beside));
    *beside = (struct beside){speaker, *request, spawn, target};
    if (target == 0) {
        refuse_spawn(speaker, request, "the namespace to debug is no job of this instance");
        pmi_spawn_fini(&beside->spawn);
        free(beside);
        return;
    }
    rank_jobs_need(rank_pmi, target, 0, target_is_known, beside);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a job gets of the instance's nodes, made into its map.  The only job of an instance has the
 * roster to itself, and its launch says nothing of it.  Where others run, too, the root makes the map of
 * the slots and cores that they have left, and the launch names those of the nodes that the job has, the
 * slots as runs over all nodes, the cores as kinds of machines; so root and nodes make the same map of
 * the same, and a job of one process costs one run and one kind among thousands of nodes.
 *
 * A job that is placed on cores asks only the nodes that it would fill if slots were all that counts.
 * If that is not enough for a map that no other node can change, all others are asked, too.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "alloc/placement_cores.h"
#include "alloc/placement_cpus.h"
#include "alloc/placement_require.h"
#include "launch/job/instance_state.h"

/* Whether slots are used, or nodes lost or drained. */
static int is_shared(const struct job *job)
{
    const struct instance_root *root = job->instance->root;
    struct list_link *node, *spare;

    if (root->is_reduced)
        return 1;
    list_for_each(&root->jobs, node,
                  spare) if (list_entry(node, struct job, node)->shares.count > 0) return 1;
    return 0;
}

/* Nodes as indexes are places less one. */
static void nodes_of_places(const struct ranges *places, struct ranges *ret_nodes)
{
    ranges_clear(ret_nodes);
    for (uint32_t i = 0; i < places->count; i++)
        ranges_add(ret_nodes, places->items[i].first - 1, places->items[i].last - 1);
}

/* All slots, without some nodes; if it is not alone with those that other jobs use. */
static void view_nodes(const struct job *job, const struct ranges *without, int alone,
                       struct job_view *ret_view)
{
    const struct instance_root *root = job->instance->root;
    struct list_link *node, *spare;

    job_view_init(ret_view, &root->usable.allocation);
    if (!alone)
        list_for_each(&root->jobs, node, spare)
            job_view_take(ret_view, &list_entry(node, struct job, node)->shares);
    job_view_take_nodes(ret_view, without);
    job_view_make(ret_view);
}

static void view_left(const struct job *job, const struct ranges *without,
                      struct job_view *ret_view)
{
    view_nodes(job, without, 0, ret_view);
}

/* Of those slots the ones on the job's own nodes. */
static void view_own(const struct job *job, const struct allocation *left,
                     struct job_view *ret_view)
{
    struct ranges own = {0}, others = {0};

    nodes_of_places(&job->places, &own);
    ranges_add(&others, 0, allocation_nodes(left) - 1);
    ranges_remove_all(&others, &own);
    job_view_init(ret_view, left);
    job_view_take_nodes(ret_view, &others);
    job_view_make(ret_view);
    ranges_fini(&own);
    ranges_fini(&others);
}

/* ---- who takes part ---- */

static int all_rules_oversubscribe(const struct placement *placement)
{
    for (uint32_t i = 0; i < placement->rules_count; i++)
        if (!placement->rules[i].oversubscribe)
            return 0;
    return 1;
}

void job_map_candidates(const struct job *job, struct ranges *ret_nodes)
{
    const struct placement *placement = &job->spec.placement;
    int may_share = all_rules_oversubscribe(placement);
    struct ranges none = {0};
    struct job_view left;
    uint32_t first = 0;

    ranges_clear(ret_nodes);
    view_left(job, &none, &left);
    for (uint32_t i = 0; i < left.allocation.runs_count; i++) {
        const struct slots_run *run = &left.allocation.runs[i];

        if (run->slots > (may_share ? 0 : run->used))
            ranges_add(ret_nodes, first, first + run->nodes - 1);
        first += run->nodes;
    }
    ranges_remove_all(ret_nodes, &placement->excluded);
    job_view_fini(&left);
}

/* What the first nodes must have together if each takes as many processes as it has slots. */
struct guess {
    uint64_t slots;
    uint64_t nodes;
    uint8_t all; /* of which nothing can be said */
};

static struct guess guess_of(const struct placement *placement)
{
    struct guess guess = {.slots = 0};

    for (uint32_t i = 0; i < placement->rules_count; i++) {
        const struct placement_rule *rule = &placement->rules[i];

        guess.all |= rule->processes == 0 || rule->oversubscribe || rule->cpus > 0 ||
                     rule->policy == PLACEMENT_BY_LIST;
        if (rule->policy == PLACEMENT_BY_NODE || rule->span)
            guess.nodes += rule->processes;
        else if (rule->per > 0)
            guess.nodes += (rule->processes + rule->per - 1) / rule->per;
        else
            guess.slots += rule->processes;
    }
    return guess;
}

void job_map_guess(const struct job *job, struct ranges *ret_nodes)
{
    struct guess guess = guess_of(&job->spec.placement);
    struct ranges candidates = {0}, none = {0};
    struct job_view left;
    uint32_t first = 0, node = 0;

    job_map_candidates(job, &candidates);
    if (guess.all) {
        ranges_move(ret_nodes, &candidates);
        return;
    }
    ranges_clear(ret_nodes);
    view_left(job, &none, &left);
    for (uint32_t i = 0; i < left.allocation.runs_count; i++) {
        const struct slots_run *run = &left.allocation.runs[i];

        while ((guess.slots > 0 || guess.nodes > 0) && ranges_next(&candidates, node, &node) &&
               node - first < run->nodes) {
            uint32_t free = run->slots - run->used;

            ranges_add(ret_nodes, node, node);
            guess.slots -= guess.slots < free ? guess.slots : free;
            guess.nodes -= guess.nodes > 0;
            node++;
        }
        first += run->nodes;
    }
    job_view_fini(&left);
    ranges_fini(&candidates);
}

void job_map_unknown(const struct job *job, const struct ranges *candidates,
                     struct ranges *ret_nodes)
{
    struct ranges known = {0};

    ranges_clear(ret_nodes);
    if (!placement_wants_topology(&job->spec.placement))
        return;
    ranges_copy(ret_nodes, candidates);
    job_machines_nodes(&job->instance->root->machines,
                       placement_wants_devices(&job->spec.placement), &known);
    ranges_remove_all(ret_nodes, &known);
    nodes_of_places(&job->concerned, &known);
    ranges_remove_all(ret_nodes, &known);
    ranges_fini(&known);
}

/* 1 if the map is the same whatever the unknown nodes are like: all processes are on nodes before
 * these, and where each node gets one in turn, none is given a second. */
static int is_settled(const struct job *job, const struct ranges *unknown)
{
    const struct placement_map *map = &job->map;

    if (guess_of(&job->spec.placement).all || ranges_max(&job->places) - 1 > ranges_min(unknown))
        return 0;
    for (uint32_t i = 0; i < map->apps_count; i++) {
        const struct placement_app *app = &map->apps[i];

        for (uint32_t j = 0; j < app->runs_count; j++)
            if ((app->rule->policy == PLACEMENT_BY_NODE || app->rule->span) &&
                app->runs[j].count > 1)
                return 0;
    }
    return 1;
}

/* ---- why not ---- */

/* Why there is no map, and which nodes were excluded. */
static void say_why(const struct job *job, struct error *error)
{
    struct buffer text = {0};
    uint64_t used, slots, taken, cores;

    job_queue_count(job->instance->root, &used, &slots);
    placement_require_tell(&job->spec.placement, job->instance->allocation, &text);
    placement_cores_count(&job->spec.placement.machines, &taken, &cores);
    if (used > 0)
        buffer_printf(&text, "; other jobs of this instance have %llu of its %llu slots",
                      (unsigned long long)used, (unsigned long long)slots);
    if (taken > 0)
        buffer_printf(&text, " and are bound to %llu of the %llu cores there",
                      (unsigned long long)taken, (unsigned long long)cores);
    if (job->instance->root->is_reduced)
        buffer_append_string(&text,
                             "; 'banyan node list' shows nodes that are drained, lost or spare");
    error_set(error, error->code, "%s%s", error->text, buffer_string(&text));
    buffer_fini(&text);
}

/* ---- the map ---- */

static int compute_map(struct job *job, const struct allocation *slots, struct error *error)
{
    int rc = placement_map_make(&job->map, &job->spec.placement, slots, error);

    if (rc == 0)
        rc = placement_map_check(&job->map, slots, error);
    if (rc == 0)
        placement_map_places(&job->map, &job->places);
    else
        placement_map_fini(&job->map);
    return rc;
}

/* The same map from the slots of the job's nodes only, as the nodes will make it. */
static int make_own(struct job *job, const struct job_view *left, struct error *error)
{
    struct placement *placement = &job->spec.placement;
    struct ranges own = {0};

    placement_map_resolve(&job->map, placement);
    placement_map_fini(&job->map);
    nodes_of_places(&job->places, &own);
    placement_machines_keep(&placement->machines, &own);
    ranges_fini(&own);
    view_own(job, &left->allocation, &job->own);
    return compute_map(job, &job->own.allocation, error);
}

/* What the nodes are like, as far as that is known; if the job binds, with the cores that others
 * have. */
static void give_machines(struct job *job)
{
    struct placement *placement = &job->spec.placement;
    const struct instance_root *root = job->instance->root;
    struct list_link *node, *spare;

    placement_machines_fini(&placement->machines);
    if (!placement_wants_topology(placement))
        return;
    placement_machines_merge(&placement->machines, &root->machines.known);
    if (!placement_binds(placement))
        return;
    list_for_each(&root->jobs, node, spare)
        placement_cores_take(&list_entry(node, struct job, node)->cores, &placement->machines);
}

/* Nodes of which it would have to be known what they are like, and is not. */
static void nodes_without(const struct job *job, struct ranges *ret_nodes)
{
    const struct placement *placement = &job->spec.placement;
    struct ranges known = {0};

    ranges_clear(ret_nodes);
    if (!placement_wants_topology(placement))
        return;
    placement_machines_nodes(&placement->machines, &known);
    ranges_add(ret_nodes, 0, allocation_nodes(job->instance->allocation) - 1);
    ranges_remove_all(ret_nodes, &known);
    ranges_fini(&known);
}

/* Of slots that others have left.  -EAGAIN if nodes have to be asked first. */
static int make_shared(struct job *job, const struct ranges *unknown, struct error *error)
{
    struct ranges without = {0};
    struct job_view left;
    int rc;

    nodes_without(job, &without);
    view_left(job, &without, &left);
    rc = compute_map(job, &left.allocation, error);
    if (!ranges_is_empty(unknown) && (rc < 0 || !is_settled(job, unknown))) {
        placement_map_fini(&job->map);
        rc = -EAGAIN;
    }
    if (rc == 0)
        rc = make_own(job, &left, error);
    job_view_fini(&left);
    ranges_fini(&without);
    return rc;
}

static int make_any(struct job *job, struct error *error)
{
    struct ranges candidates = {0}, unknown = {0};
    int rc;

    job_map_candidates(job, &candidates);
    job_map_unknown(job, &candidates, &unknown);
    give_machines(job);
    if (ranges_is_empty(&unknown))
        placement_cpus_settle(&job->spec.placement, job->instance->allocation);
    if (is_shared(job) || !ranges_is_empty(&unknown))
        rc = make_shared(job, &unknown, error);
    else
        rc = compute_map(job, job->instance->allocation, error);
    ranges_fini(&candidates);
    ranges_fini(&unknown);
    return rc;
}

/* Nodes that live and may take part of which something is not known that the map depends on. */
static int is_unknown(const struct job *job)
{
    struct ranges nodes = {0}, known = {0};
    int is;

    if (placement_require_open(&job->spec.placement, job->instance->allocation))
        return 1;
    nodes_without(job, &nodes);
    nodes_of_places(&job->instance->root->dead, &known);
    ranges_remove_all(&nodes, &known);
    ranges_remove_all(&nodes, &job->spec.placement.excluded);
    is = !ranges_is_empty(&nodes);
    ranges_fini(&nodes);
    ranges_fini(&known);
    return is;
}

int job_map_fits_alone(struct job *job)
{
    struct placement *placement = &job->spec.placement;
    struct ranges without = {0};
    struct error error;
    struct job_view all;
    int rc = 0;

    assert(job->map.apps_count == 0);
    placement_machines_fini(&placement->machines);
    if (placement_wants_topology(placement))
        placement_machines_merge(&placement->machines, &job->instance->root->machines.known);
    if (!is_unknown(job)) {
        nodes_without(job, &without);
        view_nodes(job, &without, 1, &all);
        rc = compute_map(job, &all.allocation, &error);
        placement_map_fini(&job->map);
        job_view_fini(&all);
    }
    ranges_clear(&job->places);
    ranges_fini(&without);
    return rc == 0;
}

int job_map_make(struct job *job, struct error *error)
{
    struct placement *placement = &job->spec.placement;
    int rc = placement_require_settle(placement, job->instance->allocation, error);

    assert(job->map.apps_count == 0 && job->cores.count == 0);
    ranges_clear(&job->places);
    if (rc < 0)
        return rc;
    rc = make_any(job, error);
    if (rc == -EAGAIN)
        return rc;
    if (rc < 0) {
        say_why(job, error);
        return rc;
    }
    node_pool_add_facts(job->instance->root->book, &placement->facts);
    placement_require_forget(placement);
    placement_map_resolve(&job->map, placement);
    job->spec.processes = job->map.processes;
    job_shares_make(&job->map, &job->places, &job->shares);
    if (placement_binds(placement))
        placement_cores_make(&job->cores, &job->map);
    return 0;
}

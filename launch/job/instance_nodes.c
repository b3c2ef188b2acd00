/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The nodes of an instance at its root: which can have new jobs, which a user has drained, and the list of them for
 * `banyan node`.  Nodes are drained as long as the instance lives or until they are resumed; their slots are then
 * missing from what new jobs, and clients that count slots, see.
 *
 * Cost: a list is O(n log n) of the shares of slots that jobs have, the runs of the roster and the ranges of nodes
 * that are not up.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "launch/job/instance.h"
#include "launch/job/instance_state.h"

/* ---- what new jobs may use ---- */

void instance_nodes_changed(struct instance *instance)
{
    struct instance_root *root = instance->root;
    struct ranges out = {0};

    ranges_copy(&out, &root->drained);
    ranges_add_all(&out, &root->absent);
    ranges_add_all(&out, &root->spares);
    if (root->policy == INSTANCE_STAYS || instance->spec->spares > 0)
        /* else a job is reported as lost with them */
        ranges_add_all(&out, &root->dead);
    job_view_fini(&root->usable);
    job_view_without(&root->usable, instance->allocation, &out);
    root->is_reduced = !ranges_is_empty(&out);
    root->slots_moved = 1; /* a job that waits may fit now, or never */
    ranges_fini(&out);
}

const struct allocation *instance_usable(const struct instance *instance)
{
    assert(instance->root != NULL);
    return &instance->root->usable.allocation;
}

/* ---- names ---- */

int instance_nodes_find(const struct instance *instance, const char *names,
                        struct ranges *ret_places, struct error *error)
{
    struct hostlist *list = hostlist_create();
    int rc = hostlist_parse(list, names, error);

    if (rc < 0)
        error_prefix(error, "list of nodes");
    else if (hostlist_count(list) == 0)
        rc = error_set(error, -EINVAL, "no node is named");
    for (uint32_t i = 0; rc == 0 && i < hostlist_count(list); i++) {
        char name[HOST_NAME_BYTES_MAX + 1];
        uint32_t node;

        hostlist_name(list, i, name);
        rc = node_pool_lookup(instance->root->book, NULL, name, &node, error);
        if (rc == 0)
            ranges_add(ret_places, node + 1, node + 1);
    }
    hostlist_destroy(list);
    return rc;
}

int instance_nodes_are_new(const struct instance *instance, const struct hostlist *names,
                           struct error *error)
{
    char name[HOST_NAME_BYTES_MAX + 1];
    uint32_t node;

    for (uint32_t i = 0; i < hostlist_count(names); i++) {
        hostlist_name(names, i, name);
        if (node_pool_lookup(instance->root->book, NULL, name, &node, NULL) == 0)
            return error_set(error, -EEXIST, "node %s is part of the instance already", name);
    }
    return 0;
}

void instance_nodes_all(const struct instance *instance, struct ranges *ret_places)
{
    ranges_clear(ret_places);
    ranges_add(ret_places, 1, allocation_nodes(instance->allocation));
    ranges_remove_all(ret_places, &instance->root->removed);
}

/* Beside those that have processes there, jobs that have asked there what the nodes are like. */
void instance_nodes_users(const struct instance *instance, const struct ranges *places,
                          struct ranges *ret_jobs)
{
    struct list_link *node, *spare;

    ranges_clear(ret_jobs);
    list_for_each(&instance->root->jobs, node, spare)
    {
        const struct job *job = list_entry(node, struct job, node);

        if (ranges_overlap_set(&job->places, places))
            ranges_add(ret_jobs, job->number, job->number);
    }
}

void instance_nodes_staying(const struct instance *instance, const struct ranges *places,
                            struct ranges *ret_places)
{
    ranges_copy(ret_places, places);
    ranges_remove_all(ret_places, &instance->root->removed);
}

int instance_nodes_can_change(const struct instance *instance)
{
    return instance->root->phase == INSTANCE_UP;
}

int instance_nodes_have_left(const struct instance *instance, const struct ranges *places)
{
    return ranges_contains_all(&instance->root->dead, places);
}

int instance_nodes_resumable(const struct instance *instance, const struct ranges *places,
                             struct error *error)
{
    char name[HOST_NAME_BYTES_MAX + 1];
    struct ranges lost = {0};
    uint32_t first = 0;
    int has_lost;

    ranges_intersect(places, &instance->root->dead, &lost);
    has_lost = ranges_next(&lost, 0, &first);
    ranges_fini(&lost);
    if (!has_lost)
        return 0;
    hostlist_name(instance->allocation->names, first - 1, name);
    return error_set(error, -EHOSTDOWN, "node %s is lost: it cannot be resumed", name);
}

/* ---- the list ---- */

/* At a node (index) something begins or ends: of a job, or only that nodes may differ from there on. */
struct node_edge {
    uint32_t node;
    uint32_t job;  /* 0: none */
    int64_t slots; /* of the job: > 0: it begins, < 0: it has ended */
};

struct node_edges {
    struct node_edge *items;
    uint32_t count;
    uint32_t capacity;
};

static void edge_add(struct node_edges *edges, uint32_t node, uint32_t job, int64_t slots)
{
    if (edges->count == edges->capacity) {
        edges->capacity = edges->capacity > 0 ? 2 * edges->capacity : 64;
        edges->items = memory_resize(edges->items, edges->capacity * sizeof(*edges->items));
    }
    edges->items[edges->count++] = (struct node_edge){.node = node, .job = job, .slots = slots};
}

static void edges_of_places(struct node_edges *edges, const struct ranges *places)
{
    for (uint32_t i = 0; i < places->count; i++) {
        edge_add(edges, places->items[i].first - 1, 0, 0);
        edge_add(edges, places->items[i].last, 0, 0);
    }
}

static void edges_of_job(struct node_edges *edges, const struct job *job)
{
    for (uint32_t i = 0; i < job->shares.count; i++) {
        const struct pool_share *share = &job->shares.items[i];

        edge_add(edges, share->nodes.first, job->number, share->slots);
        edge_add(edges, share->nodes.last + 1, job->number, -(int64_t)share->slots);
    }
}

/* What ends at a node comes before what begins there. */
static int compare_edges(const void *a, const void *b)
{
    const struct node_edge *left = a, *right = b;

    if (left->node != right->node)
        return left->node < right->node ? -1 : 1;
    return (left->slots > right->slots) - (left->slots < right->slots);
}

static void edges_make(const struct instance *instance, const struct ranges *places,
                       struct node_edges *ret_edges)
{
    const struct instance_root *root = instance->root;
    const struct allocation *roster = instance->allocation;
    struct list_link *node, *spare;
    uint32_t first = 0;

    for (uint32_t i = 0; i < roster->runs_count; i++) {
        edge_add(ret_edges, first, 0, 0);
        first += roster->runs[i].nodes;
    }
    edges_of_places(ret_edges, &root->dead);
    edges_of_places(ret_edges, &root->drained);
    edges_of_places(ret_edges, &root->spares);
    edges_of_places(ret_edges, places);
    list_for_each(&root->jobs, node, spare)
        edges_of_job(ret_edges, list_entry(node, struct job, node));
    qsort(ret_edges->items, ret_edges->count, sizeof(*ret_edges->items), compare_edges);
}

static enum node_list_state state_of(const struct instance_root *root, uint32_t place, int is_used)
{
    if (ranges_contains(&root->dead, place))
        return NODE_LIST_LOST;
    if (!ranges_contains(&root->drained, place))
        return ranges_contains(&root->spares, place) ? NODE_LIST_SPARE : NODE_LIST_UP;
    return is_used ? NODE_LIST_DRAINING : NODE_LIST_DRAINED;
}

/* Where a walk over the nodes stands. */
struct node_walk {
    const struct instance *instance;
    const struct ranges *places;
    struct ranges jobs;
    int64_t used;
    struct node_list *list;
};

/* Nodes first to last, which are alike.  Equal neighbours are joined. */
static void walk_stretch(struct node_walk *walk, uint32_t first, uint32_t last)
{
    const struct allocation *roster = walk->instance->allocation;
    struct node_list *list = walk->list;
    struct node_list_group *before = NULL, *group;

    assert(first <= last && walk->used >= 0);
    if (!ranges_contains(walk->places, first + 1))
        return;
    hostlist_append_slice(list->names, roster->names, first, last - first + 1);
    group = node_list_add(list, last - first + 1);
    if (list->groups_count > 1)
        before = group - 1;
    group->state =
        (uint8_t)state_of(walk->instance->root, first + 1, !ranges_is_empty(&walk->jobs));
    group->slots = allocation_slots_of(roster, first);
    group->used = (uint32_t)walk->used;
    ranges_copy(&group->jobs, &walk->jobs);
    if (before != NULL && node_list_is_equal(before, group)) {
        before->nodes += group->nodes;
        ranges_fini(&group->jobs);
        list->groups_count--;
    }
}

static void walk_edge(struct node_walk *walk, const struct node_edge *edge)
{
    walk->used += edge->slots;
    if (edge->slots > 0)
        ranges_add(&walk->jobs, edge->job, edge->job);
    else if (edge->slots < 0)
        ranges_remove(&walk->jobs, edge->job, edge->job);
}

void instance_nodes_list(const struct instance *instance, const struct ranges *places,
                         struct node_list *ret_list)
{
    struct node_walk walk = {.instance = instance, .places = places, .list = ret_list};
    uint32_t nodes = allocation_nodes(instance->allocation);
    struct node_edges edges = {.count = 0};

    assert(instance->root != NULL && hostlist_count(ret_list->names) == 0);
    ret_list->version = instance->roster_version;
    ret_list->radix = instance->spec->radix;
    ret_list->places = instance->spec->places;
    ranges_copy(&ret_list->out, &instance->root->dead);
    ranges_add_all(&ret_list->out, &instance->root->removed);
    edges_make(instance, places, &edges);
    for (uint32_t i = 0; i < edges.count; i++) {
        uint32_t next = i + 1 < edges.count ? edges.items[i + 1].node : nodes;

        walk_edge(&walk, &edges.items[i]);
        if (next > nodes)
            next = nodes;
        if (next > edges.items[i].node)
            walk_stretch(&walk, edges.items[i].node, next - 1);
    }
    assert(hostlist_count(ret_list->names) == ranges_count(places));
    ranges_fini(&walk.jobs);
    free(edges.items);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plugin that chooses the free nodes that are nearest to each other, by the costs of
 * libbanyan-fabric: for each free node, the sum of the costs to and from the count - 1 free nodes next to
 * it; those around the node with the smallest sum are chosen, the first in the list among equals.  Where
 * costs obey the triangle inequality the sum over all pairs is less than twice the smallest possible.
 *
 * Cost: O(free^2 * log(free)) time, a quarter of a second for 1,000 free nodes at most, and O(free) memory.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <banyan/fabric.h>

#include <errno.h>
#include <node_selector.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first vertex of a node. */
struct node {
    char *name;
    uint32_t vertex;
};

struct nearest {
    struct banyan_fabric_source *source;
    struct banyan_fabric fabric;
    struct node *nodes; /* by name */
    size_t nodes_count;

    /* Choosers read; an update waits until there is none, and chooses none meanwhile. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned int choosers;
    int is_updating;
};

/* A free node as seen from another. */
struct distance {
    uint32_t cost;
    uint32_t position; /* in the list of free nodes */
};

/* ---- Nodes by name ---- */

static int compare_nodes(const void *a, const void *b)
{
    const struct node *left = a, *right = b;
    int order = strcmp(left->name, right->name);

    return order != 0 ? order : (left->vertex > right->vertex) - (left->vertex < right->vertex);
}

static int compare_name(const void *name, const void *node)
{
    return strcmp(name, ((const struct node *)node)->name);
}

static void forget_nodes(struct nearest *nearest)
{
    for (size_t i = 0; i < nearest->nodes_count; i++)
        free(nearest->nodes[i].name);
    free(nearest->nodes);
    nearest->nodes = NULL;
    nearest->nodes_count = 0;
}

/* Without memory there are no nodes, and no choice can be made. */
static void learn_nodes(struct nearest *nearest)
{
    const struct banyan_fabric *fabric = &nearest->fabric;
    struct banyan_fabric_vertex vertex;
    size_t kept = 0;

    nearest->nodes = calloc(fabric->nverts + 1, sizeof(*nearest->nodes));
    if (nearest->nodes == NULL)
        return;
    for (uint32_t i = 0; i < fabric->nverts; i++) {
        nearest->nodes[i].vertex = i;
        if (banyan_fabric_get_vertex_info(fabric, i, &vertex, &nearest->nodes[i].name) < 0)
            break;
        nearest->nodes_count++;
    }
    qsort(nearest->nodes, nearest->nodes_count, sizeof(*nearest->nodes), compare_nodes);
    for (size_t i = 0; i < nearest->nodes_count; i++) {
        if (kept > 0 && strcmp(nearest->nodes[kept - 1].name, nearest->nodes[i].name) == 0)
            free(nearest->nodes[i].name);
        else
            nearest->nodes[kept++] = nearest->nodes[i];
    }
    nearest->nodes_count = kept;
}

/* ---- Updates ---- */

static void handle(void *user, enum banyan_fabric_event event, struct banyan_fabric *fabric)
{
    struct nearest *nearest = user;

    (void)fabric;
    pthread_mutex_lock(&nearest->lock);
    if (event == BANYAN_FABRIC_UPDATE_PENDING) {
        nearest->is_updating = 1;
        while (nearest->choosers > 0)
            pthread_cond_wait(&nearest->changed, &nearest->lock);
    } else {
        forget_nodes(nearest);
        learn_nodes(nearest);
        nearest->is_updating = 0;
        pthread_cond_broadcast(&nearest->changed);
    }
    pthread_mutex_unlock(&nearest->lock);
}

static void choosing_begin(struct nearest *nearest)
{
    pthread_mutex_lock(&nearest->lock);
    while (nearest->is_updating)
        pthread_cond_wait(&nearest->changed, &nearest->lock);
    nearest->choosers++;
    pthread_mutex_unlock(&nearest->lock);
}

static void choosing_end(struct nearest *nearest)
{
    pthread_mutex_lock(&nearest->lock);
    nearest->choosers--;
    pthread_cond_broadcast(&nearest->changed);
    pthread_mutex_unlock(&nearest->lock);
}

/* ---- Choosing ---- */

static int compare_distances(const void *a, const void *b)
{
    const struct distance *left = a, *right = b;

    if (left->cost != right->cost)
        return left->cost > right->cost ? 1 : -1;
    return (left->position > right->position) - (left->position < right->position);
}

static int compare_positions(const void *a, const void *b)
{
    size_t left = *(const size_t *)a, right = *(const size_t *)b;

    return (left > right) - (left < right);
}

/* The free nodes by their distance from one of them; the sum of the nearest. */
static uint64_t sort_around(const struct banyan_fabric *fabric, const uint32_t *vertices,
                            size_t free_count, size_t count, size_t center,
                            struct distance *ret_distances)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < free_count; i++) {
        int there = banyan_fabric_get_cost(fabric, vertices[center], vertices[i]);
        int back = banyan_fabric_get_cost(fabric, vertices[i], vertices[center]);

        ret_distances[i].cost = (uint32_t)there + (uint32_t)back;
        ret_distances[i].position = (uint32_t)i;
    }
    qsort(ret_distances, free_count, sizeof(*ret_distances), compare_distances);
    for (size_t i = 0; i < count; i++)
        sum += ret_distances[i].cost;
    return sum;
}

static void choose_around_best(const struct banyan_fabric *fabric, const uint32_t *vertices,
                               size_t free_count, size_t count, struct distance *distances,
                               size_t *ret_chosen)
{
    uint64_t best = UINT64_MAX;

    for (size_t center = 0; center < free_count; center++) {
        uint64_t sum = sort_around(fabric, vertices, free_count, count, center, distances);

        if (sum >= best)
            continue;
        best = sum;
        for (size_t i = 0; i < count; i++)
            ret_chosen[i] = distances[i].position;
    }
    qsort(ret_chosen, count, sizeof(*ret_chosen), compare_positions);
}

static int find_vertices(const struct nearest *nearest, const char *const *free_nodes,
                         size_t free_count, uint32_t *ret_vertices, char *error, size_t error_bytes)
{
    for (size_t i = 0; i < free_count; i++) {
        const struct node *node = bsearch(free_nodes[i], nearest->nodes, nearest->nodes_count,
                                          sizeof(*nearest->nodes), compare_name);

        if (node == NULL) {
            snprintf(error, error_bytes, "node %.200s is not in the fabric", free_nodes[i]);
            return -ENOENT;
        }
        ret_vertices[i] = node->vertex;
    }
    return 0;
}

static int nearest_choose(void *state, const char *const *free_nodes, size_t free_count,
                          size_t count, size_t *ret_chosen, char *error, size_t error_bytes)
{
    struct nearest *nearest = state;
    uint32_t *vertices = malloc((free_count + 1) * sizeof(*vertices));
    struct distance *distances = malloc((free_count + 1) * sizeof(*distances));
    int rc = 0;

    if (vertices == NULL || distances == NULL) {
        snprintf(error, error_bytes, "no memory to choose of %zu nodes", free_count);
        rc = -ENOMEM;
    } else if (count > free_count) {
        snprintf(error, error_bytes, "%zu nodes were asked for, %zu are free", count, free_count);
        rc = -EINVAL;
    } else {
        choosing_begin(nearest);
        rc = find_vertices(nearest, free_nodes, free_count, vertices, error, error_bytes);
        if (rc == 0)
            choose_around_best(&nearest->fabric, vertices, free_count, count, distances,
                               ret_chosen);
        choosing_end(nearest);
    }
    free(distances);
    free(vertices);
    return rc;
}

/* ---- Opening and closing ---- */

static void print_report(void *user, const char *line)
{
    (void)user;
    fprintf(stderr, "nearest: %s\n", line);
}

static void nearest_close(void *state)
{
    struct nearest *nearest = state;

    (void)banyan_fabric_deregister(&nearest->fabric, NULL);
    (void)banyan_fabric_close(nearest->source);
    forget_nodes(nearest);
    pthread_cond_destroy(&nearest->changed);
    pthread_mutex_destroy(&nearest->lock);
    free(nearest);
}

static int nearest_open(const char *topology, void **ret_state, char *error, size_t error_bytes)
{
    static const struct banyan_fabric fabric = BANYAN_FABRIC_NONE;
    struct banyan_fabric_directives directives = {.matrix = BANYAN_FABRIC_MATRIX_NONE};
    struct banyan_fabric_settings settings = {
        .topology = topology, .role = BANYAN_FABRIC_ROLE_SCHEDULER, .report = print_report};
    struct banyan_fabric_error why = {.code = 0, .text = "no memory"};
    struct nearest *nearest = calloc(1, sizeof(*nearest));
    int rc = -ENOMEM;

    if (nearest != NULL) {
        nearest->fabric = fabric;
        pthread_mutex_init(&nearest->lock, NULL);
        pthread_cond_init(&nearest->changed, NULL);
        rc = banyan_fabric_open(&settings, &nearest->source, &why);
    }
    if (rc == 0)
        rc = banyan_fabric_register(nearest->source, &nearest->fabric, &directives, &why);
    if (rc < 0) {
        snprintf(error, error_bytes, "%s", why.text);
        if (nearest != NULL)
            nearest_close(nearest);
        return rc;
    }
    learn_nodes(nearest);
    banyan_fabric_add_handler(&nearest->fabric, handle, nearest);
    *ret_state = nearest;
    return 0;
}

const struct node_selector node_selector = {.name = "nearest",
                                            .open = nearest_open,
                                            .choose = nearest_choose,
                                            .close = nearest_close};

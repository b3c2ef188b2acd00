/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/topology/fabric_order.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void fabric_order_find(const struct fabric_model *model, const struct hostlist *names,
                       uint32_t *ret_vertices)
{
    uint32_t *firsts = memory_allocate((model->nodes_count + 1) * sizeof(*firsts));
    char name[HOST_NAME_BYTES_MAX + 1];

    for (uint32_t i = model->vertices_count; i > 0; i--) {
        assert(model->vertices[i - 1].node < model->nodes_count);
        firsts[model->vertices[i - 1].node] = i - 1;
    }
    for (uint32_t i = 0; i < hostlist_count(names); i++) {
        uint32_t node;

        hostlist_name(names, i, name);
        node = fabric_model_find_host(model, name);
        ret_vertices[i] = node != FABRIC_NONE ? firsts[node] : FABRIC_NONE;
    }
    free(firsts);
}

/* A node and its way to the top: for each level from the highest on the index of the first node that is listed of
 * those below the same switch.  Two switches beside each other have no node in common, so they differ in it. */
struct key {
    uint32_t node;
    uint32_t top;
};

struct sorting {
    const struct fabric_model *model;
    uint32_t *firsts; /* of each switch */
};

static void switch_path(const struct fabric_model *model, uint32_t top,
                        uint32_t path[FABRIC_LEVELS_MAX])
{
    assert(model->switches[top].depth < FABRIC_LEVELS_MAX);
    for (; top != FABRIC_NONE; top = model->switches[top].parent)
        path[model->switches[top].depth] = top;
}

static int compare_numbers(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

/* Where one's switch is above the other's, that node stands beside the switches there. */
static int compare_keys(const void *a, const void *b, void *context)
{
    const struct key *left = a, *right = b;
    const struct sorting *sorting = context;
    const struct fabric_switch *switches = sorting->model->switches;
    uint32_t left_path[FABRIC_LEVELS_MAX], right_path[FABRIC_LEVELS_MAX];
    uint32_t left_depth, right_depth, at = 0;

    if (left->top == right->top || left->top == FABRIC_NONE || right->top == FABRIC_NONE)
        return left->top == right->top
                   ? compare_numbers(left->node, right->node)
                   : compare_numbers(left->top == FABRIC_NONE, right->top == FABRIC_NONE);
    left_depth = switches[left->top].depth;
    right_depth = switches[right->top].depth;
    switch_path(sorting->model, left->top, left_path);
    switch_path(sorting->model, right->top, right_path);
    while (at <= left_depth && at <= right_depth && left_path[at] == right_path[at])
        at++;
    return compare_numbers(at > left_depth ? left->node : sorting->firsts[left_path[at]],
                           at > right_depth ? right->node : sorting->firsts[right_path[at]]);
}

uint32_t fabric_order_make(const struct fabric_model *model, const uint32_t *vertices,
                           uint32_t count, uint32_t *ret_nodes)
{
    struct sorting sorting = {.model = model};
    struct key *keys = memory_allocate(count * sizeof(*keys));
    uint32_t unknown = 0;

    assert(model->is_settled);
    sorting.firsts = memory_allocate(model->switches_count * sizeof(*sorting.firsts));
    memset(sorting.firsts, 0xff, model->switches_count * sizeof(*sorting.firsts));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t top = FABRIC_NONE;

        if (vertices[i] != FABRIC_NONE)
            top = model->vertices[vertices[i]].top;
        keys[i] = (struct key){.node = i, .top = top};
        unknown += top == FABRIC_NONE;
        for (uint32_t at = top; at != FABRIC_NONE && sorting.firsts[at] == UINT32_MAX;
             at = model->switches[at].parent)
            sorting.firsts[at] = i;
    }
    if (count > 1)
        qsort_r(keys, count, sizeof(*keys), compare_keys, &sorting);
    for (uint32_t i = 0; i < count; i++)
        ret_nodes[i] = keys[i].node;
    free(sorting.firsts);
    free(keys);
    return unknown;
}

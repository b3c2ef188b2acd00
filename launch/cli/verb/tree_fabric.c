/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/tree_fabric.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"
#include "fabric/topology/fabric_order.h"

void tree_fabric_init(struct tree_fabric *ret_fabric, const struct fabric_model *model,
                      const struct hostlist *names, const char *root)
{
    struct hostlist *own = hostlist_create();
    uint32_t places = hostlist_count(names) + 1;

    assert(model->is_settled);
    *ret_fabric = (struct tree_fabric){.model = model, .places = places};
    ret_fabric->vertices = memory_allocate(places * sizeof(*ret_fabric->vertices));
    hostlist_append(own, root);
    fabric_order_find(model, own, ret_fabric->vertices);
    fabric_order_find(model, names, ret_fabric->vertices + 1);
    hostlist_destroy(own);
}

void tree_fabric_fini(struct tree_fabric *fabric)
{
    free(fabric->vertices);
    *fabric = (struct tree_fabric){.vertices = NULL};
}

uint32_t tree_fabric_vertex(const struct tree_fabric *fabric, uint32_t place)
{
    if (fabric == NULL)
        return FABRIC_NONE;
    assert(place < fabric->places);
    return fabric->vertices[place];
}

int tree_fabric_is_beside(const struct tree_fabric *fabric, uint32_t vertex, uint32_t other)
{
    if (vertex == FABRIC_NONE || other == FABRIC_NONE)
        return vertex == other;
    return fabric->model->vertices[vertex].top == fabric->model->vertices[other].top;
}

const char *tree_fabric_switch(const struct tree_fabric *fabric, uint32_t vertex)
{
    const struct fabric_model *model;

    if (fabric == NULL || vertex == FABRIC_NONE)
        return "-";
    model = fabric->model;
    return fabric_model_name(model, model->switches[model->vertices[vertex].top].name);
}

uint16_t tree_fabric_cost(const struct tree_fabric *fabric, uint32_t from, uint32_t to)
{
    uint32_t one = tree_fabric_vertex(fabric, from), other = tree_fabric_vertex(fabric, to);
    uint16_t there, back;

    if (one == FABRIC_NONE || other == FABRIC_NONE)
        return FABRIC_COST_NO_WAY;
    there = fabric_model_cost(fabric->model, one, other);
    back = fabric_model_cost(fabric->model, other, one);
    return there > back ? there : back;
}

/* ---- sums ---- */

struct edges {
    uint32_t count;
    uint32_t known;  /* of which the cost is known */
    uint32_t inside; /* one switch */
    uint64_t cost;
    uint16_t cost_max;
};

static void edges_add(struct edges *edges, uint16_t cost, int is_inside)
{
    edges->count++;
    if (cost == FABRIC_COST_NO_WAY)
        return;
    edges->known++;
    edges->inside += is_inside != 0;
    edges->cost += cost;
    edges->cost_max = cost > edges->cost_max ? cost : edges->cost_max;
}

/* A parent comes before its children.  Returns the number of levels. */
static uint32_t count_edges(const struct tree_fabric *fabric, const struct tree *tree,
                            struct edges *all, struct edges levels[TREE_DEPTH_MAX + 2])
{
    uint32_t population = tree_population(tree), deepest = 0;
    uint8_t *depths = memory_allocate_zeroed(population);

    assert(population <= fabric->places);
    for (uint32_t place = 1; place < population; place++) {
        uint32_t parent;
        uint16_t cost;
        int is_inside;

        if (tree->dead != NULL && ranges_contains(tree->dead, place))
            continue;
        parent = tree_parent(tree, place);
        cost = tree_fabric_cost(fabric, parent, place);
        is_inside =
            tree_fabric_is_beside(fabric, fabric->vertices[parent], fabric->vertices[place]);
        assert(parent < place && depths[parent] < TREE_DEPTH_MAX + 1);
        depths[place] = (uint8_t)(depths[parent] + 1);
        deepest = depths[place] > deepest ? depths[place] : deepest;
        edges_add(all, cost, is_inside);
        edges_add(&levels[depths[place]], cost, is_inside);
    }
    free(depths);
    return deepest;
}

static void edges_text(const struct edges *edges, struct buffer *out)
{
    buffer_printf(out, "%7u %10u %10llu %5u\n", edges->count, edges->inside,
                  (unsigned long long)edges->cost, edges->cost_max);
}

void tree_fabric_text(const struct tree_fabric *fabric, const struct tree *tree, struct buffer *out)
{
    struct edges all = {0}, levels[TREE_DEPTH_MAX + 2] = {{0}};
    uint32_t deepest = count_edges(fabric, tree, &all, levels);

    buffer_append_string(out, "LEVEL   EDGES  IN SWITCH       COST   MAX\n");
    for (uint32_t level = 1; level <= deepest; level++) {
        buffer_printf(out, "%5u ", level);
        edges_text(&levels[level], out);
    }
    buffer_append_string(out, "  all ");
    edges_text(&all, out);
    if (all.known < all.count)
        buffer_printf(out, "%u of the edges are not in the model of the fabric\n",
                      all.count - all.known);
}

static json_t *edges_json(const struct edges *edges)
{
    return json_pack("{s:i, s:i, s:i, s:I, s:i}", "count", (int)edges->count, "known",
                     (int)edges->known, "in_switch", (int)edges->inside, "cost",
                     (json_int_t)edges->cost, "cost_max", (int)edges->cost_max);
}

json_t *tree_fabric_json(const struct tree_fabric *fabric, const struct tree *tree)
{
    struct edges all = {0}, levels[TREE_DEPTH_MAX + 2] = {{0}};
    uint32_t deepest = count_edges(fabric, tree, &all, levels);
    json_t *document = edges_json(&all), *list = json_array();

    for (uint32_t level = 1; level <= deepest; level++)
        json_array_append_new(list, edges_json(&levels[level]));
    json_object_set_new(document, "levels", list);
    return document;
}

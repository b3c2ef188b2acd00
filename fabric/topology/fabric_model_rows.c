/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whole rows of costs.  A way from a vertex to any vertex of one switch costs the same up to that
 * switch, so a row first computes that for each switch, O(switches * levels), and then adds the last
 * link of each column.  Consecutive rows of one switch share what was computed.
 */
#include "config.h"

#include "fabric/topology/fabric_model.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"

#define NO_WAY (UINT32_MAX / 2) /* above all sums, and two links can be added to it */

/* From the vertices of switch `from`, without their links, to those of switch `to`, likewise. */
static uint32_t cost_between(const struct fabric_model *model, uint32_t from, uint32_t to)
{
    uint32_t sum = 0;

    while (from != to) {
        const struct fabric_switch *up = &model->switches[from], *down = &model->switches[to];

        if (up->depth >= down->depth) {
            if (up->parent == FABRIC_NONE)
                return NO_WAY;
            sum += up->link.up;
            from = up->parent;
        } else {
            sum += down->link.down;
            to = down->parent;
        }
    }
    return sum + model->switches[from].across;
}

static void costs_from(const struct fabric_model *model, uint32_t from, uint32_t *ret_costs)
{
    for (uint32_t to = 0; to < model->switches_count; to++)
        ret_costs[to] = cost_between(model, from, to);
}

static uint16_t bounded(uint32_t sum)
{
    if (sum < FABRIC_COST_MAX)
        return (uint16_t)sum;
    return sum < NO_WAY ? FABRIC_COST_MAX : FABRIC_COST_NO_WAY;
}

static void copy_row(const struct fabric_model *model, uint32_t row, const uint32_t *vertices,
                     uint32_t vertices_count, uint16_t *ret_costs)
{
    const uint16_t *costs = model->matrix + (size_t)row * model->vertices_count;

    for (uint32_t i = 0; i < vertices_count; i++)
        ret_costs[i] = costs[vertices != NULL ? vertices[i] : i];
}

static void fill_row(const struct fabric_model *model, uint32_t row, const uint32_t *vertices,
                     uint32_t vertices_count, const uint32_t *costs, uint16_t *ret_costs)
{
    const struct fabric_vertex *source = &model->vertices[row];

    for (uint32_t i = 0; i < vertices_count; i++) {
        uint32_t column = vertices != NULL ? vertices[i] : i;
        const struct fabric_vertex *target = &model->vertices[column];

        if (target->node == source->node)
            ret_costs[i] = column == row ? 0 : FABRIC_COST_SAME_NODE;
        else
            ret_costs[i] = bounded(source->link.up + costs[target->top] + target->link.down);
    }
}

void fabric_model_rows(const struct fabric_model *model, const uint32_t *vertices,
                       uint32_t vertices_count, uint32_t first, uint32_t count, uint16_t *ret_costs)
{
    uint32_t *costs = memory_allocate(model->switches_count * sizeof(*costs));
    uint32_t top = FABRIC_NONE;

    assert(model->is_settled && (uint64_t)first + count <= vertices_count);
    assert(vertices != NULL || vertices_count == model->vertices_count);
    for (uint32_t i = first; i < first + count; i++) {
        uint32_t row = vertices != NULL ? vertices[i] : i;

        if (model->matrix != NULL) {
            copy_row(model, row, vertices, vertices_count,
                     ret_costs + (uint64_t)(i - first) * vertices_count);
            continue;
        }
        if (model->vertices[row].top != top) {
            top = model->vertices[row].top;
            costs_from(model, top, costs);
        }
        fill_row(model, row, vertices, vertices_count, costs,
                 ret_costs + (uint64_t)(i - first) * vertices_count);
    }
    free(costs);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/rank/rank_fabric.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The vertices of a plane, and which of them are meant, by their numbers in the plane. */
struct choice {
    uint32_t plane;
    uint32_t *vertices;
    uint32_t count;
    uint32_t *meant;
    uint32_t meant_count;
};

static int choose_plane(const struct fabric_model *model, const struct pmi_fabric_query *query,
                        uint32_t *ret_plane)
{
    uint32_t plane =
        query->plane != NULL ? fabric_model_find_plane(model, query->plane) : query->plane_index;

    if (plane >= model->planes_count)
        return -ENOENT;
    *ret_plane = plane;
    return 0;
}

static bool is_meant(const struct fabric_model *model, const struct pmi_fabric_query *query,
                     uint32_t vertex, uint32_t number)
{
    const struct fabric_vertex *own = &model->vertices[vertex];

    return (query->device == PMI_FABRIC_ALL || query->device == number) &&
           (query->device_name == NULL ||
            strcmp(query->device_name, fabric_model_name(model, own->name)) == 0) &&
           (query->node == NULL ||
            strcmp(query->node, fabric_model_name(model, model->nodes[own->node])) == 0);
}

static int choose(const struct fabric_model *model, const struct pmi_fabric_query *query,
                  struct choice *choice)
{
    int rc = choose_plane(model, query, &choice->plane);

    if (rc < 0)
        return rc;
    choice->vertices = memory_allocate(model->vertices_count * sizeof(*choice->vertices));
    choice->meant = memory_allocate(model->vertices_count * sizeof(*choice->meant));
    for (uint32_t i = 0; i < model->vertices_count; i++) {
        if (model->vertices[i].plane != choice->plane)
            continue;
        if (is_meant(model, query, i, choice->count))
            choice->meant[choice->meant_count++] = choice->count;
        choice->vertices[choice->count++] = i;
    }
    if (query->device != PMI_FABRIC_ALL && query->device >= choice->count)
        return -EINVAL;
    return choice->meant_count == 0 ? -ENOENT : 0;
}

static void add_planes(const struct fabric_model *model, struct pmi_fabric_facts *facts)
{
    facts->planes_count =
        model->planes_count < PMI_FABRIC_PLANES_MAX ? model->planes_count : PMI_FABRIC_PLANES_MAX;
    if (facts->plane >= facts->planes_count) /* its name is needed */
        facts->planes_count = facts->plane + 1;
    facts->planes = memory_allocate_zeroed(facts->planes_count * sizeof(*facts->planes));
    for (uint32_t i = 0; i < facts->planes_count; i++)
        facts->planes[i] = memory_copy_string(fabric_model_name(model, model->planes[i]));
}

/* Of each switch and vertex, how many before it have the same switch above them. */
struct numbers {
    uint32_t *switches;
    uint32_t *vertices;
};

static struct numbers number_all(const struct fabric_model *model)
{
    uint32_t *below = memory_allocate_zeroed((model->switches_count + 1) * sizeof(*below));
    struct numbers numbers = {
        .switches = memory_allocate(model->switches_count * sizeof(*numbers.switches)),
        .vertices = memory_allocate(model->vertices_count * sizeof(*numbers.vertices))};

    for (uint32_t i = 0; i < model->switches_count; i++) {
        uint32_t parent = model->switches[i].parent;

        numbers.switches[i] = below[parent == FABRIC_NONE ? model->switches_count : parent]++;
    }
    for (uint32_t i = 0; i < model->switches_count; i++)
        below[i] = 0;
    for (uint32_t i = 0; i < model->vertices_count; i++)
        numbers.vertices[i] = below[model->vertices[i].top]++;
    free(below);
    return numbers;
}

static uint32_t *place_of(const struct fabric_model *model, const struct numbers *numbers,
                          uint32_t vertex, uint32_t dims)
{
    uint32_t *place = memory_allocate_zeroed(dims * sizeof(*place));

    for (uint32_t at = model->vertices[vertex].top; at != FABRIC_NONE;
         at = model->switches[at].parent) {
        assert(model->switches[at].depth + 1u < dims);
        place[model->switches[at].depth] = numbers->switches[at];
    }
    place[dims - 1] = numbers->vertices[vertex];
    return place;
}

static void add_devices(const struct fabric_model *model, const struct choice *choice,
                        struct pmi_fabric_facts *facts)
{
    struct numbers numbers = number_all(model);

    facts->list_count = choice->meant_count;
    facts->list = memory_allocate_zeroed(facts->list_count * sizeof(*facts->list));
    for (uint32_t i = 0; i < facts->list_count; i++) {
        uint32_t number = choice->meant[i];
        const struct fabric_vertex *vertex = &model->vertices[choice->vertices[number]];
        struct nic_facts known;

        facts->list[i] = (struct pmi_fabric_device){
            .index = number,
            .place = place_of(model, &numbers, choice->vertices[number], facts->dims),
            .name = memory_copy_string(fabric_model_name(model, vertex->name)),
            .node = memory_copy_string(fabric_model_name(model, model->nodes[vertex->node])),
            .switch_name =
                memory_copy_string(fabric_model_name(model, model->switches[vertex->top].name)),
            .up = vertex->link.up,
            .down = vertex->link.down,
        };
        if (fabric_model_facts(model, choice->vertices[number], &known))
            facts->list[i].facts = memory_copy(&known, sizeof(known));
    }
    free(numbers.switches);
    free(numbers.vertices);
}

/* Neighbours in the plane are made together. */
static void add_costs(const struct fabric_model *model, const struct choice *choice,
                      struct pmi_fabric_facts *facts)
{
    uint32_t next;

    facts->rows_count = choice->meant_count;
    facts->rows = memory_copy(choice->meant, facts->rows_count * sizeof(*facts->rows));
    facts->costs =
        memory_allocate((size_t)facts->rows_count * choice->count * sizeof(*facts->costs));
    for (uint32_t i = 0; i < facts->rows_count; i = next) {
        for (next = i + 1;
             next < facts->rows_count && facts->rows[next] == facts->rows[next - 1] + 1;)
            next++;
        fabric_model_rows(model, choice->vertices, choice->count, facts->rows[i], next - i,
                          facts->costs + (size_t)i * choice->count);
    }
}

static void describe(const struct fabric_model *model, const struct pmi_fabric_query *query,
                     const struct choice *choice, struct buffer *answer)
{
    struct pmi_fabric_facts facts = {
        .plane = choice->plane, .devices = choice->count, .dims = fabric_model_levels(model) + 1};
    uint64_t costs = (uint64_t)choice->meant_count * choice->count;

    add_planes(model, &facts);
    if ((query->parts & PMI_FABRIC_DEVICES) != 0 && choice->meant_count <= PMI_FABRIC_DEVICES_MAX)
        add_devices(model, choice, &facts);
    else if ((query->parts & PMI_FABRIC_DEVICES) != 0)
        facts.is_cut = 1;
    if ((query->parts & PMI_FABRIC_COSTS) != 0 &&
        costs <= (uint64_t)PMI_FABRIC_MATRIX_MAX * PMI_FABRIC_MATRIX_MAX)
        add_costs(model, choice, &facts);
    else if ((query->parts & PMI_FABRIC_COSTS) != 0)
        facts.is_cut = 1;
    pmi_fabric_facts_encode(&facts, answer);
    pmi_fabric_facts_fini(&facts);
}

int rank_fabric_answer(const struct fabric_model *model, const struct pmi_fabric_query *query,
                       struct buffer *answer)
{
    struct choice choice = {.vertices = NULL};
    int rc;

    if (model == NULL)
        return -ENOTSUP;
    assert(model->is_settled);
    rc = choose(model, query, &choice);
    if (rc == 0)
        describe(model, query, &choice, answer);
    free(choice.vertices);
    free(choice.meant);
    return rc;
}

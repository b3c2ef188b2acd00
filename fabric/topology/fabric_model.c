/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/topology/fabric_model.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define FIRST_ROOM   16u
#define NAMES_OF_ONE 4096u /* more than those of a NIC, and what it is */

void fabric_model_fini(struct fabric_model *model)
{
    free(model->switches);
    free(model->vertices);
    free(model->nodes);
    free(model->planes);
    free(model->devices);
    free(model->matrix);
    buffer_fini(&model->names);
    hash_map_destroy(model->switch_index);
    hash_map_destroy(model->vertex_index);
    hash_map_destroy(model->node_index);
    hash_map_destroy(model->text_index);
    *model = (struct fabric_model){.switches = NULL};
}

/* ---- Names ---- */

static uint32_t index_find(const struct hash_map *index, const char *name)
{
    uintptr_t found = index != NULL ? (uintptr_t)hash_map_get(index, name, strlen(name)) : 0;

    return found > 0 ? (uint32_t)(found - 1) : FABRIC_NONE;
}

static void index_put(struct hash_map **index, const char *name, uint32_t number)
{
    if (*index == NULL)
        *index = hash_map_create();
    (void)hash_map_put(*index, name, strlen(name), (void *)((uintptr_t)number + 1));
}

static uint32_t name_add(struct fabric_model *model, const char *name)
{
    size_t offset = model->names.length_bytes;

    buffer_append(&model->names, name, strlen(name) + 1);
    assert(offset < FABRIC_NONE);
    return (uint32_t)offset;
}

static int name_check(const char *what, const char *name, struct error *error)
{
    size_t bytes = strnlen(name, FABRIC_NAME_BYTES_MAX + 1);

    if (bytes == 0)
        return error_set(error, -EINVAL, "a %s without a name", what);
    if (bytes > FABRIC_NAME_BYTES_MAX)
        return error_set(error, -EINVAL, "the name of a %s is longer than %u bytes: %.40s...", what,
                         FABRIC_NAME_BYTES_MAX, name);
    return 0;
}

/* A few lists of a description, each of a few numbers, stand for millions of long names. */
static int names_check(const struct fabric_model *model, struct error *error)
{
    if (model->names.length_bytes <= FABRIC_NAMES_BYTES_MAX - NAMES_OF_ONE)
        return 0;
    return error_set(error, -E2BIG, "the names of %u NICs and %u switches take more than %u MiB",
                     model->vertices_count, model->switches_count, FABRIC_NAMES_BYTES_MAX >> 20);
}

/* Room for one more item, doubled when it is full. */
static void *grow(void *items, uint32_t count, size_t item_bytes)
{
    if (count < FIRST_ROOM)
        return count == 0 ? memory_allocate(FIRST_ROOM * item_bytes) : items;
    return (count & (count - 1)) == 0 ? memory_resize(items, 2 * count * item_bytes) : items;
}

const char *fabric_model_name(const struct fabric_model *model, uint32_t offset)
{
    assert(offset < model->names.length_bytes);
    return (const char *)model->names.data + offset;
}

uint32_t fabric_model_find_switch(const struct fabric_model *model, const char *name)
{
    return index_find(model->switch_index, name);
}

uint32_t fabric_model_find_vertex(const struct fabric_model *model, const char *name)
{
    return index_find(model->vertex_index, name);
}

uint32_t fabric_model_find_node(const struct fabric_model *model, const char *name)
{
    return index_find(model->node_index, name);
}

uint32_t fabric_model_find_host(const struct fabric_model *model, const char *name)
{
    uint32_t node = fabric_model_find_node(model, name);
    char *brief;

    if (node != FABRIC_NONE || strchr(name, '.') == NULL)
        return node;
    brief = memory_printf("%.*s", (int)strcspn(name, "."), name);
    node = fabric_model_find_node(model, brief);
    free(brief);
    return node;
}

uint32_t fabric_model_find_plane(const struct fabric_model *model, const char *name)
{
    for (uint32_t i = 0; i < model->planes_count; i++) {
        if (strcmp(fabric_model_name(model, model->planes[i]), name) == 0)
            return i;
    }
    return FABRIC_NONE;
}

/* ---- Adding ---- */

int fabric_model_add_switch(struct fabric_model *model, const char *name, uint16_t across,
                            uint32_t *ret_switch, struct error *error)
{
    int rc = name_check("switch", name, error);

    assert(!model->is_settled);
    if (rc == 0)
        rc = names_check(model, error);
    if (rc < 0)
        return rc;
    if (fabric_model_find_switch(model, name) != FABRIC_NONE)
        return error_set(error, -EEXIST, "switch %s is described twice", name);
    if (model->switches_count == FABRIC_SWITCHES_MAX)
        return error_set(error, -E2BIG, "more than %u switches", FABRIC_SWITCHES_MAX);
    model->switches = grow(model->switches, model->switches_count, sizeof(*model->switches));
    model->switches[model->switches_count] = (struct fabric_switch){
        .name = name_add(model, name), .parent = FABRIC_NONE, .across = across};
    index_put(&model->switch_index, name, model->switches_count);
    *ret_switch = model->switches_count++;
    return 0;
}

int fabric_model_set_parent(struct fabric_model *model, uint32_t child, uint32_t parent,
                            struct fabric_link link, struct error *error)
{
    struct fabric_switch *below;

    assert(!model->is_settled && child < model->switches_count && parent < model->switches_count);
    below = &model->switches[child];
    if (below->parent != FABRIC_NONE)
        return error_set(error, -EEXIST, "switch %s is below two others, %s and %s",
                         fabric_model_name(model, below->name),
                         fabric_model_name(model, model->switches[below->parent].name),
                         fabric_model_name(model, model->switches[parent].name));
    below->parent = parent;
    below->link = link;
    return 0;
}

static uint32_t add_node(struct fabric_model *model, const char *name)
{
    uint32_t found = fabric_model_find_node(model, name);

    if (found != FABRIC_NONE)
        return found;
    model->nodes = grow(model->nodes, model->nodes_count, sizeof(*model->nodes));
    model->nodes[model->nodes_count] = name_add(model, name);
    index_put(&model->node_index, name, model->nodes_count);
    return model->nodes_count++;
}

static uint32_t add_plane(struct fabric_model *model, const char *name)
{
    uint32_t found = fabric_model_find_plane(model, name);

    if (found != FABRIC_NONE)
        return found;
    model->planes = grow(model->planes, model->planes_count, sizeof(*model->planes));
    model->planes[model->planes_count] = name_add(model, name);
    return model->planes_count++;
}

int fabric_model_add_vertex(struct fabric_model *model, const char *name, const char *node,
                            const char *plane, uint32_t top, struct fabric_link link,
                            struct error *error)
{
    int rc = name_check("NIC", name, error);

    assert(!model->is_settled && top < model->switches_count);
    if (rc == 0)
        rc = name_check("node", node, error);
    if (rc == 0 && plane[0] != '\0')
        rc = name_check("plane", plane, error);
    if (rc == 0)
        rc = names_check(model, error);
    if (rc < 0)
        return rc;
    if (fabric_model_find_vertex(model, name) != FABRIC_NONE)
        return error_set(error, -EEXIST, "%s is connected twice", name);
    if (model->vertices_count == FABRIC_VERTICES_MAX)
        return error_set(error, -E2BIG, "more than %u NICs", FABRIC_VERTICES_MAX);
    model->vertices = grow(model->vertices, model->vertices_count, sizeof(*model->vertices));
    model->vertices[model->vertices_count] =
        (struct fabric_vertex){.name = name_add(model, name),
                               .node = add_node(model, node),
                               .plane = add_plane(model, plane),
                               .top = top,
                               .link = link};
    index_put(&model->vertex_index, name, model->vertices_count++);
    return 0;
}

void fabric_model_set_matrix(struct fabric_model *model, uint16_t *matrix)
{
    assert(!model->is_settled && model->matrix == NULL);
    assert(model->vertices_count <= FABRIC_MATRIX_MAX);
    for (size_t i = 0; i < model->vertices_count; i++)
        matrix[i * model->vertices_count + i] = 0;
    model->matrix = matrix;
}

/* ---- Settling ---- */

/* Switches from this one to the top, or 0 if there are too many. */
static uint32_t height_above(const struct fabric_model *model, uint32_t number)
{
    uint32_t height = 0;

    for (; number != FABRIC_NONE && height <= FABRIC_LEVELS_MAX; height++)
        number = model->switches[number].parent;
    return number == FABRIC_NONE && height <= FABRIC_LEVELS_MAX ? height : 0;
}

/* Is a switch above itself?  The way up from it has no more members than there are switches. */
static int is_circular(const struct fabric_model *model, uint32_t number)
{
    uint32_t at = model->switches[number].parent;

    for (uint32_t i = 0; i <= model->switches_count && at != FABRIC_NONE; i++)
        at = model->switches[at].parent;
    return at != FABRIC_NONE;
}

int fabric_model_settle(struct fabric_model *model, struct error *error)
{
    assert(!model->is_settled);
    for (uint32_t i = 0; i < model->switches_count; i++) {
        uint32_t height = height_above(model, i);

        if (height == 0 && is_circular(model, i))
            return error_set(error, -ELOOP, "switch %s is above itself",
                             fabric_model_name(model, model->switches[i].name));
        if (height == 0)
            return error_set(error, -E2BIG, "more than %u levels of switches above %s",
                             FABRIC_LEVELS_MAX, fabric_model_name(model, model->switches[i].name));
        model->switches[i].depth = (uint8_t)(height - 1);
        model->switches[i].below = 0;
    }
    for (uint32_t i = 0; i < model->vertices_count; i++) {
        for (uint32_t s = model->vertices[i].top; s != FABRIC_NONE; s = model->switches[s].parent)
            model->switches[s].below++;
    }
    model->is_settled = 1;
    return 0;
}

/* ---- Costs ---- */

uint16_t fabric_model_cost(const struct fabric_model *model, uint32_t from, uint32_t to)
{
    const struct fabric_vertex *source, *target;
    uint32_t left, right, sum;

    assert(model->is_settled && from < model->vertices_count && to < model->vertices_count);
    source = &model->vertices[from];
    target = &model->vertices[to];
    if (from == to)
        return 0;
    if (model->matrix != NULL)
        return model->matrix[(size_t)from * model->vertices_count + to];
    if (source->node == target->node)
        return FABRIC_COST_SAME_NODE;
    left = source->top;
    right = target->top;
    sum = (uint32_t)source->link.up + target->link.down;
    while (left != right) {
        const struct fabric_switch *up = &model->switches[left], *down = &model->switches[right];

        /* The deeper of both goes up; both end at the tops of two planes, unless they meet. */
        if (up->depth >= down->depth) {
            if (up->parent == FABRIC_NONE)
                return FABRIC_COST_NO_WAY;
            sum += up->link.up;
            left = up->parent;
        } else {
            sum += down->link.down;
            right = down->parent;
        }
    }
    sum += model->switches[left].across;
    return sum < FABRIC_COST_MAX ? (uint16_t)sum : FABRIC_COST_MAX;
}

uint32_t fabric_model_levels(const struct fabric_model *model)
{
    uint32_t levels = 0;

    assert(model->is_settled);
    for (uint32_t i = 0; i < model->switches_count; i++) {
        if (model->switches[i].below > 0 && model->switches[i].depth + 1u > levels)
            levels = model->switches[i].depth + 1u;
    }
    return levels;
}

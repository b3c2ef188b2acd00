/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "fabric/scheduler/scheduler_private.h"

/* The data of a registered fabric, or NULL. */
static const struct view *view_of(const struct banyan_fabric *fabric)
{
    const struct registration *registration = scheduler_registration(fabric);

    return registration != NULL ? &registration->view : NULL;
}

static uint32_t model_vertex(const struct view *view, uint32_t i)
{
    assert(i < view->count);
    return view->vertices != NULL ? view->vertices[i] : i;
}

static void copy_name(char *ret_name, const struct fabric_model *model, uint32_t offset)
{
    const char *name = fabric_model_name(model, offset);
    size_t bytes = strlen(name) + 1;

    assert(bytes <= BANYAN_FABRIC_NAME_BYTES);
    memset(ret_name, 0, BANYAN_FABRIC_NAME_BYTES);
    memcpy(ret_name, name, bytes);
}

int banyan_fabric_get_vertex_info(const struct banyan_fabric *fabric, uint32_t i,
                                  struct banyan_fabric_vertex *ret_vertex, char **ret_node)
{
    const struct view *view = view_of(fabric);
    const struct fabric_vertex *vertex;
    const struct fabric_model *model;

    if (view == NULL)
        return -EBADF;
    if (i >= view->count)
        return -EINVAL;
    model = &view->snapshot->model;
    vertex = &model->vertices[model_vertex(view, i)];
    copy_name(ret_vertex->nic, model, vertex->name);
    copy_name(ret_vertex->plane, model, model->planes[vertex->plane]);
    copy_name(ret_vertex->parent, model, model->switches[vertex->top].name);
    ret_vertex->up = vertex->link.up;
    ret_vertex->down = vertex->link.down;
    *ret_node = memory_copy_string(fabric_model_name(model, model->nodes[vertex->node]));
    return 0;
}

static int compare_vertices(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

    return (left > right) - (left < right);
}

int banyan_fabric_get_index(const struct banyan_fabric *fabric,
                            const struct banyan_fabric_vertex *vertex, uint32_t *ret_i)
{
    const struct view *view = view_of(fabric);
    size_t length = strnlen(vertex->nic, sizeof(vertex->nic));
    const uint32_t *found;
    uint32_t number;

    if (view == NULL)
        return -EBADF;
    if (length == 0 || length == sizeof(vertex->nic))
        return -EINVAL;
    number = view->count > 0 ? fabric_model_find_vertex(&view->snapshot->model, vertex->nic)
                             : FABRIC_NONE;
    if (number == FABRIC_NONE)
        return -ENOENT;
    if (view->vertices == NULL) {
        *ret_i = number;
        return 0;
    }
    found = bsearch(&number, view->vertices, view->count, sizeof(number), compare_vertices);
    if (found == NULL)
        return -ENOENT;
    *ret_i = (uint32_t)(found - view->vertices);
    return 0;
}

int banyan_fabric_get_cost(const struct banyan_fabric *fabric, uint32_t from, uint32_t to)
{
    const struct view *view = view_of(fabric);

    if (view == NULL)
        return -EBADF;
    if (from >= view->count || to >= view->count)
        return -EINVAL;
    if (view->rows != NULL)
        return view->rows[from][to];
    return fabric_model_cost(&view->snapshot->model, model_vertex(view, from),
                             model_vertex(view, to));
}

int banyan_fabric_get_rows(const struct banyan_fabric *fabric, uint32_t first, uint32_t count,
                           uint16_t *ret_costs)
{
    const struct view *view = view_of(fabric);

    if (view == NULL)
        return -EBADF;
    if (first > view->count || count > view->count - first)
        return -EINVAL;
    if (count > 0 && view->rows != NULL)
        memcpy(ret_costs, view->rows[first], (size_t)count * view->count * sizeof(*ret_costs));
    else if (count > 0)
        fabric_model_rows(&view->snapshot->model, view->vertices, view->count, first, count,
                          ret_costs);
    return 0;
}

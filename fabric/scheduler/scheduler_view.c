/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"
#include "fabric/scheduler/scheduler_private.h"

void scheduler_snapshot_release(struct snapshot *snapshot)
{
    assert(snapshot->users > 0);
    if (--snapshot->users > 0)
        return;
    fabric_model_fini(&snapshot->model);
    free(snapshot);
}

/* The vertices of a plane; all, if there is only one. */
static void choose_vertices(struct view *view)
{
    const struct fabric_model *model = &view->snapshot->model;
    uint32_t count = 0;

    assert(view->plane < model->planes_count);
    view->count = model->vertices_count;
    if (model->planes_count == 1)
        return;
    for (uint32_t i = 0; i < model->vertices_count; i++)
        count += model->vertices[i].plane == view->plane;
    view->vertices = memory_allocate(count * sizeof(*view->vertices));
    view->count = 0;
    for (uint32_t i = 0; i < model->vertices_count; i++) {
        if (model->vertices[i].plane == view->plane)
            view->vertices[view->count++] = i;
    }
    assert(view->count == count);
}

/* This alone may be too large for the machine, as the caller chooses the limit. */
static int fill_matrix(struct view *view, struct error *error)
{
    size_t count = view->count;
    size_t bytes = count * sizeof(*view->rows) + count * count * sizeof(**view->rows);
    uint16_t *costs;

    if (count == 0)
        return 0;
    view->rows = malloc(bytes);
    if (view->rows == NULL)
        return error_set(error, -ENOMEM, "no memory for the costs of %u vertices: %zu MiB",
                         view->count, bytes >> 20);
    costs = (uint16_t *)(view->rows + count);
    for (size_t i = 0; i < count; i++)
        view->rows[i] = costs + i * count;
    fabric_model_rows(&view->snapshot->model, view->vertices, view->count, 0, view->count, costs);
    return 0;
}

int scheduler_view_init(struct view *view, struct snapshot *snapshot,
                        const struct registration *registration, struct error *error)
{
    int rc = 0;

    *view = (struct view){.snapshot = snapshot};
    view->plane = registration->plane != NULL
                      ? fabric_model_find_plane(&snapshot->model, registration->plane)
                      : 0;
    if (view->plane != FABRIC_NONE)
        choose_vertices(view);
    if (registration->matrix != BANYAN_FABRIC_MATRIX_NONE &&
        view->count <= registration->matrix_vertices)
        rc = fill_matrix(view, error);
    else if (registration->matrix == BANYAN_FABRIC_MATRIX_REQUIRED)
        rc = error_set(error, -E2BIG, "%u vertices, the matrix is limited to those of %u",
                       view->count, registration->matrix_vertices);
    if (rc < 0)
        free(view->vertices);
    return rc;
}

void scheduler_view_fini(struct view *view)
{
    free(view->rows);
    free(view->vertices);
    scheduler_snapshot_release(view->snapshot);
    *view = (struct view){.snapshot = NULL};
}

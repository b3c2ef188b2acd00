/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "fabric/scheduler/scheduler_private.h"

struct registration *scheduler_registration(const struct banyan_fabric *fabric)
{
    struct registration *registration = fabric != NULL ? fabric->module : NULL;

    /* A copy of a fabric is not registered. */
    return registration != NULL && registration->fabric == fabric ? registration : NULL;
}

void scheduler_registration_show(struct registration *registration)
{
    struct banyan_fabric *fabric = registration->fabric;

    assert(fabric != NULL);
    fabric->index = registration->view.plane != FABRIC_NONE ? registration->view.plane : SIZE_MAX;
    fabric->commcost = registration->view.rows;
    fabric->nverts = registration->view.count;
    fabric->module = registration;
}

void scheduler_registration_destroy(struct registration *registration)
{
    assert(!registration->is_moving && registration->fabric == NULL);
    list_remove(&registration->link);
    scheduler_view_fini(&registration->view);
    free(registration->handlers);
    free(registration->plane);
    free(registration);
}

/* ---- Registering ---- */

static int check_name(const char *name, struct error *error)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "._:-";
    size_t bytes = name != NULL ? strnlen(name, BANYAN_FABRIC_NAME_BYTES) : 0;

    if (bytes == BANYAN_FABRIC_NAME_BYTES)
        return error_set(error, -EINVAL, "the name of the fabric is longer than %u bytes: %.40s...",
                         BANYAN_FABRIC_NAME_BYTES - 1, name);
    if (name != NULL && strspn(name, allowed) != bytes)
        return error_set(error, -EINVAL,
                         "the name of the fabric, \"%.80s\", has other characters than letters, "
                         "digits and \"._:-\"",
                         name);
    return 0;
}

static int check_request(const struct banyan_fabric_source *source,
                         const struct banyan_fabric *fabric,
                         const struct banyan_fabric_directives *directives, struct error *error)
{
    if (source == NULL || fabric == NULL)
        return error_set(error, -EINVAL, "a source and a fabric must be given");
    if (source->role != BANYAN_FABRIC_ROLE_SCHEDULER)
        return error_set(error, -EPERM,
                         "cannot register a fabric of %s: the source was not opened in the role of "
                         "the scheduler (BANYAN_FABRIC_ROLE_SCHEDULER)",
                         source->topology);
    if (fabric->module != NULL)
        return error_set(error, -EALREADY,
                         "the fabric is registered already, or was not zeroed before");
    if (directives->matrix >= BANYAN_FABRIC_MATRIX_COUNT)
        return error_set(error, -EINVAL, "%u is not a kind of matrix",
                         (unsigned int)directives->matrix);
    return check_name(fabric->name, error);
}

static int unknown_plane(const struct fabric_model *model, const char *plane, struct error *error)
{
    struct buffer names = {.data = NULL};

    for (uint32_t i = 0; i < model->planes_count; i++)
        buffer_printf(&names, "%s\"%s\"", i > 0 ? ", " : "",
                      fabric_model_name(model, model->planes[i]));
    error_set(error, -ENOENT, "no network plane is called \"%.80s\"; known: %.400s", plane,
              buffer_string(&names));
    buffer_fini(&names);
    return -ENOENT;
}

/* A use of the current snapshot, which the caller owns. */
static struct snapshot *take_current(struct banyan_fabric_source *source)
{
    struct snapshot *snapshot;

    pthread_mutex_lock(&source->lock);
    snapshot = source->current;
    snapshot->users++;
    pthread_mutex_unlock(&source->lock);
    return snapshot;
}

static int fill_view(struct registration *registration, struct error *error)
{
    struct banyan_fabric_source *source = registration->source;
    struct snapshot *snapshot = take_current(source);
    int rc = scheduler_view_init(&registration->view, snapshot, registration, error);

    pthread_mutex_lock(&source->lock);
    if (rc < 0) {
        scheduler_snapshot_release(snapshot);
    } else if (registration->view.plane == FABRIC_NONE) {
        rc = unknown_plane(&snapshot->model, registration->plane, error);
        scheduler_view_fini(&registration->view);
    }
    pthread_mutex_unlock(&source->lock);
    return rc;
}

int banyan_fabric_register(struct banyan_fabric_source *source, struct banyan_fabric *fabric,
                           const struct banyan_fabric_directives *directives,
                           struct banyan_fabric_error *error)
{
    static const struct banyan_fabric_directives none = {.plane = NULL};
    const struct banyan_fabric_directives *wanted = directives != NULL ? directives : &none;
    struct registration *registration;
    int rc = check_request(source, fabric, wanted, error);

    if (rc < 0)
        return rc;
    registration = memory_allocate_zeroed(sizeof(*registration));
    registration->source = source;
    registration->fabric = fabric;
    registration->plane = wanted->plane != NULL ? memory_copy_string(wanted->plane) : NULL;
    registration->matrix = wanted->matrix;
    registration->matrix_vertices =
        wanted->matrix_vertices > 0 ? wanted->matrix_vertices : BANYAN_FABRIC_MATRIX_VERTICES;
    rc = fill_view(registration, error);
    if (rc < 0) {
        free(registration->plane);
        free(registration);
        return rc;
    }
    pthread_mutex_lock(&source->lock);
    list_append(&source->registrations, &registration->link);
    scheduler_registration_show(registration);
    pthread_mutex_unlock(&source->lock);
    return 0;
}

int banyan_fabric_add_handler(struct banyan_fabric *fabric, banyan_fabric_handler *handler,
                              void *user)
{
    struct registration *registration = scheduler_registration(fabric);
    struct banyan_fabric_source *source;

    if (registration == NULL)
        return -EBADF;
    if (handler == NULL)
        return -EINVAL;
    source = registration->source;
    pthread_mutex_lock(&source->lock);
    registration->handlers = memory_resize(
        registration->handlers, (registration->handlers_count + 1) * sizeof(struct handler));
    registration->handlers[registration->handlers_count++] = (struct handler){handler, user};
    pthread_mutex_unlock(&source->lock);
    /* An update may have been waiting for banyan_fabric_update. */
    scheduler_wake(source);
    return 0;
}

/* ---- Deregistering ---- */

static void clear_fabric(struct registration *registration)
{
    struct banyan_fabric *fabric = registration->fabric;

    fabric->index = 0;
    fabric->commcost = NULL;
    fabric->nverts = 0;
    fabric->module = NULL;
    registration->fabric = NULL;
}

/* Until no handler of it runs; with the lock. */
static int wait_until_still(struct registration *registration, struct error *error)
{
    struct banyan_fabric_source *source = registration->source;
    struct timespec deadline = scheduler_deadline(source);
    int rc = 0;

    registration->is_leaving = 1;
    while (registration->is_moving && rc == 0)
        rc = scheduler_wait(source, &deadline);
    registration->is_leaving = 0;
    if (!registration->is_moving)
        return 0;
    return error_set(error, -EBUSY,
                     "a handler of the fabric has not returned for %u ms: it stays registered",
                     source->stall_ms);
}

int banyan_fabric_deregister(struct banyan_fabric *fabric, struct banyan_fabric_error *error)
{
    struct registration *registration = scheduler_registration(fabric);
    struct banyan_fabric_source *source;
    int rc = 0;

    if (registration == NULL)
        return error_set(error, -EBADF, "the fabric is not registered");
    source = registration->source;
    pthread_mutex_lock(&source->lock);
    if (registration->is_leaving) {
        rc = error_set(error, -EALREADY, "another thread is deregistering the fabric");
    } else if (registration->is_moving && pthread_equal(source->turn, pthread_self())) {
        clear_fabric(registration);
    } else {
        rc = wait_until_still(registration, error);
        if (rc == 0) {
            clear_fabric(registration);
            scheduler_registration_destroy(registration);
        }
    }
    pthread_mutex_unlock(&source->lock);
    return rc;
}

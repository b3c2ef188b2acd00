/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/rank/rank_start.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc/placement_device.h"
#include "base/hash_map.h"

/* Variables of a process: ours first, then the job's, of which the last of a name wins. */
struct environment {
    char **items;
    size_t count;
    size_t capacity;
    struct hash_map *positions; /* name -> index + 1 */
    char **edited;              /* owned, unlike the others */
    uint32_t edited_count;
};

static void environment_set(struct environment *environment, char *variable)
{
    size_t name_bytes = strcspn(variable, "=");
    uintptr_t position = (uintptr_t)hash_map_get(environment->positions, variable, name_bytes);

    assert(position <= environment->count);
    if (position > 0) {
        environment->items[position - 1] = variable;
        return;
    }
    if (environment->count + 2 > environment->capacity) {
        environment->capacity = 2 * environment->capacity + 64;
        environment->items =
            memory_resize(environment->items, environment->capacity * sizeof *environment->items);
    }
    environment->items[environment->count++] = variable;
    environment->items[environment->count] = NULL;
    (void)hash_map_put(environment->positions, variable, name_bytes, (void *)environment->count);
}

/* The last one takes its position. */
static void environment_unset(struct environment *environment, const char *name)
{
    uintptr_t position = (uintptr_t)hash_map_remove(environment->positions, name, strlen(name));
    char *last;

    if (position == 0)
        return;
    last = environment->items[--environment->count];
    environment->items[environment->count] = NULL;
    if (position - 1 == environment->count)
        return;
    environment->items[position - 1] = last;
    (void)hash_map_put(environment->positions, last, strcspn(last, "="), (void *)position);
}

static void environment_edit(struct environment *environment, const struct variable_edits *edits)
{
    environment->edited = memory_allocate_zeroed((edits->count + 1) * sizeof(char *));
    for (uint32_t i = 0; i < edits->count; i++) {
        const struct variable_edit *edit = &edits->items[i];
        size_t name_bytes = strlen(edit->name);
        uintptr_t position =
            (uintptr_t)hash_map_get(environment->positions, edit->name, name_bytes);
        const char *old = position > 0 ? environment->items[position - 1] : NULL;
        char *variable = variable_edit_apply(
            edit, old != NULL && old[name_bytes] == '=' ? old + name_bytes + 1 : NULL);

        if (variable == NULL) {
            environment_unset(environment, edit->name);
            continue;
        }
        environment->edited[environment->edited_count++] = variable;
        environment_set(environment, variable);
    }
}

static void environment_fini(struct environment *environment)
{
    for (uint32_t i = 0; i < environment->edited_count; i++)
        free(environment->edited[i]);
    free(environment->edited);
    free(environment->items);
    hash_map_destroy(environment->positions);
}

static void put_variable(struct buffer *out, const char *name, const char *value)
{
    buffer_append_string(out, name);
    buffer_append(out, "=", 1);
    buffer_append(out, value, strlen(value) + 1);
}

static void put_number(struct buffer *out, const char *name, uint32_t value)
{
    buffer_printf(out, "%s=%u", name, value);
    buffer_append(out, "", 1);
}

/* Of the job, or that of the instance if nothing was staged for this job alone. */
static uint32_t stage_number(const struct rank_start *start)
{
    return start->job->spec.stage != 0 ? start->job->number : 0;
}

static void put_stage(const struct rank_start *start, struct buffer *out)
{
    buffer_printf(out, "BANYAN_STAGE=%s/%u", start->stage, stage_number(start));
    buffer_append(out, "", 1);
}

/* What every process gets; session_clean finds leftover processes by BANYAN_SESSION. */
static void write_own(const struct rank_start *start, const char *directory, struct buffer *out)
{
    const char *tmpdir = getenv("TMPDIR");

    assert(start->rank < start->job->map.processes);
    put_variable(out, "BANYAN_SESSION", start->session_id);
    put_variable(out, "BANYAN_NODE", start->node_name);
    put_number(out, "BANYAN_PLACE", start->place);
    put_stage(start, out);
    put_number(out, "BANYAN_JOB", start->job->number);
    put_number(out, "BANYAN_RANK", start->rank);
    put_number(out, "BANYAN_SIZE", start->job->map.processes);
    put_number(out, "BANYAN_LOCAL_RANK", start->index);
    put_number(out, "BANYAN_LOCAL_SIZE", start->job->count);
    put_number(out, "BANYAN_RESTART", start->restart);
    if (tmpdir)
        put_variable(out, "TMPDIR", tmpdir);
    if (directory != NULL)
        put_variable(out, "PWD", directory);
}

/* NULL if the job's processes have no bindings. */
static const struct placement_binding *binding_of(const struct rank_start *start)
{
    const struct placement_bindings *bindings = &start->job->bindings;

    return start->index < bindings->count ? &bindings->items[start->index] : NULL;
}

static int memory_is_bound(const struct rank_start *start)
{
    const struct placement_binding *binding = binding_of(start);

    return binding != NULL &&
           start->job->map.apps[binding->app].rule->memory == PLACEMENT_MEMORY_BOUND;
}

/* The GPUs of the process, numbered in bus order, which CUDA does only on request. */
static void write_gpus(const struct rank_start *start, struct buffer *out)
{
    const struct placement_binding *binding = binding_of(start);
    struct buffer list = {0};
    uint32_t number = 0;

    if (binding == NULL || ranges_is_empty(&binding->gpus))
        return;
    for (; ranges_next(&binding->gpus, number, &number); number++)
        buffer_printf(&list, "%s%u", list.length_bytes > 0 ? "," : "", number);
    put_variable(out, placement_device_variable(binding->gpu_kind), buffer_string(&list));
    if (binding->gpu_kind == TOPOLOGY_DEVICE_NVIDIA)
        put_variable(out, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    buffer_fini(&list);
}

static void environment_fill(const struct rank_start *start, const char *directory,
                             struct buffer *text, struct environment *environment)
{
    const struct app_spec *app =
        &start->job->spec.apps[placement_map_app(&start->job->map, start->rank)];
    char *variable, *end;

    write_own(start, directory, text);
    write_gpus(start, text);
    rank_pmi_environment(start->rank_pmi, start->index, RANK_PMI_FD, text);
    end = (char *)text->data + text->length_bytes;
    for (variable = (char *)text->data; variable < end; variable += strlen(variable) + 1)
        environment_set(environment, variable);
    for (char **set = app->set; set && *set; set++)
        environment_set(environment, *set);
    environment_edit(environment, &app->edits);
}

/* The libraries that were staged with the program come first. */
static char *library_path(const struct rank_start *start, const struct environment *environment)
{
    static const char name[] = "LD_LIBRARY_PATH";
    uintptr_t position = (uintptr_t)hash_map_get(environment->positions, name, sizeof(name) - 1);
    const char *old = position > 0 ? environment->items[position - 1] + sizeof(name) - 1 : "";

    if (old[0] == '=')
        old++;
    return memory_printf("%s=%s/%u/lib%s%s", name, start->stage, stage_number(start),
                         old[0] != '\0' ? ":" : "", old);
}

/* A program that was staged is named by its path in the stage directory; the caller frees argv and its first word. */
static char **staged_argv(const struct rank_start *start, char *const *argv)
{
    size_t count = 0;
    char **staged;

    while (argv[count] != NULL)
        count++;
    assert(count > 0);
    staged = memory_copy(argv, (count + 1) * sizeof(*argv));
    staged[0] = memory_printf("%s/%u/%s", start->stage, stage_number(start), argv[0]);
    return staged;
}

static void close_all(const struct helper_fd *fds, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        close(fds[i].fd);
}

static int descriptors_open(const struct rank_start *start, struct helper_fd *fds,
                            uint32_t *ret_count, struct error *error)
{
    int pmi_fd, rc = rank_pmi_pmi_fd(start->rank_pmi, start->index, &pmi_fd);
    uint32_t count = 0;

    assert(start->index < start->job->count);
    if (rc == 0 && pmi_fd >= 0)
        fds[count++] = (struct helper_fd){.fd = pmi_fd, .target = RANK_PMI_FD};
    for (uint8_t stream = 1; rc == 0 && stream <= 2 && !start->has_terminal; stream++) {
        int fd;

        rc = output_pipe(start->output, start->index, stream, &fd);
        if (rc == 0)
            fds[count++] = (struct helper_fd){.fd = fd, .target = stream};
    }
    *ret_count = count;
    if (rc == 0)
        return 0;
    close_all(fds, count);
    return error_set(error, rc, "cannot create the descriptors of rank %u: %s", start->rank,
                     strerror(-rc));
}

int rank_start(const struct rank_start *start, struct error *error)
{
    const struct app_spec *app =
        &start->job->spec.apps[placement_map_app(&start->job->map, start->rank)];
    const struct placement_binding *binding = binding_of(start);
    struct helper_fd fds[HELPER_FDS_MAX];
    struct environment environment = {.positions = hash_map_create()};
    struct buffer text = {0};
    char *directory = job_spec_directory(app, start->rank, start->node_name, start->job->number);
    struct helper_process process = {
        .id = HELPER_RANK_ID(start->job->number, start->index),
        .group = start->job->number,
        .argv = app->argv,
        .directory = directory,
        .fds = fds,
        .cpus = binding != NULL ? &binding->cpus : NULL,
        .memory = binding != NULL ? &binding->memory : NULL,
        .memory_is_bound = memory_is_bound(start),
        .limits = &app->limits,
        .is_stopped = start->job->spec.stop == PMI_STOP_EXEC && start->restart == 0,
        .ends_group = start->job->spec.on_failure == JOB_ON_FAILURE_RESTART,
        .has_terminal = start->has_terminal,
        .more_follow = 1,
    };
    char *libraries = NULL, **argv = NULL;
    uint32_t own = 0;
    int rc = descriptors_open(start, fds, &own, error);

    assert(start->rank < start->job->map.processes);
    if (rc == 0) {
        process.fds_count = own;
        for (int fd = 0; start->stdin_fd >= 0 && fd <= (start->has_terminal ? 2 : 0); fd++)
            fds[process.fds_count++] = (struct helper_fd){.fd = start->stdin_fd, .target = fd};
        assert(process.fds_count < HELPER_FDS_MAX);
        environment_fill(start, directory, &text, &environment);
        if (start->job->spec.stage & JOB_STAGE_PROGRAMS) {
            libraries = library_path(start, &environment);
            environment_set(&environment, libraries);
            process.argv = argv = staged_argv(start, app->argv);
        }
        process.environment = environment.items;
        helper_start(start->helper, &process);
        close_all(fds, own);
    }
    if (argv != NULL)
        free(argv[0]);
    free(argv);
    free(libraries);
    environment_fini(&environment);
    buffer_fini(&text);
    free(directory);
    return rc;
}

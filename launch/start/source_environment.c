/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/start/source_environment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "fabric/file_read.h"
#include "launch/start/command_output.h"
#include "launch/start/run_environment.h"

#define R_ENTRIES_MAX  (1024u * 1024)
#define R_NODELIST_MAX (1024u * 1024)

struct source_environment {
    struct source_ops ops;
    char *const *variables;
    json_t *r; /* what the resources below point into */
    struct flux_entry *entries;
    const char **nodelist;
};

static const char *world_variable(void *context, const char *name)
{
    const struct source_environment *environment = context;

    return run_environment_get(environment->variables, name);
}

/* ---- Files ---- */

static int read_regular(int fd, struct buffer *text)
{
    struct stat status;

    if (fstat(fd, &status) < 0)
        return -errno;
    if (S_ISDIR(status.st_mode))
        return -EISDIR;
    if (!S_ISREG(status.st_mode))
        return -ESPIPE;
    return file_read_fd(fd, SOURCE_FILE_BYTES_MAX, text);
}

static int world_file(void *context, const char *path, struct buffer *text)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    int rc = fd < 0 ? -errno : read_regular(fd, text);

    (void)context;
    if (fd >= 0)
        close(fd);
    return rc;
}

/* ---- Flux ---- */

static void forget_r(struct source_environment *environment)
{
    json_decref(environment->r);
    free(environment->entries);
    free(environment->nodelist);
    environment->r = NULL;
    environment->entries = NULL;
    environment->nodelist = NULL;
}

static int wrong_r(struct error *error, const char *what)
{
    return error_set(error, -EINVAL, "R: %s", what);
}

static int decode_entries(struct source_environment *environment, const json_t *list,
                          struct error *error)
{
    size_t count = json_array_size(list);

    if (!json_is_array(list) || count > R_ENTRIES_MAX)
        return wrong_r(error, "execution.R_lite is not a list, or is too long");
    environment->entries = memory_allocate_zeroed((count + 1) * sizeof(*environment->entries));
    for (size_t i = 0; i < count; i++) {
        const json_t *entry = json_array_get(list, i);
        const json_t *children = json_object_get(entry, "children");
        struct flux_entry *ret = &environment->entries[i];

        ret->ranks = json_string_value(json_object_get(entry, "rank"));
        ret->cores = json_string_value(json_object_get(children, "core"));
        if (ret->ranks == NULL)
            return wrong_r(error, "an entry of execution.R_lite has no rank");
    }
    return 0;
}

static int decode_nodelist(struct source_environment *environment, const json_t *list,
                           struct error *error)
{
    size_t count = json_array_size(list);

    if (!json_is_array(list) || count > R_NODELIST_MAX)
        return wrong_r(error, "execution.nodelist is not a list, or is too long");
    environment->nodelist = memory_allocate_zeroed((count + 1) * sizeof(*environment->nodelist));
    for (size_t i = 0; i < count; i++) {
        environment->nodelist[i] = json_string_value(json_array_get(list, i));
        if (environment->nodelist[i] == NULL)
            return wrong_r(error, "execution.nodelist has an entry that is not a string");
    }
    return 0;
}

int source_environment_decode_r(struct source_environment *environment, const char *text,
                                size_t text_bytes, struct flux_resources *ret_resources,
                                struct error *error)
{
    const json_t *execution, *entries, *nodelist;
    json_error_t where;
    int rc;

    forget_r(environment);
    environment->r = json_loadb(text, text_bytes, 0, &where);
    if (environment->r == NULL)
        return error_set(error, -EINVAL, "R: line %d, column %d: %s", where.line, where.column,
                         where.text);
    if (json_integer_value(json_object_get(environment->r, "version")) != 1)
        return wrong_r(error, "its version is not 1");
    execution = json_object_get(environment->r, "execution");
    entries = json_object_get(execution, "R_lite");
    nodelist = json_object_get(execution, "nodelist");
    rc = decode_entries(environment, entries, error);
    if (rc == 0)
        rc = decode_nodelist(environment, nodelist, error);
    if (rc < 0)
        return rc;
    *ret_resources = (struct flux_resources){.entries = environment->entries,
                                             .entries_count = (uint32_t)json_array_size(entries),
                                             .nodelist = environment->nodelist,
                                             .nodelist_count = (uint32_t)json_array_size(nodelist)};
    return 0;
}

static int world_flux(void *context, const char *job, struct flux_resources *ret_resources,
                      struct error *error)
{
    struct source_environment *environment = context;
    const char *const of_job[] = {"flux", "job", "info", job, "R", NULL};
    const char *const of_instance[] = {"flux", "kvs", "get", "resource.R", NULL};
    struct buffer text = {0};
    int rc = command_output(job != NULL ? of_job : of_instance, &text, error);

    if (rc == 0)
        rc = source_environment_decode_r(environment, (const char *)text.data, text.length_bytes,
                                         ret_resources, error);
    buffer_fini(&text);
    return rc;
}

/* ---- Life ---- */

struct source_environment *source_environment_create(char *const *variables)
{
    struct source_environment *environment = memory_allocate_zeroed(sizeof(*environment));

    environment->variables = variables;
    environment->ops = (struct source_ops){
        .variable = world_variable,
        .file = world_file,
        .flux = world_flux,
        .context = environment,
    };
    return environment;
}

void source_environment_destroy(struct source_environment *environment)
{
    if (environment == NULL)
        return;
    forget_r(environment);
    free(environment);
}

const struct source_ops *source_environment_ops(const struct source_environment *environment)
{
    return &environment->ops;
}

char *source_environment_job_name(const struct source_ops *ops)
{
    const struct source *source = source_detect(ops);
    const char *value = source != NULL && source->job_name != NULL
                            ? ops->variable(ops->context, source->job_name)
                            : NULL;

    return value != NULL && value[0] != '\0' ? memory_copy_string(value) : NULL;
}

char *source_environment_job(const struct source_ops *ops)
{
    const struct source *source = source_detect(ops);

    for (size_t i = 0; source != NULL && i < sizeof(source->job) / sizeof(source->job[0]); i++) {
        const char *value =
            source->job[i] != NULL ? ops->variable(ops->context, source->job[i]) : NULL;

        if (value != NULL && value[0] != '\0')
            return memory_printf("%s %.100s", source->name, value);
    }
    return NULL;
}
